"""Axes, intervals and maps that the pictures of all claims share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.results import COLOURS, DECORATION, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from validation.statistics import Estimate

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "MARKERS",
    "RED",
    "errorbars",
    "figure",
    "label",
    "legend_above",
    "legend_beside",
    "maps",
    "panels",
    "points",
    "reference",
]

BLUE, RED, GREEN = COLOURS[:3]
GREY = "0.4"
MARKERS = "os^Dv"


def panels(
    titles: Sequence[str], width: float = 8.0, height: float = 3.4, *, sharey: bool = True
) -> tuple[Figure, Any]:
    """Return a figure of panels side by side, and its axes."""
    fig, axes = figure(width, height, ncols=len(titles), sharey=sharey)
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
    return fig, axes


def label(ax: Any, x: str, y: str = "", log: str = "", **settings: Any) -> None:
    """Name the axes; ``log`` names those that are logarithmic, such as ``"xy"``."""
    ax.set(xlabel=x, **({"ylabel": y} if y else {}))
    for axis in log:
        ax.set(**{f"{axis}scale": "log"})
    ax.set(**settings)


def errorbars(ax: Any, x: ArrayLike, y: ArrayLike, half: ArrayLike, style: str = "o", **settings: Any) -> None:
    """Draw values with the half-widths of their intervals, or with both widths, shape (2, n)."""
    ax.errorbar(x, y, yerr=half, fmt=style, **{"markersize": 4, "capsize": 2, **settings})


def points(ax: Any, x: Sequence[float], values: Sequence[Estimate], n: int, **settings: Any) -> None:
    """Draw estimates as points with 95 % intervals, in the n-th colour and marker."""
    chosen = {"color": COLOURS[n], "markersize": 5, "capsize": 3, "linestyle": "none", **settings}
    bars = np.transpose([e.bars for e in values])
    errorbars(ax, x, [e.value for e in values], bars, MARKERS[n % len(MARKERS)], **chosen)


def reference(ax: Any, y: float = 0.0, text: str = "", **settings: Any) -> None:
    """Draw a horizontal line to compare with."""
    ax.axhline(y, **{"color": "black", "lw": 0.8, **settings})
    if text:
        ax.annotate(text, (1.0, y), (-3, -3), ("axes fraction", "data"), "offset points",
                    ha="right", va="top", fontsize=8)  # fmt: skip


def legend_beside(ax: Any, title: str | None = None) -> None:
    """Put the legend beside the axes, off the data."""
    ax.legend(title=title, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def legend_above(ax: Any, columns: int = 3) -> None:
    """Put the legend above the axes, off the data."""
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    ax.legend(**place, ncol=columns, frameon=False, fontsize=8)


class Axes(NamedTuple):
    """The numbers along both sides of a map, and what they are."""

    x: Sequence[float]
    y: Sequence[float]
    labels: tuple[str, str]


def maps(
    grids: Mapping[str, NDArray[np.float64]],
    axes: Axes,
    *,
    digits: int = 1,
    framed: NDArray[np.bool_] | None = None,
    span: tuple[float, float] | None = None,
) -> Figure:
    """Draw maps over one grid, side by side, with the value written into every cell.

    Parameters
    ----------
    grids
        By title, values of shape (len(y), len(x)).
    axes
        Of all of them.
    framed
        Which cells to frame, shape (grids, len(y), len(x)).
    span
        The values of the lightest and the darkest colour; None: the smallest and the largest.
    """
    x, y, labels = axes
    values = np.array(list(grids.values()))
    low, high = span or (float(values.min()), float(values.max()))
    fig, row = figure(1.2 + 0.42 * len(x) * len(grids), 1.3 + 0.3 * len(y), ncols=len(grids))
    for n, (ax, title) in enumerate(zip(np.atleast_1d(row), grids, strict=True)):
        ax.imshow(values[n], origin="lower", aspect="auto", cmap="Blues", vmin=low, vmax=high)
        for (line, column), value in np.ndenumerate(values[n]):
            colour = "white" if value > low + 0.6 * (high - low) else "black"
            text = f"{value:.{digits}f}"
            centred = {"ha": "center", "va": "center", "fontsize": 7, "in_layout": False}
            ax.text(column, line, text, color=colour, **centred)
            if framed is not None and framed[n, line, column]:
                edge = np.array([-0.46, 0.46, 0.46, -0.46, -0.46])
                ax.plot(column + edge, line + np.roll(edge, 1), color=RED, lw=1.5, label=DECORATION)
        ax.set(xticks=range(len(x)), yticks=range(len(y)) if n == 0 else [], xlabel=labels[0])
        ax.set_xticklabels(_short(x), fontsize=8)
        ax.set_title(title, fontsize=9)
    first = np.atleast_1d(row)[0]
    first.set_ylabel(labels[1])
    first.set_yticklabels(_short(y), fontsize=8)
    return fig


def _short(values: Iterable[float]) -> list[str]:
    return [f"{value:g}" for value in values]
