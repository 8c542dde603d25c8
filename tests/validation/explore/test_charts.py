"""Charts whose contents are replaced in place, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

from validation.explore.charts import Animation, BarChart, LineChart
from validation.explore.views import Bars, Chart, Frames, Line

pytest.importorskip("bokeh", reason="needs hopflow[explore]")


def test_curves_and_their_labels_are_replaced() -> None:
    x = np.arange(3.0)
    chart = LineChart(Chart("title", "x", "y", (Line("a", x, x), Line("b", x, 2 * x))))
    chart.update(Chart("title", "x", "y", (Line("c", x, 3 * x), Line("b", x, 2 * x))))
    np.testing.assert_array_equal(chart.sources[0].data["y"], 3 * x)
    assert [item.label.value for item in chart.legend.items] == ["c", "b"]


def test_bars_keep_room_for_their_texts() -> None:
    chart = BarChart(Bars("title", "x", ("a", "b"), np.array([1.0, 2.0]), ("1", "2")))
    assert chart.figure.x_range.end > 2.0
    chart.update(Bars("title", "x", ("a", "b"), np.array([-1.0, 5.0]), ("-1", "5")))
    assert chart.figure.x_range.start < -1.0
    assert chart.figure.x_range.end > 5.0
    np.testing.assert_array_equal(chart.source.data["ends"], [0.0, 5.0])  # where texts begin


def test_an_animation_begins_where_most_is_seen() -> None:
    heights = np.zeros((2, 3, 4))  # series, places, frames
    heights[1, 2, 3] = 7.0
    frames = Frames("title", "node", "packets", ("off", "on"), np.arange(4.0), heights)
    chart = Animation(frames)
    assert chart.when.value == 3
    assert chart.when.title == "at 3.00 s"
    np.testing.assert_array_equal(chart.sources[1].data["now"], [0.0, 0.0, 7.0])
