"""Scenarios 4V and 4V' with Vegas: the fluid's run beside ns-3's, and ns-2's without DFC."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import simulate, takano2006
from dfcmodel.results import Trajectory
from responsefn import NS2Vegas
from validation import evidence
from validation.claims.takano2006.studies import SETTLED, rows
from validation.judgements.verdicts import Sides
from validation.statistics import Swing, Values, swing

if TYPE_CHECKING:
    import pandas as pd

NS2 = "takano2006/scenario-4v-without-dfc"
SMALL_BUFFER_RUNS = "takano2006/scenario-4v-small-buffer-without-dfc"
NS3 = "takano2006/scenario-4v-with-dfc"
SIDES = {"with DFC": ("dfc", "shaped"), "without DFC": ("fifo", "direct")}
LARGE_BUFFER, SMALL_BUFFER = 1800, 400
SAME_MEAN = 0.1
"""Relative difference below which means are the same: a round trip of slow start doubles them."""
END = 0.5
"""Simulated time in s of the runs with DFC in ns-3."""


@dataclass(frozen=True)
class VegasRuns:
    """Efficiency of the target after 0.2 s, shape (runs, T), and packets lost by both flows, (runs,)."""

    target: Values
    lost: Values

    @property
    def means(self) -> Values:
        """The mean over time of each run."""
        means: Values = self.target.mean(axis=1)
        return means

    @property
    def mean(self) -> float:
        """The mean over time and runs."""
        return float(self.target.mean())

    @property
    def swing(self) -> Swing:
        """Mean and standard deviation over time of the runs, in bins of 10 ms."""
        return swing(self.target, bin=10)

    @property
    def bursts(self) -> Swing:
        """The same in bins of 1 ms."""
        return swing(self.target)


@functools.cache
def fluid(side: str, buffer: int = LARGE_BUFFER, times: int = 1) -> Trajectory:
    """Return the fluid's run, with a multiple of Vegas' usual thresholds."""
    name = "4V" if buffer == LARGE_BUFFER else "4V'"
    scenario = takano2006(name, dfc=side == "with DFC")
    rule = NS2Vegas(alpha=times, beta=3.0 * times, gamma=times)
    flows = tuple(replace(flow, source=rule) for flow in scenario.flows)
    return simulate(replace(scenario, flows=flows), duration=END, level="fluid")


def packets(side: str, name: str, buffer: int = LARGE_BUFFER) -> pd.DataFrame:
    """Return the rows of ns-3's chain, which has both sides, with ns-3's Vegas."""
    discipline, host = SIDES[side]
    sender = "ns3-vegas"
    return rows(
        NS3, name, discipline=discipline, host=host, buffer=buffer,
        target_source=sender, background_source=sender,
    )  # fmt: skip


def runs_of(side: str, buffer: int = LARGE_BUFFER) -> Sides[VegasRuns]:
    """Return the fluid's run and ns-3's."""
    run = fluid(side, buffer)
    return Sides(
        VegasRuns(run.efficiency.to_numpy()[:1, run.time > SETTLED], np.array([run.lost.sum()])),
        _of_tables(packets(side, "efficiency", buffer), packets(side, "flows", buffer)),
    )


def ns2_runs(buffer: int = LARGE_BUFFER) -> VegasRuns:
    """Return ns-2's runs without DFC."""
    case = NS2 if buffer == LARGE_BUFFER else SMALL_BUFFER_RUNS
    return _of_tables(evidence.frame(case, "efficiency"), evidence.frame(case, "flows"))


def _of_tables(efficiency: pd.DataFrame, flows: pd.DataFrame) -> VegasRuns:
    settled = efficiency[(efficiency["time"] > SETTLED) & (efficiency["flow"] == "target")]
    return VegasRuns(settled.pivot_table("efficiency", "seed", "time").to_numpy(float), _lost(flows))


def _lost(flows: pd.DataFrame) -> Values:
    """Return the packets lost by both flows in each run, (runs,)."""
    return flows.groupby("seed")["dropped"].sum().to_numpy(float)
