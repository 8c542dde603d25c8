"""The figure of an explanation: a waterfall from the fluid to packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.display.results import COLOURS, DECORATION, figure

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["draw_waterfall"]

BLUE, _, GREEN = COLOURS[:3]
GREY = "0.6"


def draw_waterfall(data: xr.Dataset, ax: Any = None) -> Any:
    """Draw the waterfall of one quantity, on ``ax`` or on new axes, and return the Axes.

    Parameters
    ----------
    data
        Result of `dfcmodel.results.Explanation.to_xarray` for one quantity; bars are in the order of its parts.
    """
    names, parts = data["part"].to_numpy().tolist(), data["contribution"].to_numpy()
    if ax is None:
        ax = figure(6.4, 0.8 + 0.32 * (len(names) + 2))[1]
    colours = [GREY if name == "unexplained" else BLUE for name in names]
    levels = data["start"].to_numpy()[0] + np.cumsum([0.0, *parts[:, 0]])
    rows = np.arange(1, len(parts) + 1)
    ax.barh(rows, parts[:, 0], left=levels[:-1], color=colours, height=0.6)
    half = parts[:, 2] - parts[:, 0]
    ax.errorbar(levels[1:], rows, xerr=half, fmt="none", ecolor="black", capsize=2)
    for row, name in ((0, "start"), (len(parts) + 1, "packets")):
        mean, low, _ = data[name].to_numpy()
        ax.barh(row, mean, color=GREEN, height=0.6)
        ax.errorbar(mean, row, xerr=mean - low, fmt="none", ecolor="black", capsize=2)
    for row, level in enumerate(levels):  # from the end of each bar to the next
        ax.plot([level, level], [row, row + 1], color="0.4", lw=0.6, label=DECORATION)
    ax.set_yticks(np.arange(len(parts) + 2), [data.attrs["start"], *names, "packets"])
    ax.invert_yaxis()
    name, units = data["quantity"].item(), data["units"].item()
    label = name if units in ("", "1") else f"{name} ({units})"
    ax.set(xlabel=label, title=f"{data.attrs['scenario']}, {data.attrs['runs']} runs")
    ax.margins(x=0.08)
    return ax
