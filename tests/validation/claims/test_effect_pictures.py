"""The picture of effects: lines over numbers, rows over names, panels, the margin."""

from __future__ import annotations

import pytest

from validation.claims.effect_pictures import MOST_TOGETHER, curves
from validation.claims.effect_statements import Curve, Effects
from validation.statistics import Estimate

SURE, UNSURE = Estimate(1.0, 0.1, 9), Estimate(1.0, 1.0, 9)


def of(found: dict[str, Curve], log: str = "", expected: tuple[float, float] | None = None):
    """Return the visible axes of the picture, and the entries of its legend."""
    fig = curves(Effects({}, found, ("x", "y"), log, expected=expected))
    said = [text.get_text() for legend in fig.legends for text in legend.get_texts()]
    return [ax for ax in fig.axes if ax.get_visible()], said


def test_numbers_are_on_the_axis_across_and_names_are_rows() -> None:
    (ax,), said = of({"c": Curve((1.0, 2.0), (SURE, UNSURE), (1.0, 2.0))})
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert said == ["model", "c"]
    (ax,), _ = of({"c": Curve(("one", "two"), (SURE, UNSURE), (1.0, 2.0))})
    assert ax.get_xlabel() == "y"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "two"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first name is on top"


def test_levels_are_connected() -> None:
    (ax,), _ = of({"c": Curve((1.0, 2.0), (SURE, UNSURE))})
    (bars,) = ax.containers
    assert bars.lines[0].get_linestyle() == ":"
    assert bars.has_yerr


def test_hopflows_packet_level_is_drawn_with_its_intervals() -> None:
    (ax,), said = of({"c": Curve((1.0, 2.0), (SURE, SURE), level=(SURE, UNSURE))})
    assert said == ["c", "c, hopflow's packets"]
    _, level = ax.containers
    assert level.has_yerr
    assert level.lines[0].get_markerfacecolor() == "none"


def test_a_logarithmic_axis_has_the_values_that_were_run() -> None:
    (ax,), _ = of({"c": Curve((0.25, 4.0), (SURE, UNSURE))}, "x")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.25", "4"]


@pytest.mark.parametrize("x", [(1.0, 2.0), ("one", "two")])
def test_the_margin_is_a_band_around_its_middle(x) -> None:
    (ax,), said = of({"c": Curve(x, (SURE, UNSURE))}, expected=(0.9, 1.1))
    assert said == ["equal within the margin", "c"]
    (band,) = ax.patches
    box = band.get_extents().transformed(ax.transData.inverted())
    edges = (box.y0, box.y1) if x[0] == 1.0 else (box.x0, box.x1)
    assert edges == pytest.approx((0.9, 1.1))


def test_many_curves_are_panels_by_the_first_part_of_their_names() -> None:
    rules = "ABCD"
    many = {f"{rule}, {tool}": Curve((1.0, 2.0), (SURE, SURE), (1.0, 1.0)) for rule in rules for tool in ("ns-2", "ns-3")}  # fmt: skip
    assert len(many) > MOST_TOGETHER
    axes, said = of(many)
    assert [ax.get_title() for ax in axes] == list(rules)
    assert said == ["ns-2, model", "ns-2", "ns-3, model", "ns-3"]


def test_differences_that_nobody_sees_do_not_fill_the_axis() -> None:
    tight = Estimate(1.0, 1e-6, 9)
    (ax,), _ = of({"c": Curve(("one", "two"), (tight, tight))})
    low, high = ax.get_xlim()
    assert high - low == pytest.approx(0.04)
