"""Shared axes: intervals, maps, legends."""

from __future__ import annotations

import numpy as np

from hopflow.results import COLOURS
from validation import drawing
from validation.statistics import Estimate


def test_points_have_their_intervals() -> None:
    _, ax = drawing.figure()
    values = [Estimate(1.0, 0.1, 9), Estimate(2.0, 0.2)]
    drawing.points(ax, [1.0, 2.0], values, 1)
    (container,) = ax.containers
    ends = [segment[:, 1] for segment in container.lines[2][0].get_segments()]
    for (low, high), value in zip(ends, values, strict=True):
        assert np.isclose(
            [low, high], [value.value - value.half_width, value.value + value.half_width]
        ).all()
    assert container.lines[0].get_color() == COLOURS[1]


def test_maps_write_and_frame_their_cells() -> None:
    grids = {"one": np.array([[1.0, 2.0]]), "two": np.array([[3.0, 4.0]])}
    framed = np.array([[[True, False]], [[False, False]]])
    fig = drawing.maps(grids, drawing.Axes((0.1, 5.0), (15,), ("x", "y")), framed=framed)
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [
        ["1.0", "2.0"],
        ["3.0", "4.0"],
    ]
    assert [len(ax.lines) for ax in fig.axes] == [1, 0]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["0.1", "5"]


def test_labels_and_scales() -> None:
    fig, axes = drawing.panels(("left", "right"))
    drawing.label(axes[0], "x (s)", "y (1)", log="xy", xlim=(1, 10))
    assert (axes[0].get_xscale(), axes[0].get_yscale()) == ("log", "log")
    assert axes[1].get_title() == "right"
    drawing.reference(axes[0], 2.0, "TCP alone")
    assert axes[0].texts[0].get_text() == "TCP alone"
    axes[0].plot([1, 10], [1, 2], label="line")
    drawing.legend_beside(axes[0], "title")
    assert axes[0].get_legend().get_title().get_text() == "title"
    drawing.legend_above(axes[0])
    assert not axes[0].get_legend().get_frame_on()
    assert len(fig.axes) == 2
