"""What is measured of a lone flow's window, drops and goodput, in a bundled run of Linux and in one of ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfcmodel.results import Trajectory
from validation import evidence

Floats = NDArray[np.float64]
DATA_BITS = 1448 * 8
"""Data in a packet of 1500 bytes with timestamps."""
WARM_UP = 5.0
"""s after which windows, periods and goodput are measured."""
FALL = 0.95
"""A peak of the window is followed by less than this part of it."""
FIRST_LOSSES = 1.0
"""s from the first drop on: the losses of the first slow start."""


@dataclass(frozen=True)
class Measures:
    """What is compared of a lone flow: packets, s, Mb/s of data; ``probes``: beginnings of windows of four packets."""

    drops: float
    first_losses: float
    window: float
    period: float
    peak: float
    goodput: float
    probes: tuple[float, ...]

    def value(self, quantity: str) -> float:
        """Return a quantity by its name in the table; of ProbeRTT the number of times."""
        if quantity == "ProbeRTT":
            return float(len(self.probes))
        return float(getattr(self, quantity.replace(" ", "_")))


def peaks(time: Floats, window: Floats) -> tuple[Floats, Floats]:
    """Return times and heights of the peaks of a window: maxima that less than `FALL` of them follows."""
    times, heights = list[float](), list[float]()
    top, at, low, falling = 0.0, 0.0, np.inf, False
    for t, w in zip(time.tolist(), window.tolist(), strict=True):
        if falling:
            low = min(low, w)
            if w > low / FALL:
                top, at, falling = w, t, False
        elif w >= top:
            top, at = w, t
        elif w < FALL * top:
            times.append(at)
            heights.append(top)
            low, falling = w, True
    return np.array(times), np.array(heights)


def _measures(time: Floats, window: Floats, drops: Floats, goodput: float) -> Measures:
    """Return the measures of a lone flow from samples of its window and the times of its drops."""
    at, heights = peaks(time, window)
    late = at > WARM_UP
    small = (window <= 4.0) & (time > WARM_UP / 2)
    begins = time[small & ~np.roll(small, 1)]
    return Measures(
        drops=float(len(drops)),
        first_losses=float(np.sum(drops < drops[0] + FIRST_LOSSES)) if len(drops) else 0.0,
        window=float(window[time > WARM_UP].mean()),
        period=float(np.diff(at[late]).mean()) if late.sum() > 1 else np.nan,
        peak=float(heights[late].mean()) if late.any() else np.nan,
        goodput=goodput,
        probes=tuple(begins.tolist()),
    )


def rows_of(case: str, table: str, run: str) -> pd.DataFrame:
    """Return the rows of a bundled run."""
    rows = evidence.table(case, table)
    return rows[rows["run"] == run]


def measures_of_linux(run: str, case: str = "linux/alone") -> Measures:
    """Return the measures of a bundled run of one flow."""
    window, seconds = rows_of(case, "windows", run), rows_of(case, "seconds", run)
    late = seconds.loc[seconds["time"] > WARM_UP, "bytes"]
    time, cwnd = (window[name].to_numpy(dtype=float) for name in ("time", "cwnd"))
    drops = rows_of(case, "drops", run)["time"].to_numpy(dtype=float)
    return _measures(time, cwnd, drops, float(late.mean() * 8 / 1e6))


def measures_of_run(run: Trajectory) -> Measures:
    """Return the measures of a simulated lone flow."""
    lost = run.lost[0].sum(axis=0)
    drops = np.repeat(run.time, np.round(lost).astype(int))
    sent = run.delivered[0, -1] - run.delivered[0, np.searchsorted(run.time, WARM_UP)]
    goodput = sent * DATA_BITS / (run.time[-1] - WARM_UP) / 1e6
    return _measures(run.time, run.window[0], drops, float(goodput))
