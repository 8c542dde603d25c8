"""Statements of differences and ratios: the smallest one that counts, how they are judged and drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from validation import Verdict
from validation.claims.effect_claims import by, deviation, judging
from validation.claims.effect_pictures import MOST_TOGETHER, curves
from validation.claims.effect_statements import EQUAL, Curve, Effects, Statement, beyond
from validation.statistics import Estimate

# Statements of differences: the smallest one that counts, and the weakest estimate.


SEEN = Estimate(0.05, 0.001, 9)


def test_another_smallest_difference_moves_all_sides() -> None:
    seen = beyond(SEEN, 0.1)
    moved = Statement((seen,), (seen,), level=(seen,), least=0.1).counting_from(0.02)
    for side in (moved.packets, moved.model, moved.level):
        assert isinstance(side, tuple)
        assert side[0].value == pytest.approx(0.03)
        assert side[0].error == pytest.approx(SEEN.error)
    assert moved.least == 0.02


def test_statements_without_one_and_verdicts_stay() -> None:
    signs = Statement((SEEN,))
    assert signs.counting_from(0.02) is signs
    limited = Statement(Verdict.INCONCLUSIVE, least=0.1)
    assert limited.counting_from(None) is limited
    assert limited.counting_from(0.02).packets is Verdict.INCONCLUSIVE


def test_the_weakest_estimate_is_the_least_certain() -> None:
    assert Statement((SEEN, Estimate(0.05, 0.1, 9))).weakest.error == 0.1


def test_simulators_are_judged_by_themselves_and_none_is_dropped() -> None:
    more, less = Estimate(0.3, 0.01, 9), Estimate(-0.3, 0.01, 9)
    statement = Statement({"ns-2": (more,), "ns-3": (less,)}, (more,))
    assert statement.judged_simulators(0.01, 0.1) == {
        "ns-2": Verdict.HOLDS,
        "ns-3": Verdict.CONTRADICTED,
    }
    assert statement.judged(0.01, 0.1) == (Verdict.HOLDS, Verdict.DISAGREE)
    assert statement.quantities == {"ns-2": (more,), "ns-3": (less,)}
    assert Statement((more,)).judged_simulators(0.01, 0.1) is None


def test_a_negative_least_is_what_is_allowed() -> None:
    """A fall by 0.001 counts at half of the slack, and not at the slack."""
    allowed = Statement((beyond(Estimate(-0.001, 0.0), -0.0015),), least=-0.0015)
    assert allowed.judged(0.01, 0.1).packets is Verdict.HOLDS
    assert allowed.counting_from(0.00075).judged(0.01, 0.1).packets is Verdict.CONTRADICTED


# Differences and ratios: how they are judged and drawn.


R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
A = Verdict.NOT_APPLICABLE
SIGNS, EQUALITY = judging({"level": 0.01}), judging({"level": 0.01, "margin": EQUAL})
COUNTING = judging({"level": 0.01, "least": 0.1})
SURE, UNSURE = Estimate(1.0, 0.1, 9), Estimate(1.0, 1.0, 9)


def of(statement: Statement, **others: Statement) -> Effects:
    return Effects({"it": statement}, {}, ("x", "y"), readings={"other": others})


@pytest.mark.parametrize(
    ("packets", "verdict"),
    [((SURE, SURE), R), ((SURE, UNSURE), N), ((SURE, -SURE), C), (C, C), (None, A)],
)
def test_signs_decide(packets, verdict: Verdict) -> None:
    assert SIGNS.judge(of(Statement(packets)))["it"] == (A, verdict)


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [(0.02, 0.01, R), (0.02, 0.1, N), (0.3, 0.01, C), (-0.3, 0.01, C)],
)
def test_equality_needs_both_sides_within_the_margin(value, error, verdict: Verdict) -> None:
    found = of(Statement((Estimate(value, error),), equal=True))
    assert EQUALITY.judge(found)["it"].packets is verdict
    assert EQUALITY.judge(found, margin=1.0)["it"].packets is R


@pytest.mark.parametrize(("least", "verdict"), [(0.1, C), (0.05, N), (0.01, R)])
def test_the_smallest_difference_that_counts_is_a_threshold(least, verdict: Verdict) -> None:
    seen = beyond(Estimate(0.05, 0.001, 9), 0.1)
    found = of(Statement((seen,), (seen,), level=(seen,), least=0.1), it=Statement((seen,)))
    assert COUNTING.judge(found, least=least)["it"] == (verdict, verdict)
    assert COUNTING.packet_level(found, least=least)["it"] is verdict
    assert COUNTING.readings(found, least=least)["other"]["it"].packets is C


def test_quantities_may_be_functions_of_further_thresholds() -> None:
    judges = judging({"level": 0.01, "times": 2.0})
    found = of(Statement(lambda given: (Estimate(3.0 - given["times"], 0.1),)))
    assert judges.judge(found)["it"].packets is R
    assert judges.judge(found, times=4.0)["it"].packets is C


def test_a_reading_leaves_the_model_as_it_is() -> None:
    found = of(Statement((SURE,), (SURE,)), it=Statement((-SURE,)))
    assert SIGNS.readings(found) == {"other": {"it": (A, C)}}


def test_means_over_seeds_average_the_flows_of_a_run_first() -> None:
    frame = pd.DataFrame({"kind": "a", "seed": [1, 1, 2, 2], "rate": [1.0, 3.0, 4.0, 6.0]})
    found = by(frame, "kind", "rate")["a"]
    assert (found.value, found.dof) == (3.5, 1)
    assert found.error == pytest.approx(np.std([2.0, 5.0], ddof=1) / np.sqrt(2))


def test_deviation_from_a_number() -> None:
    assert deviation(Estimate(1.2, 0.1, 4), 1.0).value == pytest.approx(0.2)


# The picture of effects: lines over numbers, rows over names, panels, the margin.


def picture_of(found: dict[str, Curve], log: str = "", expected: tuple[float, float] | None = None):
    """Return the visible axes of the picture, and the entries of its legend."""
    fig = curves(Effects({}, found, ("x", "y"), log, expected=expected))
    said = [text.get_text() for legend in fig.legends for text in legend.get_texts()]
    return [ax for ax in fig.axes if ax.get_visible()], said


def test_numbers_are_on_the_axis_across_and_names_are_rows() -> None:
    (ax,), said = picture_of({"c": Curve((1.0, 2.0), (SURE, UNSURE), (1.0, 2.0))})
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert said == ["model", "c"]
    (ax,), _ = picture_of({"c": Curve(("one", "two"), (SURE, UNSURE), (1.0, 2.0))})
    assert ax.get_xlabel() == "y"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "two"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first name is on top"


def test_levels_are_connected() -> None:
    (ax,), _ = picture_of({"c": Curve((1.0, 2.0), (SURE, UNSURE))})
    (bars,) = ax.containers
    assert bars.lines[0].get_linestyle() == ":"
    assert bars.has_yerr


def test_hopflows_packet_level_is_drawn_with_its_intervals() -> None:
    (ax,), said = picture_of({"c": Curve((1.0, 2.0), (SURE, SURE), level=(SURE, UNSURE))})
    assert said == ["c", "c, hopflow's packets"]
    _, level = ax.containers
    assert level.has_yerr
    assert level.lines[0].get_markerfacecolor() == "none"


def test_a_logarithmic_axis_has_the_values_that_were_run() -> None:
    (ax,), _ = picture_of({"c": Curve((0.25, 4.0), (SURE, UNSURE))}, "x")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.25", "4"]


@pytest.mark.parametrize("x", [(1.0, 2.0), ("one", "two")])
def test_the_margin_is_a_band_around_its_middle(x) -> None:
    (ax,), said = picture_of({"c": Curve(x, (SURE, UNSURE))}, expected=(0.9, 1.1))
    assert said == ["equal within the margin", "c"]
    (band,) = ax.patches
    box = band.get_extents().transformed(ax.transData.inverted())
    edges = (box.y0, box.y1) if x[0] == 1.0 else (box.x0, box.x1)
    assert edges == pytest.approx((0.9, 1.1))


def test_many_curves_are_panels_by_the_first_part_of_their_names() -> None:
    rules = "ABCD"
    many = {f"{rule}, {tool}": Curve((1.0, 2.0), (SURE, SURE), (1.0, 1.0)) for rule in rules for tool in ("ns-2", "ns-3")}  # fmt: skip
    assert len(many) > MOST_TOGETHER
    axes, said = picture_of(many)
    assert [ax.get_title() for ax in axes] == list(rules)
    assert said == ["ns-2, model", "ns-2", "ns-3, model", "ns-3"]


def test_differences_that_nobody_sees_do_not_fill_the_axis() -> None:
    tight = Estimate(1.0, 1e-6, 9)
    (ax,), _ = picture_of({"c": Curve(("one", "two"), (tight, tight))})
    low, high = ax.get_xlim()
    assert high - low == pytest.approx(0.04)
