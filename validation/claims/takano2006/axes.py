"""Axes of efficiencies over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from validation.statistics import Values

if TYPE_CHECKING:
    from validation.claims.takano2006.studies import Efficiencies

WIDTH, WINDOW = 5, "50 ms"
"""Bins that the curves of `band` average, and their length."""


def smooth(values: Values, width: int) -> Values:
    """Return centred running means over the last axis, NaN where a window is cut off."""
    means = np.full(values.shape, np.nan)
    sums = np.cumsum(np.concatenate((0 * values[..., :1], values), axis=-1), axis=-1)
    left = width // 2
    inside = slice(left, values.shape[-1] - (width - 1 - left))
    means[..., inside] = (sums[..., width:] - sums[..., :-width]) / width
    return means


def band(ax: Any, runs: Efficiencies, label: str, colour: str) -> None:
    """Draw the range of the runs' target efficiencies over time, and the first run."""
    means = smooth(runs.flows["target"], WIDTH)
    ends = means.min(axis=0), means.max(axis=0)
    ax.fill_between(runs.time, *ends, color=colour, alpha=0.25, lw=0)
    ax.plot(runs.time, means[0], color=colour, lw=0.9, label=label)


def efficiency_axes(
    ax: Any, title: str = "", until: float = 3.0, of: str = " of the target"
) -> None:
    """Label the axes of efficiencies over time, with a legend."""
    ax.set(xlim=(0, until), ylim=(0, 1.05), xlabel="time (s)", ylabel=f"efficiency{of}")
    ax.set_title(title, fontsize=10)
    ax.legend(fontsize=8)
