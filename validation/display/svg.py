"""Pictures of findings as SVG: large clouds of points as pixels, everything else as lines and text."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from validation.display.finding_rows import Picture
from validation.display.picture_points import plotted_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 300
"""Markers of one curve or cloud above which it becomes an image."""
RESOLUTION = 200
"""Of such images, dots per inch."""
PROLOG = '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'


def drawn(picture: Picture) -> Picture:
    """Return a picture with the text of its SVG element and its points, drawn now unless it was before."""
    import matplotlib as mpl

    if picture.svg:
        return picture
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        figure = picture.draw()
        _rasterize(figure)
        _lay_out(figure)
        figure.savefig(buffer, format="svg", dpi=RESOLUTION, metadata={"Date": None})
        points = plotted_points(figure)
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(figure)
    text = buffer.getvalue()
    return replace(picture, svg=text[text.index("<svg") :], points=points)


def _lay_out(figure: Figure) -> None:
    """Lay a figure out as `savefig` does, which would draw it once more for that.

    At the 72 dots per inch of SVG, the measured texts are used again when it is drawn.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine = figure.get_layout_engine()
    if engine is None:
        return
    figure.set_dpi(72)
    FigureCanvasSVG(figure)
    engine.execute(figure)
    figure.set_layout_engine(None)


def _rasterize(figure: Figure) -> None:
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_marker() not in (None, "", " ", "None"):
                line.set_rasterized(np.size(line.get_xdata()) > MOST_POINTS)
        for cloud in axes.collections:
            if np.shape(cloud.get_offsets())[0] > MOST_POINTS:
                cloud.set_rasterized(True)


def standalone(svg: str) -> str:
    """Return an SVG element as the content of a file."""
    return PROLOG + svg


def size(svg: str) -> tuple[int, int]:
    """Return width and height of an SVG element in CSS pixels.

    Examples
    --------
    >>> size('<svg width="72pt" height="36pt" viewBox="0 0 72 36">')
    (96, 48)
    """
    sides = [re.search(rf'\b{side}="([\d.]+)pt"', svg[:600]) for side in ("width", "height")]
    width, height = (round(float(found[1]) * 4 / 3) if found else 0 for found in sides)
    return width, height
