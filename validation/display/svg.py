"""Pictures of findings as SVG: large clouds of points as pixels, everything else as lines and text."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.display.finding_rows import Picture
from validation.display.picture_points import plotted_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import FigureCanvasBase
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MOST_POINTS = 300
"""Markers of one curve or cloud above which it becomes an image."""
RESOLUTION = 200
"""Of such images, dots per inch."""
SVG_DPI = 72
"""Points per inch, in which SVG has its lengths."""
MAX_TEXTS = 8192
"""Texts whose size is kept."""
PROLOG = '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'


def drawn(picture: Picture) -> Picture:
    """Return a picture with the text of its SVG element and its points, drawn now unless it was before."""
    import matplotlib as mpl

    if picture.svg:
        return picture
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        figure = picture.draw()
        _rasterize(figure)
        text = _svg_of(figure)
        points = plotted_points(figure)
        if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
            pyplot.close(figure)
    return replace(picture, svg=text[text.index("<svg") :], points=points)


def _svg_of(figure: Figure) -> str:
    """Lay a figure out and return it as the content of an SVG file.

    `Figure.savefig` would draw the figure twice, and measure each text again for every figure.
    """
    from matplotlib.backends.backend_mixed import MixedModeRenderer

    figure.set_dpi(SVG_DPI)
    engine = figure.get_layout_engine()
    if engine is not None:
        _measuring_canvas()(figure)
        with _measured_once(figure.axes):
            engine.execute(figure)
        figure.set_layout_engine(None)
    width, height = figure.get_size_inches()
    buffer = io.StringIO()
    vectors = _renderer()(SVG_DPI * width, SVG_DPI * height, buffer, image_dpi=RESOLUTION, metadata={"Date": None})
    mixed: Any = MixedModeRenderer  # whose methods have no types
    renderer = mixed(figure, width, height, RESOLUTION, vectors)
    figure.draw(renderer)
    renderer.finalize()
    return buffer.getvalue()


@contextlib.contextmanager
def _measured_once(panels: Sequence[Axes]) -> Iterator[None]:
    """Measure the ticks, labels and titles around axes once while a figure is laid out, where they move with the axes.

    Matplotlib measures them again after it has moved the axes. Axes differ from that layout by less than half a line of text.
    """
    for axes in panels:
        vars(axes)["get_tightbbox"] = _Margins(axes)
    try:
        yield
    finally:
        for axes in panels:
            del vars(axes)["get_tightbbox"]


class _Margins:
    """Bounding box of axes with their decorations, whose margins are measured again only after they may have changed."""

    def __init__(self, axes: Axes) -> None:
        self._axes, self._measure = axes, axes.get_tightbbox
        self._margins: NDArray[np.float64] | None = None
        self._ticks: list[list[float]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from matplotlib.transforms import Bbox

        inner, ticks = np.array(self._axes.bbox.extents), self._major_ticks()
        if self._margins is None or ticks != self._ticks or self._has_legend_outside():
            box = self._measure(*args, **kwargs)
            if box is None:
                return None
            self._margins, self._ticks = box.extents - inner, ticks
            return box
        return Bbox.from_extents(*(inner + self._margins))

    def _major_ticks(self) -> list[list[float]]:
        return [np.asarray(axis.get_majorticklocs()).tolist() for axis in (self._axes.xaxis, self._axes.yaxis)]

    def _has_legend_outside(self) -> bool:
        """Return whether a legend reaches beyond the axes, by a length that may depend on their size."""
        legend = self._axes.get_legend()
        if legend is None:
            return False
        box, inner = legend.get_window_extent(), self._axes.bbox
        return bool(box.x0 < inner.x0 or box.x1 > inner.x1 or box.y0 < inner.y0 or box.y1 > inner.y1)


@functools.cache
def _renderer() -> type[RendererSVG]:
    """Return the class of renderers that share the sizes of texts and their parsed formulas."""
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.textpath import TextToPath

    paths: Any = TextToPath()
    size = functools.lru_cache(MAX_TEXTS)(paths.get_text_width_height_descent)

    class Renderer(RendererSVG):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
            self._text2path = paths

        def get_text_width_height_descent(self, s: Any, prop: Any, ismath: Any) -> Any:
            return size(s, prop.copy(), ismath)  # fonts can be changed, and would then be other keys

    return Renderer


@functools.cache
def _measuring_canvas() -> type[FigureCanvasBase]:
    """Return the class of canvases whose figures are laid out by one renderer."""
    from matplotlib.backend_bases import FigureCanvasBase

    renderer = _renderer()(SVG_DPI, SVG_DPI, io.StringIO())

    class Canvas(FigureCanvasBase):
        def get_renderer(self) -> Any:
            return renderer

    return Canvas


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
