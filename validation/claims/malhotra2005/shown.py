"""How the checks of malhotra2005 draw and word what they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import COLOURS, figure
from validation.claims.malhotra2005.packets import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MARKERS = "os^Dv"


def points(ax: Any, x: Sequence[float], values: Sequence[Estimate], n: int, **style: Any) -> None:
    """Draw packet runs as points with 95 % intervals."""
    style = {"label": None, "color": COLOURS[n], **style}
    marker = MARKERS[n % len(MARKERS)]
    y, half = [e.value for e in values], [e.half_width for e in values]
    ax.errorbar(x, y, yerr=half, fmt=marker, markersize=5, capsize=3, linestyle="none", **style)


def size_text(value: float) -> str:
    """Return the size of an error as text; 0 is the smallest that float64 knows."""
    return f"{value:.0e}" if value else "the last bit"


def yes(holds: bool) -> str:
    """Return whether something holds, as text."""
    return "yes" if holds else "no"


def beside(ax: Any, title: str | None = None) -> None:
    """Put the legend beside the axes, off the data."""
    ax.legend(title=title, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def maps(
    panels: Mapping[str, NDArray[np.float64]],
    x: Sequence[float],
    y: Sequence[float],
    labels: tuple[str, str],
    *,
    digits: int = 1,
    marked: NDArray[np.bool_] | None = None,
    span: tuple[float, float] | None = None,
) -> Figure:
    """Draw maps over one grid, side by side, with the value written into every cell.

    Parameters
    ----------
    panels
        By title, values of shape (len(y), len(x)).
    labels
        Of the two axes.
    marked
        Which cells to frame, shape (panels, len(y), len(x)).
    span
        The values of the lightest and the darkest colour; None: the smallest and the largest.
    """
    values = np.array(list(panels.values()))
    low, high = span or (float(values.min()), float(values.max()))
    fig, axes = figure(1.2 + 0.42 * len(x) * len(panels), 1.3 + 0.3 * len(y), ncols=len(panels))
    for n, (ax, title) in enumerate(zip(np.atleast_1d(axes), panels, strict=True)):
        ax.imshow(values[n], origin="lower", aspect="auto", cmap="Blues", vmin=low, vmax=high)
        for (row, column), value in np.ndenumerate(values[n]):
            colour = "white" if value > low + 0.6 * (high - low) else "black"
            text = f"{value:.{digits}f}"
            ax.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
            if marked is not None and marked[n, row, column]:
                edge = np.array([-0.46, 0.46, 0.46, -0.46, -0.46])
                ax.plot(column + edge, row + np.roll(edge, 1), color=COLOURS[1], lw=1.5)
        ax.set(xticks=range(len(x)), yticks=range(len(y)) if n == 0 else [], xlabel=labels[0])
        ax.set_xticklabels([f"{value:g}" for value in x], fontsize=8)
        ax.set_title(title, fontsize=9)
    first = np.atleast_1d(axes)[0]
    first.set_ylabel(labels[1])
    first.set_yticklabels([f"{value:g}" for value in y], fontsize=8)
    return fig
