"""How the checks of takano2006 draw what they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow.results import COLOURS

if TYPE_CHECKING:
    import pandas as pd

BLUE, RED, GREEN = COLOURS[:3]


def band(ax: Any, runs: pd.DataFrame, label: str, colour: str, flow: str = "target") -> None:
    """Draw the range of the runs' efficiencies over time, and one of them: means over 50 ms."""
    wide = runs[runs["flow"] == flow].pivot_table(index="time", columns="run", values="efficiency")
    smooth = wide.rolling(5, center=True).mean()
    ends = smooth.min(axis=1), smooth.max(axis=1)
    ax.fill_between(smooth.index, *ends, color=colour, alpha=0.25, lw=0)
    ax.plot(smooth.index, smooth.iloc[:, 0], color=colour, lw=0.9, label=label)


def efficiency_axes(ax: Any, title: str = "", until: float = 3.0) -> None:
    """Label the axes of efficiencies over time."""
    ax.set(xlim=(0, until), ylim=(0, 1.05), xlabel="time (s)", ylabel="efficiency of the target")
    ax.set_title(title, fontsize=10)
    ax.legend(fontsize=8)
