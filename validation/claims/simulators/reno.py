"""Reno in three simulators at the same independent loss (S03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from responsefn import PFTK
from validation import evidence
from validation.checks import claim
from validation.display.drawing import COLOURS, MARKERS, errorbars, figure, label
from validation.judgements.verdicts import Judgement, packets_only
from validation.statistics import Values, within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINUX, NS3 = "kaneko2007/loss-sweep-ns2", "kaneko2007/loss-sweep-ns3"
SACK = "zheng2002/independent-loss-tcp"
REFERENCE, OTHERS = "ns-2 Sack1", ("ns-2 TCP/Linux", "ns-3")
APART = 0.10
"""Tolerance: about the accuracy of PFTK."""
LARGEST = 0.02
"""Loss rate above which timeouts decide: different timers, different answers."""
MIN_LOSS_EVENTS = 100
"""Fewest loss events of all seeds for a loss rate to be compared."""


@dataclass(frozen=True)
class RenoWindows:
    """Mean windows of Reno in packets: one row per simulator and loss rate.

    Columns source, p, mean, sem (standard error over the seeds), count.
    """

    windows: pd.DataFrame

    @property
    def wide(self) -> pd.DataFrame:
        """Means and errors at the loss rates that all have, up to 0.02."""
        wide = self.windows.pivot_table(index="p", columns="source", values=["mean", "sem"])
        return wide[wide.index <= LARGEST].dropna()

    @property
    def ratios(self) -> dict[str, dict[float, tuple[float, float]]]:
        """Ratios to ns-2's Sack1 agent with twice their standard errors, by simulator and p."""
        wide = self.wide
        mean, sem = wide["mean"], wide["sem"]
        found = {}
        for source in OTHERS:
            ratio = mean[source] / mean[REFERENCE]
            error = 2.0 * ratio * np.hypot(sem[source] / mean[source], sem[REFERENCE] / mean[REFERENCE])
            pairs = zip(ratio.tolist(), error.tolist(), strict=True)
            found[source] = dict(zip(wide.index.tolist(), pairs, strict=True))
        return found

    def errors(self, source: str) -> Values:
        """Return twice the standard errors of these ratios."""
        return np.array([error for _, error in self.ratios[source].values()])

    def values(self, source: str) -> Values:
        """Return the ratios of one simulator."""
        return np.array([ratio for ratio, _ in self.ratios[source].values()])


def windows() -> pd.DataFrame:
    """Return goodput times round-trip time of Reno by simulator and loss rate."""
    import pandas as pd

    sack = evidence.frame(SACK).query("rule == 'TCP(1,1/2)'")
    window = sack["goodput"] * sack["mean_rtt"]
    parts = [pd.DataFrame({"source": REFERENCE, "p": sack["p_nominal"], "window": window})]
    for case, source in zip((LINUX, NS3), OTHERS, strict=True):
        reno = evidence.frame(case, "flows").query("rule == 'reno'")
        reno = reno[reno.groupby("loss_rate")["loss_events"].transform("sum") >= MIN_LOSS_EVENTS]
        window = reno["goodput"] * reno["base_rtt"]
        parts.append(pd.DataFrame({"source": source, "p": reno["loss_rate"], "window": window}))
    grouped = pd.concat(parts).groupby(["source", "p"])["window"]
    return grouped.agg(["mean", "sem", "count"]).reset_index()


@claim("S03", cases=(SACK, LINUX, NS3))
def measure() -> RenoWindows:
    """Read Reno's mean windows."""
    return RenoWindows(windows())


@measure.judge
def judge(found: RenoWindows, *, apart: float = APART) -> Judgement:
    """Judge whether the windows agree within a tolerance."""
    return {source: packets_only(within(found.values(source), found.errors(source), apart)) for source in OTHERS}


@measure.draw
def mean_windows(found: RenoWindows) -> Figure:
    """Draw the mean windows over the loss rate."""
    fig, ax = figure()
    p = np.logspace(-4, -1.3, 60)
    ax.plot(p, PFTK(rto=0.2).rate(p, 0.048) * 0.048, color="black", lw=1, label="PFTK")
    sources = found.windows.groupby("source")
    for (source, points), colour, mark in zip(sources, COLOURS, MARKERS, strict=False):
        style = {"color": colour, "label": source, "linestyle": "none"}
        errorbars(ax, points["p"], points["mean"], 2 * points["sem"], mark, **style)
    label(ax, "loss rate p", "goodput × RTT (packets)", log="xy")
    ax.legend(fontsize=8)
    return fig
