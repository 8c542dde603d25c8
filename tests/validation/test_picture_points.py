"""Points of pictures as tables: all kinds of drawing, names, units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hopflow.results import DECORATION, figure
from validation.drawing import errorbars, label, maps, panels, points, reference
from validation.picture_points import COLUMNS, plotted_points
from validation.statistics import Estimate


def test_curves_with_their_axes_and_units() -> None:
    fig, axes = panels(["25 packets/s", "50 packets/s"])
    for n, ax in enumerate(axes):
        ax.plot([1.0, 2.0, 3.0], [n, np.nan, 2.0], "o-", label="ns-3" if n else None)
        label(ax, "RTT (s)", "" if n else "gain over TCP (%)", log="x")
    found = plotted_points(fig)
    assert list(found) == list(COLUMNS)
    assert found[["panel", "curve", "x", "y"]].to_numpy().tolist() == [
        ["25 packets/s", "ns-3", 1.0, 0.0],  # named in the legend of the other panel
        ["25 packets/s", "ns-3", 3.0, 2.0],
        ["50 packets/s", "ns-3", 1.0, 1.0],
        ["50 packets/s", "ns-3", 3.0, 2.0],
    ]
    units = found[["kind", "x_quantity", "x_unit", "y_quantity", "y_unit"]].drop_duplicates()
    assert units.to_numpy().tolist() == [["line", "RTT", "s", "gain over TCP", "%"]]


def test_intervals_of_both_axes() -> None:
    fig, ax = figure()
    errorbars(ax, [1.0, 2.0], [10.0, 20.0], [[1.0, 2.0], [3.0, 4.0]], label="ns-2")
    own = Estimate(7.0, 0.5, dof=2)
    points(ax, [5.0], [own], 1, label="hopflow")
    ax.errorbar([4.0], [8.0], xerr=[0.5], yerr=[0.25], fmt="o", label="both")
    found = plotted_points(fig).set_index("curve")
    ns2 = found.loc["ns-2", ["x", "y", "y_low", "y_high"]]
    assert ns2.to_numpy().tolist() == [[1.0, 10.0, 9.0, 13.0], [2.0, 20.0, 18.0, 24.0]]
    point = found.loc["hopflow", ["y", "y_low", "y_high"]].to_numpy(dtype=float)
    below, above = own.bars
    np.testing.assert_allclose(point, [7.0, 7.0 - below, 7.0 + above])
    ends = found.loc["both", ["x_low", "x_high", "y_low", "y_high"]]
    assert ends.tolist() == [3.5, 4.5, 7.75, 8.25]


def test_points_and_lines_of_one_colour_are_one_curve_unless_the_colour_has_two() -> None:
    fig, ax = figure()
    ax.plot([1, 2], [1, 2], color="C0", label="T1 = 8")
    ax.plot([1, 2], [1, 3], "o", color="C0")
    ax.plot([1, 2], [4, 2], color="C1", label="fluid")
    ax.plot([1, 2], [4, 2], "--", color="C1", label="packets")
    ax.plot([1, 2], [4, 5], "o", color="C1")
    found = plotted_points(fig)
    assert list(found["curve"][::2]) == ["T1 = 8", "T1 = 8", "fluid", "packets", "5"]
    assert list(found["kind"][::2]) == ["line", "points", "line", "line", "points"]


def test_bars_bands_and_references() -> None:
    fig, ax = figure()
    ax.barh([0, 1], [3.0, -1.0], left=[1.0, 4.0], label="part")
    ax.set_yticks([0, 1], ["timeouts", "phases"])
    ax.fill_between([1.0, 2.0, 4.0], [0.0, 1.0, 2.0], [3.0, 4.0, 8.0], label="range")
    reference(ax, 0.5)
    ax.axvline(2.5)
    ax.axhspan(0.1, 0.2, label="same")
    ax.plot([0, 9], [0, 9], label=DECORATION)
    found = plotted_points(fig).set_index("kind")
    bars = found.loc["bar", ["x", "x_low", "x_high", "y_name"]].to_numpy().tolist()
    assert bars == [[4.0, 1.0, 4.0, "timeouts"], [3.0, 3.0, 4.0, "phases"]]
    band = found.loc["band", ["x", "y_low", "y_high"]].to_numpy().tolist()
    assert band == [[1.0, 0.0, 3.0], [2.0, 1.0, 4.0], [4.0, 2.0, 8.0]]
    horizontal, vertical, span = found.loc["reference"].itertuples()
    assert (horizontal.y, vertical.x) == (0.5, 2.5)
    assert np.isnan([horizontal.x, vertical.y]).all()
    assert (span.curve, span.y_low, span.y_high) == ("same", 0.1, 0.2)
    assert len(found) == 2 + 3 + 3


def test_panels_without_texts_of_their_own_have_those_of_their_row() -> None:
    fig, axes = panels(["a", "b"], sharey=False)
    for ax in axes:
        ax.barh([0, 1], [1.0, 2.0])
        label(ax, "share (%)")
    axes[0].set_yticks([0, 1], ["Reno", "CUBIC"])
    axes[1].set_yticks([])
    axes[0].set_ylabel("rule")
    found = plotted_points(fig)
    assert list(found["y_name"]) == ["Reno", "CUBIC"] * 2
    assert set(found["y_quantity"]) == {"rule"}


def test_maps_have_the_value_of_each_cell_and_the_names_of_rows_and_columns() -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    fig = maps({"gain": values}, [10.0, 20.0, 30.0], [0.1, 0.2], ("rate (1/s)", "RTT (s)"),
               framed=values[None] > 5.0)  # fmt: skip
    found = plotted_points(fig)
    assert set(found["kind"]) == {"cell"}
    table = found.pivot_table(index="y_name", columns="x_name", values="value")
    pd.testing.assert_frame_equal(
        table,
        pd.DataFrame(values, ["0.1", "0.2"], ["10", "20", "30"]),
        check_names=False,
    )
    assert set(found["x_unit"]) == {"1/s"}


@pytest.mark.parametrize("texts", [("a (b) (s)", "a (b)", "s"), ("share", "share", ""), ("x (of\n y)", "x", "of y")])  # fmt: skip
def test_units_are_the_last_brackets(texts: tuple[str, str, str]) -> None:
    fig, ax = figure()
    ax.plot([1], [1])
    ax.set_xlabel(texts[0])
    found = plotted_points(fig)
    assert (found["x_quantity"][0], found["x_unit"][0]) == texts[1:]
