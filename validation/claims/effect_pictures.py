"""The picture of effects: packets as points with 95 % intervals, the model as lines, margins as a band.

Curves over numbers are lines from left to right. Curves over names are rows of points, one row for each
name, so that no name is turned; a thin line connects the points of a row. More than `MOST_TOGETHER`
curves become panels, by what their names have before the first comma.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.claims.effect_statements import Curve, Effects
from validation.display.drawing import COLOURS, GREEN, figure, label, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TOGETHER = 6
"""Curves up to which all are drawn in one panel."""
MOST_TICKS = 10
"""Values of a logarithmic axis up to which each has its tick."""
COLUMNS = 3
"""Panels side by side at most."""
ROW = 0.2
"""Height of a row of points, inches."""
LOWEST = 1.3
"""Height of a panel of rows at least, inches."""
LONG_ENTRY = 36
"""Characters of an entry above which three columns of the legend are wider than the picture."""
MAX_COUNT = 10
"""Whole numbers below this on the horizontal axis are counts, each of which has a tick."""
NARROWEST = 0.02
"""Smallest part of the values that an axis shows: less is drawn as equal."""


def curves(found: Effects) -> Figure:
    """Draw the curves of effects.

    hopflow's own packet level is drawn as larger open points of the same colour, with intervals too.
    """
    grouped = _grouped(found.curves)
    kinds = list(dict.fromkeys(kind for each in grouped.values() for kind in each))
    every = (x for curve in found.curves.values() for x in curve.x)
    names = [name for name in dict.fromkeys(every) if isinstance(name, str)]
    across = min(len(grouped), COLUMNS if not names or max(map(len, names)) < 12 else 2)
    down = -(-len(grouped) // across)
    fullest = max(map(len, grouped.values()), default=1)
    height = 3.6 if down == 1 else 2.1
    if names:
        height = max(0.5 + ROW * len(names) * (1 + fullest // 3), LOWEST)
    fig, grid = figure(7.0, 0.8 + height * down, nrows=down, ncols=across, sharex=True, sharey=True, squeeze=False)
    shown: dict[str, list[Any]] = {}
    for ax, (title, each) in zip(grid.flat, grouped.items(), strict=False):
        if len(grouped) > 1:
            ax.set_title(title, fontsize=9)
        _draw_expected(ax, found.expected, bool(names), shown)
        for kind, curve in each.items():
            n = kinds.index(kind)
            if names:
                shift = 0.6 * ((n + 0.5) / len(kinds) - 0.5)
                _draw_rows(ax, curve, [names.index(str(x)) + shift for x in curve.x], n, kind, shown)
            else:
                _draw_lines(ax, curve, n, kind, shown)
    for ax in grid.flat[len(grouped) :]:
        ax.set_visible(False)
    _name_axes(grid, found, names)
    if len(shown) > 1:
        said = _said(shown)
        for drawn, text in zip(shown.values(), said, strict=True):
            for artist in drawn:
                artist.set_label(text)
        fig.legend(
            [drawn[-1] for drawn in shown.values()],
            said,
            loc="outside lower center",
            ncol=3 if max(map(len, said)) < LONG_ENTRY else 2,
            fontsize=8,
            frameon=False,
        )
    return fig


def _said(shown: Mapping[str, Any]) -> list[str]:
    """Return the entries of the legend: "model" alone where there is one.

    Examples
    --------
    >>> _said(dict.fromkeys(["ns-2, model", "ns-2"]))
    ['model', 'ns-2']
    """
    models = [name for name in shown if name.endswith(", model")]
    return ["model" if models == [name] else name for name in shown]


def _grouped(found: Mapping[str, Curve]) -> dict[str, dict[str, Curve]]:
    """Return the curves by panel and kind: in one panel if they are few.

    Examples
    --------
    >>> names = [f"{rule}, {tool}" for rule in ("A", "B", "C", "D") for tool in ("ns-2", "ns-3")]
    >>> {title: list(each) for title, each in _grouped(dict.fromkeys(names, Curve(()))).items()}["A"]
    ['ns-2', 'ns-3']
    """
    if len(found) <= MOST_TOGETHER:
        return {"": dict(found)}
    grouped: dict[str, dict[str, Curve]] = {}
    for name, curve in found.items():
        title, _, kind = name.partition(", ")
        grouped.setdefault(title, {})[kind] = curve
    return grouped


def _draw_expected(ax: Any, expected: tuple[float, float] | None, rows: bool, shown: dict[str, list[Any]]) -> None:
    """Draw the range in which the statement of equality holds, and its middle."""
    if expected is None:
        return
    span, line = (ax.axvspan, ax.axvline) if rows else (ax.axhspan, ax.axhline)
    expected_range = span(*expected, color=GREEN, alpha=0.15, lw=0)
    shown.setdefault("equal within the margin", []).append(expected_range)
    line(sum(expected) / 2, color="black", lw=0.8)


def _draw_lines(ax: Any, curve: Curve, n: int, kind: str, shown: dict[str, list[Any]]) -> None:
    """Draw a curve over numbers; levels are connected."""
    x = [float(value) for value in curve.x]
    colour = COLOURS[n % len(COLOURS)]
    if curve.model:
        (line,) = ax.plot(x, curve.model, color=colour, lw=1.2)
        shown.setdefault(f"{kind}, model".removeprefix(", "), []).append(line)
    for seen, said, how in _measured(curve, kind):
        points(ax, x, seen, n % len(COLOURS), linewidth=0.8, **(how | {"linestyle": ":"}))
        shown.setdefault(said, []).append(ax.containers[-1])


def _draw_rows(ax: Any, curve: Curve, rows: list[float], n: int, kind: str, shown: dict[str, list[Any]]) -> None:
    """Draw a curve over names: a row of points for each."""
    from validation.display.drawing import MARKERS

    colour = COLOURS[n % len(COLOURS)]
    values = [[e.value for e in seen] for seen in (curve.packets, curve.level) if seen]
    values += [list(curve.model)] if curve.model else []
    for at, *each in zip(rows, *values, strict=True):
        ax.plot([min(each), max(each)], [at, at], color="0.8", lw=1.0, zorder=0)
    if curve.model:
        (marks,) = ax.plot(curve.model, rows, "|", color=colour, markersize=10, mew=2)
        shown.setdefault(f"{kind}, model".removeprefix(", "), []).append(marks)
    for seen, said, how in _measured(curve, kind):
        style = {"color": colour, "markersize": 5, "capsize": 3} | how
        bars = ax.errorbar(
            [e.value for e in seen], rows, xerr=np.transpose([e.bars for e in seen]),
            fmt=MARKERS[n % len(MARKERS)], **style,
        )  # fmt: skip
        shown.setdefault(said, []).append(bars)


def _measured(curve: Curve, kind: str) -> list[tuple[Any, str, dict[str, Any]]]:
    """Return what packets gave: estimates, their name in the legend, their style."""
    found: list[tuple[Any, str, dict[str, Any]]] = []
    if curve.packets:
        found.append((curve.packets, kind or "packets", {}))
    if curve.level:
        said = kind if "hopflow" in kind else f"{kind}, hopflow's packets".removeprefix(", ")
        found.append((curve.level, said, {"markersize": 8, "markerfacecolor": "none"}))
    return found


def _name_axes(grid: Any, found: Effects, names: list[str]) -> None:
    """Name and scale the axes of all panels."""
    first = grid[0, 0]
    across, up = (
        textwrap.fill(text, 60 // grid.shape[n]) for n, text in enumerate(found.axes[::-1] if names else found.axes)
    )
    log = found.log.translate(str.maketrans("xy", "yx")) if names else found.log
    label(first, "", "", log=log)
    for ax in grid[-1]:
        ax.set_xlabel(across)
    for ax in grid[:, 0]:
        ax.set_ylabel("" if names else up)
    if names:
        first.set_yticks(range(len(names)), names)
        first.set_ylim(len(names) - 0.4, -0.6)
    elif all(isinstance(x, int) and 0 <= x < MAX_COUNT for curve in found.curves.values() for x in curve.x):
        for ax in grid[-1]:
            ax.set_xticks(sorted({x for curve in found.curves.values() for x in curve.x}))
    elif "x" in found.log and grid.shape[1] == 1:
        _set_ticks(first, {float(x) for curve in found.curves.values() for x in curve.x})
    low, high = first.get_xlim() if names else first.get_ylim()
    if high - low < NARROWEST * low:
        middle = (low + high) / 2
        limits = middle * (1 - NARROWEST), middle * (1 + NARROWEST)
        (first.set_xlim if names else first.set_ylim)(*limits)
    if low < 0.0 < high and found.expected is None:
        for ax in grid.flat:
            (ax.axvline if names else ax.axhline)(0.0, color="black", lw=0.8)


def _set_ticks(ax: Any, values: set[float]) -> None:
    """Set the ticks of a logarithmic axis at the values that were run, if they are few."""
    if len(values) <= MOST_TICKS:
        ax.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)])
        ax.set_xticks([], minor=True)
