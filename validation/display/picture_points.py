"""The points of a picture as a table: what its curves, bars, bands and maps show, with quantities and units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import DECORATION

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = {
    "panel": "title of the axes, or its number",
    "curve": "its text in the legend; of curves without one, that of the curve of the same style or colour, or a number",
    "kind": "points, line, band, bar, interval, cell (of a map) or reference (a line or span to compare with)",
    "x": "value on the horizontal axis; empty for a horizontal reference",
    "x_low": "lower end of its interval or bar",
    "x_high": "upper end",
    "y": "value on the vertical axis; empty for a vertical reference",
    "y_low": "lower end of its interval, band or bar",
    "y_high": "upper end",
    "x_name": "text of the tick at x, where an axis has names in place of numbers",
    "y_name": "the same at y",
    "value": "number shown by colour, in a map",
    "x_quantity": "text of the horizontal axis",
    "x_unit": "its unit, as in the text",
    "y_quantity": "text of the vertical axis",
    "y_unit": "its unit",
}
"""Columns and what they hold."""
UNIT = re.compile(r"(?P<quantity>.*\S)\s*\((?P<unit>[^()]*)\)(?P<rest>,.*)?")
NEAREST = 0.5
"""Distance from a named tick up to which a value has its name: points of several curves stand beside each other."""


def plotted_points(figure: Figure) -> pd.DataFrame:
    """Return what a figure shows, one row per point, as columns of `COLUMNS`.

    Values are in the units of the axes. Texts written into the figure are left out, and gaps of curves.
    """
    import pandas as pd

    names = _named_styles(figure)
    rows = [row for n, axes in enumerate(figure.axes, 1) for row in _Panel(axes, n, names).rows()]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    gaps = table["kind"].isin(["line", "points"]) & table[["x", "y"]].isna().any(axis=1)
    return table[~gaps].reset_index(drop=True)


def _named_styles(figure: Figure) -> dict[Any, str]:
    """Return the texts in legends by style, and by colour where a colour has one text."""
    names: dict[Any, str] = {}
    by_colour: dict[str, set[str]] = {}
    for axes in figure.axes:
        for artist in (*axes.containers, *axes.lines, *axes.collections):
            if text := _label(artist):
                style = _style(artist)
                names.setdefault(style, text)
                by_colour.setdefault(style[-1], set()).add(text)
    return names | {colour: next(iter(texts)) for colour, texts in by_colour.items() if len(texts) == 1}


def _label(artist: Any) -> str:
    text = str(artist.get_label() or "")
    return "" if text.startswith("_") else _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _style(artist: Any) -> tuple[str, ...]:
    """Return what tells curves apart: marker, line, or another kind of drawing, and colour."""
    from matplotlib import colors
    from matplotlib.container import BarContainer, ErrorbarContainer

    if isinstance(artist, ErrorbarContainer):
        lines: Any = artist.lines
        line, _, bars = lines
        return _style(bars[0] if line is None else line)
    if isinstance(artist, BarContainer):
        return "bar", colors.to_hex(artist.patches[0].get_facecolor()) if artist.patches else ""
    if hasattr(artist, "get_linestyle") and hasattr(artist, "get_marker"):
        return str(artist.get_marker()), artist.get_linestyle(), colors.to_hex(artist.get_color())
    colour = np.atleast_2d(artist.get_facecolor())
    colour = colour if colour.size else np.atleast_2d(artist.get_edgecolor())
    return type(artist).__name__, colors.to_hex(colour[0]) if colour.size else ""


@dataclass(frozen=True)
class _Panel:
    """Axes, by their number in the figure, and the texts of the styles of its legends."""

    axes: Any
    number: int
    names: dict[Any, str]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the panel."""
        titles = (self.axes.get_title(loc) for loc in ("center", "left", "right"))
        common = {"panel": _one_line(" ".join(titles)) or str(self.number)}
        for axis in "xy":
            text = self._text(axis)
            found = UNIT.fullmatch(text)
            common[f"{axis}_quantity"] = found["quantity"] + (found["rest"] or "") if found else text
            common[f"{axis}_unit"] = found["unit"] if found else ""
        ticks = {axis: self._ticks(axis) for axis in "xy"}
        for n, (artist, found_rows) in enumerate(self._drawn(), 1):
            style = _style(artist) if artist not in self.axes.images else ("map", "")
            curve = _label(artist) or self.names.get(style) or self.names.get(style[-1]) or str(n)
            for row in found_rows:
                named = {f"{axis}_name": _nearest(ticks[axis], row.get(axis, np.nan)) for axis in "xy"}
                yield {**common, "curve": curve, **named, **row}

    def _text(self, axis: str) -> str:
        """Return the text of an axis, or of the next panel that has one, or of the whole figure."""
        texts = [getattr(each, f"get_{axis}label")() for each in self._along(axis)]
        whole = getattr(self.axes.figure, f"get_sup{axis}label")()
        return _one_line(next(filter(None, [*texts, whole]), ""))

    def _ticks(self, axis: str) -> dict[float, str]:
        """Return the texts of the ticks that are names and no numbers, of the axis or of the next panel that has some."""
        return next(filter(None, (_named_ticks(each, axis) for each in self._along(axis))), {})

    def _along(self, axis: str) -> list[Any]:
        """Return the panel, those that share its axis, and those of its column (x) or row (y): their texts hold for it."""
        own = self.axes.get_subplotspec()
        shared = getattr(self.axes, f"get_shared_{axis}_axes")().get_siblings(self.axes)
        if own is None:
            return [self.axes, *shared]
        span = "colspan" if axis == "x" else "rowspan"
        beside = [
            each
            for each in self.axes.figure.axes
            if (spec := each.get_subplotspec()) and getattr(spec, span) == getattr(own, span)
        ]
        return [self.axes, *shared, *beside]

    def _drawn(self) -> Iterator[tuple[Any, Iterable[dict[str, Any]]]]:
        """Yield what is drawn in the panel with its rows."""
        from matplotlib.container import BarContainer, ErrorbarContainer

        inside: set[int] = set()
        for each in self.axes.containers:
            inside.update(map(id, _flat(each)))
            if isinstance(each, ErrorbarContainer):
                yield each, _of_errorbars(each)
            elif isinstance(each, BarContainer):
                yield each, _of_bars(each)
        for line in self.axes.lines:
            if id(line) not in inside and line.get_label() != DECORATION:
                yield line, self._of_line(line)
        for each in self.axes.collections:
            if id(each) not in inside:
                yield each, _of_collection(each)
        for patch in self.axes.patches:
            if id(patch) not in inside:
                yield patch, self._of_span(patch)
        for image in self.axes.images:
            yield image, _of_map(image)

    def _of_line(self, line: Any) -> Iterator[dict[str, Any]]:
        free = self._free(line)
        kind = "reference" if free else "points" if line.get_linestyle() == "None" else "line"
        data = zip(line.get_xdata(), line.get_ydata(), strict=True)
        for x, y in list(data)[: 1 if free else None]:
            row = {"x": x, "y": y}
            yield {"kind": kind, **{axis: v for axis, v in row.items() if axis != free}}

    def _of_span(self, patch: Any) -> Iterator[dict[str, Any]]:
        free = self._free(patch)
        corners = patch.get_path().vertices
        if hasattr(patch, "get_bbox"):
            corners = patch.get_bbox().get_points()
        low, high = corners.min(axis=0), corners.max(axis=0)
        row: dict[str, Any] = {"kind": "reference"}
        for n, axis in enumerate("xy"):
            if axis != free:
                row |= {f"{axis}_low": low[n], f"{axis}_high": high[n]}
        yield row

    def _free(self, artist: Any) -> str:
        """Return the axis along which something goes from end to end of the panel, "" if none."""
        transform = artist.get_transform()
        in_data = transform.contains_branch_seperately(self.axes.transData)
        return "" if all(in_data) else "xy"[in_data.index(False)]


def _named_ticks(axes: Any, axis: str) -> dict[float, str]:
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    chosen = getattr(axes, f"{axis}axis")
    if not isinstance(chosen.get_major_formatter(), (FixedFormatter, FuncFormatter)):
        return {}
    at, texts = chosen.get_majorticklocs(), chosen.get_majorticklabels()
    named = {float(a): _one_line(t.get_text()) for a, t in zip(at, texts, strict=False)}
    return {a: text for a, text in named.items() if text}


def _flat(container: Any) -> Iterator[Any]:
    for each in container:
        if isinstance(each, (tuple, list)):
            yield from each
        elif each is not None:
            yield each


def _nearest(ticks: dict[float, str], at: float) -> str:
    if not ticks or not np.isfinite(at):
        return ""
    near = min(ticks, key=lambda tick: abs(tick - at))
    return ticks[near] if abs(near - at) <= NEAREST else ""


def _of_errorbars(container: Any) -> Iterator[dict[str, Any]]:
    """Yield points with their intervals, or intervals alone where no points are drawn."""
    line, _, bars = container.lines
    drawn = [axis for axis, has in zip("xy", (container.has_xerr, container.has_yerr), strict=True) if has]
    ends = {
        axis: np.array([segment[:, "xy".index(axis)] for segment in each.get_segments()])
        for axis, each in zip(drawn, bars, strict=True)
    }
    if line is None:
        middle = np.mean(bars[0].get_segments(), axis=1)
        points, kind = middle.tolist(), "interval"
    else:
        points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        kind = "line" if line.get_marker() in ("None", "", None) else "points"
    for n, (x, y) in enumerate(points):
        row = {"kind": kind, "x": x, "y": y}
        for axis, found in ends.items():
            row |= dict(zip((f"{axis}_low", f"{axis}_high"), np.sort(found[n]), strict=True))
        yield row


def _of_bars(container: Any) -> Iterator[dict[str, Any]]:
    along, across = ("x", "y") if container.orientation == "horizontal" else ("y", "x")
    for bar in container.patches:
        start = {"x": bar.get_x(), "y": bar.get_y()}
        length = {"x": bar.get_width(), "y": bar.get_height()}
        end = start[along] + length[along]
        yield {
            "kind": "bar", along: end, across: start[across] + length[across] / 2.0,
            f"{along}_low": min(start[along], end), f"{along}_high": max(start[along], end),
        }  # fmt: skip


def _of_collection(collection: Any) -> Iterator[dict[str, Any]]:
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection

    if isinstance(collection, PathCollection):
        for x, y in np.asarray(collection.get_offsets()).tolist():
            yield {"kind": "points", "x": x, "y": y}
    elif isinstance(collection, LineCollection):
        for segment in collection.get_segments():
            for x, y in segment:
                yield {"kind": "line", "x": x, "y": y}
    elif isinstance(collection, PolyCollection):
        for path in collection.get_paths():
            yield from _of_band(path.vertices)


def _of_band(corners: Any) -> Iterator[dict[str, Any]]:
    """Yield the ends of a band at each x: `fill_between` draws there along one side, and back along the other."""
    count = (len(corners) - 3) // 2
    there, back = corners[1 : count + 1], corners[count + 2 : 2 * count + 2][::-1]
    for (x, one), (_, other) in zip(there, back, strict=True):
        yield {"kind": "band", "x": x, "y_low": min(one, other), "y_high": max(one, other)}


def _of_map(image: Any) -> Iterator[dict[str, Any]]:
    values = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    rows, columns = values.shape[:2]
    low = bottom if image.origin == "lower" else top
    step = (top - bottom) / rows if image.origin == "lower" else (bottom - top) / rows
    for (row, column), value in np.ndenumerate(values):
        yield {
            "kind": "cell", "x": left + (column + 0.5) * (right - left) / columns,
            "y": low + (row + 0.5) * step, "value": value,
        }  # fmt: skip
