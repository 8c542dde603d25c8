"""Pictures as SVG."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

from hopflow.results import figure
from validation.finding_rows import Picture
from validation.svg import MOST_POINTS, RESOLUTION, drawn, size, standalone


def picture(points: int, kind: str) -> str:
    def draw():
        fig, ax = figure(3.0, 2.0)
        at = np.linspace(0, 1, points)
        if kind == "scatter":
            ax.scatter(at, at)
        else:
            ax.plot(at, at, ".")
        return fig

    return drawn(Picture(draw, "", "")).svg


@pytest.mark.parametrize("kind", ["scatter", "plot"])
def test_clouds_of_points_are_images_and_small_ones_are_not(kind: str) -> None:
    small, large = picture(MOST_POINTS, kind), picture(MOST_POINTS + 1, kind)
    assert "<image" not in small
    assert "<image" in large
    assert large.count("<use ") < small.count("<use ")


def test_a_file_has_the_size_of_the_figure_in_css_pixels() -> None:
    svg = picture(2, "plot")
    assert size(svg) == (288, 192)
    assert ET.fromstring(standalone(svg)).tag.endswith("svg")


def test_a_drawn_picture_is_not_drawn_again() -> None:
    assert drawn(Picture(lambda: 1 / 0, "", "", svg="<svg/>")).svg == "<svg/>"


def test_layout_is_that_of_savefig() -> None:
    def draw():
        fig, axes = figure(4.0, 2.0, ncols=2)
        axes[0].plot([1, 2], [1, 1e6], label="high")
        axes[0].set(ylabel="a long label of the first axis", yscale="log", title="left")
        axes[1].legend(handles=axes[0].lines, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return fig

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        draw().savefig(buffer, format="svg", dpi=RESOLUTION, metadata={"Date": None})
    assert buffer.getvalue().endswith(drawn(Picture(draw, "", "")).svg)
