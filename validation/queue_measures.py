"""What is measured of a run through a queue discipline: rates, delays in the queue, drops and marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation import evidence
from validation.generate.linux.queue_cases import CASES, PACKET, SECONDS, SINCE

if TYPE_CHECKING:
    import pandas as pd

    from validation.generate.cases import Run

__all__ = ["PREFIX", "QueueMeasures", "measures_of_linux", "run_of"]

PREFIX = "linux/queue-"
"""Of the names of the cases; the name of the discipline follows."""


@dataclass(frozen=True)
class QueueMeasures:
    """What is measured of a run from `SINCE` on.

    Attributes
    ----------
    rates
        Packets/s that left the queue, of each flow with data without end.
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
        """Share of the first flow among those with data without end."""
        return self.rates[0] / sum(self.rates)

    @property
    def signals(self) -> float:
        """Packets that were dropped or marked."""
        return self.drops + self.marks

    @property
    def evenness(self) -> float:
        """Least over greatest rate of the flows with data without end."""
        return min(self.rates) / max(self.rates)


def run_of(discipline: str, run: str) -> Run:
    """Return the parameters of a run of a discipline, by the names of both."""
    (case,) = (case for case in CASES if case.name == PREFIX + discipline)
    (found,) = (each for each in case.runs if each["run"] == run)
    return found


def rows_of(discipline: str, table: str, run: str) -> pd.DataFrame:
    """Return the rows of a bundled run."""
    rows = evidence.table(PREFIX + discipline, table)
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
        used=float(left.sum() / seconds * 8 * PACKET / run_of(discipline, run)["rate"]),
        delay=float((queue["delay"] * left).sum() / left.sum() / 1e6),
        standing=float(queue.loc[left > 0, "least"].median() / 1e6),
        sparse=float(sparse["percentile_99"].iloc[0] / 1e6) if len(sparse) else np.nan,
        drops=float(queue["drops"].iloc[-1] - before["drops"]),
        marks=float(queue["marks"].iloc[-1] - before["marks"]),
    )
