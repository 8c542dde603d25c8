"""Queues of scenario 4, node by node: the fluid's runs, and those of ns-2 and ns-3."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import DFC, Packets, simulate, takano2006
from dfcmodel.results import Trajectory
from validation import evidence
from validation.claims.takano2006.studies import (
    DEFAULT,
    PACKET_JITTER,
    SPREAD,
    START,
    WITHIN,
    Study,
    rows,
)
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Sides, Verdict
from validation.statistics import Values, below, bounds, mostly

if TYPE_CHECKING:
    import pandas as pd

FIFO, DFC_CASE = Study("4").without_dfc_case, Study("4").with_dfc_case
BUFFER = 1800
MERGE = 14
"""Place of node 15, where the background flow enters, among the sending nodes."""
RTT = 58e-4
"""Round-trip time of the target without queues, s."""
ROUNDING = 1e-9
"""Of the recorded instants, s."""
PACKET_RUNS = 16
"""Runs at hopflow's packet level: that some differ is judged."""
READINGS: dict[str, dict[str, object]] = {
    "default": {},
    "synchronous clocks": {"phases": "synchronous"},
    "a buffer per flow": {"buffers": "per-flow"},
    "D = 0.01": {"diffusion": 0.01},
}
"""Other readings of scenario 4 with DFC, by the columns of the bundled tables."""


@dataclass(frozen=True)
class Queues:
    """Packets stored in one run, per node (L, T) over time in s (T,).

    Also the packets dropped (L,), those of the target flow (L,), the largest queues (L,), and when node 15
    was first full.
    """

    time: Values
    stored: Values
    dropped: Values
    target: Values
    peak: Values
    full: float

    @property
    def share_of_merge(self) -> float:
        """Share of node 15 in all packets stored after 0.1 s."""
        return self.share_of(MERGE)

    def share_of(self, place: int) -> float:
        """Return the share of a node in all packets stored after 0.1 s."""
        late = self.time > START
        return float(self.stored[place, late].sum() / self.stored[:, late].sum())

    @property
    def lost_at_merge(self) -> float:
        """Part of the target's lost packets that node 15 dropped; nan: it lost none."""
        lost = self.target.sum()
        return float(self.target[MERGE] / lost) if lost else math.nan

    @property
    def peak_of_merge(self) -> float:
        """Node 15's largest queue."""
        return float(self.peak[MERGE])

    @property
    def left(self) -> float:
        """Packets at node 15 when it was emptiest after it had been full."""
        return float(self.stored[MERGE, self.time > self.full].min())

    @property
    def share_of_largest(self) -> float:
        """Share of the largest queue in all packets stored, at their maximum after 0.1 s."""
        fullest = int(np.argmax(np.where(self.time > START, self.stored.sum(axis=0), -1.0)))
        stored = self.stored[:, fullest]
        return float(stored.max() / stored.sum())

    def left_after(self, round_trips: float) -> float:
        """Return the packets stored so many round trips after the background's start, over the most before."""
        total = self.stored.sum(axis=0)
        then = self.time <= START + round_trips * RTT + ROUNDING
        most = float(total[then & (self.time > START)].max())
        return float(total[then][-1]) / most if most else 0.0

    @property
    def largest(self) -> float:
        """The largest queue of any node."""
        return float(self.peak.max())

    @property
    def lost(self) -> float:
        """Packets lost at all nodes."""
        return float(self.dropped.sum())


Runs = Sides[list[Queues]]


def in_most(runs: Runs, holds: Callable[[Queues], bool], level: float) -> Sides[Verdict]:
    """Return whether a statement holds in most runs, by a sign test: seven that agree decide at 0.01."""
    return runs.each(lambda side: mostly(map(holds, side), level))


def on_average(runs: Runs, quantity: Callable[[Queues], float], limit: float, level: float) -> Sides[Verdict]:
    """Return whether the mean of a quantity over the runs is below a limit."""
    each = runs.each(lambda side: np.array([quantity(run) for run in side]))
    return each.each(lambda values: below(bounds(values, level), limit))


def of_run(run: Trajectory) -> Queues:
    """Return the queues of a run."""
    full = float(run.time[int(np.argmax(run.queued[MERGE]))])
    lost = run.lost.sum(axis=2)
    return Queues(run.time, run.queued, lost.sum(axis=0), lost[0], run.peak_queue, full)


def _of_packets(occupancy: pd.DataFrame, nodes: pd.DataFrame) -> list[Queues]:
    found = []
    for seed, of_run in nodes.groupby("seed"):
        stored = occupancy[occupancy["seed"] == seed].pivot_table("queued", "node", "time")
        drops = of_run["target_drops"] + of_run["background_drops"]
        found.append(
            Queues(
                stored.columns.to_numpy(float),
                stored.to_numpy(float),
                drops.to_numpy(float),
                of_run["target_drops"].to_numpy(float),
                of_run["peak"].to_numpy(float),
                float(of_run["first_drop"].iloc[MERGE]),
            )
        )
    return found


@functools.cache
def _fluid(host: str | None, reading: str = "default") -> list[Queues]:
    """Return eight runs, from which on equal ones decide: without DFC (None) by starts, with DFC by phases."""
    if host is None:
        scenario, jitter = takano2006("4", dfc=False), 1e-3
    else:
        asked: dict[str, Any] = {**DEFAULT, **READINGS[reading]}
        law = DFC(diffusion=asked["diffusion"], phases=asked["phases"])
        scenario, jitter = takano2006("4", host=host), 20e-6
        shared = asked["buffers"] == "shared"
        links = (replace(link, discipline=law, shared=shared) for link in scenario.links)
        scenario = replace(scenario, links=tuple(links))
    every = (simulate(scenario, duration=0.5, jitter=jitter, seed=seed, level="fluid") for seed in range(WITHIN))
    return [of_run(run) for run in every]


@kept
def at_packet_level() -> list[Queues]:
    """Return runs without DFC at hopflow's packet level, as random as those of ns-2."""
    scenario = takano2006("4", dfc=False)
    return [
        of_run(
            simulate(
                scenario, Packets(), duration=0.5, jitter=SPREAD, packet_jitter=PACKET_JITTER,
                seed=seed,
            )
        )
        for seed in range(PACKET_RUNS)
    ]  # fmt: skip


def without_dfc() -> Runs:
    """Return the runs without DFC: the fluid's, and ns-2's at the instants that were recorded."""
    nodes = evidence.frame(FIFO, "nodes").rename(columns={"peak_queued": "peak"})
    return Sides(_fluid(None), _of_packets(evidence.frame(FIFO, "occupancy"), nodes))


def with_dfc(host: str, reading: str = "default") -> Runs:
    """Return the runs with DFC: the fluid's, and ns-3's at the instants that were recorded."""
    asked = {"host": host, **READINGS[reading]}
    occupancy = rows(DFC_CASE, "occupancy", **asked)
    both = occupancy["queued_target"] + occupancy["queued_background"]
    packets = _of_packets(occupancy.assign(queued=both), rows(DFC_CASE, "nodes", **asked))
    return Sides(_fluid(host, reading), packets)
