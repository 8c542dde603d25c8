"""Runs of Linux through its queue disciplines: their paths, and what is measured: rates, delays in the queue, drops and marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation import evidence

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "linux/queue-"
"""Of the names of the cases; the name of the discipline follows."""
PACKET = 1500
"""bytes"""
PATHS = {
    "seen": (20e6, 0.020),
    "drawn-1": (11.4e6, 0.0330),
    "drawn-2": (26.7e6, 0.0385),
    "drawn-3": (46.6e6, 0.0140),
    "fresh": (48.3e6, 0.011),
}
"""bit/s and s of both directions. The first one guided choices; the others were drawn and nothing was chosen by them.

Drawn with ``random.Random(51)``: rates of 10 to 50 Mb/s and round trips of 20 to 120 ms, one in each third of both on a logarithmic
scale, uniform in it. The thirds of the round trips are shuffled first; then rate and round trip are drawn for each path, and
rounded to 0.1 Mb/s and ms. The last one, for a manager that was changed after the runs over the others, is of ``random.Random(52)``: rate, then
round trip, uniform on that scale.
"""
SECONDS, SINCE = 40, 10.0
"""Of a run, and from when delays are measured."""


def thresholds(rate: float, delay: float) -> dict[str, int]:
    """Return what waits besides the packet in transmission, in packets, for the disciplines that are given a queue.

    ``buffer``: of drop-tail, two products of rate and round trip. ``low``, ``high``: of RED, 5 and 15 ms. ``step``: DCTCP's K, a fifth of the
    product, where Alizadeh et al. 2010, eq. (13), take more than a seventh.
    """
    per_second = rate / (8 * PACKET)
    product = per_second * 2.0 * delay
    return {
        "buffer": math.ceil(2.0 * product),
        "low": math.ceil(0.005 * per_second),
        "high": math.ceil(0.015 * per_second),
        "step": math.ceil(product / 5.0),
    }


@dataclass(frozen=True)
class QueueMeasures:
    """What is measured of a run from `SINCE` on.

    Attributes
    ----------
    rates
        Packets/s that left the queue, of each unlimited flow.
    used
        Part of the link's rate that was used.
    delay
        Mean in the queue, ms.
    standing
        Median over intervals of 100 ms of the shortest delay in the interval, ms.
    sparse
        Delay that 99 % of the packets of the sparse flow do not exceed, ms; nan without one.
    drops, marks
        Packets.
    """

    rates: tuple[float, ...]
    used: float
    delay: float
    standing: float
    sparse: float
    drops: float
    marks: float

    @property
    def share(self) -> float:
        """Share of the first flow among the unlimited ones."""
        return self.rates[0] / sum(self.rates)

    @property
    def signals(self) -> float:
        """Packets that were dropped or marked."""
        return self.drops + self.marks

    @property
    def evenness(self) -> float:
        """Least over greatest rate of the unlimited flows."""
        return min(self.rates) / max(self.rates)


def path_of(run: str) -> tuple[float, float]:
    """Return rate, bit/s, and delay, s, of the path that the name of a run ends with."""
    return PATHS[run.split("-", 1)[1]]


def rows_of(discipline: str, table: str, run: str) -> pd.DataFrame:
    """Return the rows of a bundled run."""
    rows = evidence.frame(PREFIX + discipline, table)
    return rows[rows["run"] == run]


def measures_of_linux(discipline: str, run: str) -> QueueMeasures:
    """Return the measures of a bundled run of Linux."""
    flows = rows_of(discipline, "runs", run).sort_values("flow")
    samples = rows_of(discipline, "queues", run)
    before = samples[samples["time"] <= SINCE].iloc[-1]
    queue = samples[samples["time"] > SINCE]
    endless, sparse = flows[flows["message"] == 0], flows[flows["message"] > 0]
    left = queue["left"].to_numpy(float)
    seconds = SECONDS - SINCE
    return QueueMeasures(
        rates=tuple((endless["delayed"] / seconds).tolist()),
        used=float(left.sum() / seconds * 8 * PACKET / path_of(run)[0]),
        delay=float((queue["delay"] * left).sum() / left.sum() / 1e6),
        standing=float(queue.loc[left > 0, "least"].median() / 1e6),
        sparse=float(sparse["percentile_99"].iloc[0] / 1e6) if len(sparse) else np.nan,
        drops=float(queue["drops"].iloc[-1] - before["drops"]),
        marks=float(queue["marks"].iloc[-1] - before["marks"]),
    )
