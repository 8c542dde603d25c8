"""The division of a link between two flows by eq. (13) (D20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import DFC, takano2006
from dfcmodel.theory.law import Report, Sharing, rates
from validation import evidence
from validation.checks import claim
from validation.display.drawing import COLOURS, figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.statistics import LEVEL, Values, mostly

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

UNSHAPED = "takano2006/scenario-1-with-dfc-unshaped"
CONGESTED = 100
"""Fewest packets of each flow at node 15 for both to count as queued."""
CAPACITY, CASES = 1.0, 20_000


@dataclass(frozen=True)
class LinkShares:
    """Eq. (13) for random unconstrained rates of two flows, shapes (2, n), and instants in ns-3.

    Attributes
    ----------
    ideal, given
        Unconstrained rates, and the rates of eq. (13), over the link rate.
    instants
        One row per instant at which both flows wait at node 15: seed, run, time, target, background
        (queues in packets), measured and predicted (share of the background in what passes), kept
        (the target's efficiency over its highest alone).
    """

    ideal: Values
    given: Values
    instants: pd.DataFrame

    def queued(self, congested: float) -> pd.Series[bool]:
        """Return the instants at which both flows have more than this number of packets at node 15."""
        return self.instants[["target", "background"]].min(axis=1) > congested

    @property
    def congested(self) -> pd.DataFrame:
        """The instants at which both flows have more than `CONGESTED` packets there."""
        return self.instants[self.queued(CONGESTED)]

    @property
    def agree(self) -> NDArray[np.bool_]:
        """Instants at which the longer queue has the larger share."""
        longer = self.instants["background"] > self.instants["target"]
        return np.asarray(longer == (self.instants["measured"] > 0.5))

    @property
    def over(self) -> NDArray[np.bool_]:
        """Columns in which the unconstrained rates together exceed the link rate."""
        return np.asarray(self.ideal.sum(axis=0) > CAPACITY)

    @property
    def unfilled(self) -> float:
        """Largest difference of the sum of the rates and the link rate, where both exceed it."""
        return float(np.abs(self.given[:, self.over].sum(axis=0) - CAPACITY).max())

    @property
    def disproportion(self) -> float:
        """Largest deviation of J_1/J_2 from the unconstrained ratio, cross-multiplied."""
        crossed = self.given[0] * self.ideal[1] - self.given[1] * self.ideal[0]
        return float(np.abs(crossed)[self.over].max())

    @property
    def apart(self) -> float:
        """Largest difference of a measured share from the predicted one."""
        return float((self.instants["measured"] - self.instants["predicted"]).abs().max())


def instants() -> pd.DataFrame:
    """Return ns-3's queues at node 15 and shares of the departures, at instants of its records."""
    import pandas as pd

    keys = ["target_source", "phases", "buffers", "diffusion", "seed"]
    queues = evidence.frame(UNSHAPED, "occupancy")
    queues = queues[
        (queues["node"] == 15)
        & (queues["diffusion"] == 0.1)
        & (queues["queued_target"] > 0)
        & (queues["queued_background"] > 0)
    ]
    table = evidence.frame(UNSHAPED)
    passed = table.pivot_table(index=[*keys, "time"], columns="flow", values="efficiency")
    share = (passed["background"] / passed.sum(axis=1)).rename("measured").reset_index()
    share["now"] = passed["target"].to_numpy()
    alone = passed.loc[passed.index.get_level_values("time") <= 0.1, "target"].groupby(keys).max()
    share["time"] = share["time"].round(6)
    near = queues.assign(time=(queues["time"] + 0.01).round(6)).merge(share, on=[*keys, "time"])
    near = near.merge(alone.rename("alone").reset_index(), on=keys)
    link = takano2006("1").links[0]
    demand = link.rate + DFC().diffusion / link.delay * near[["queued_target", "queued_background"]]
    return pd.DataFrame(
        {
            "seed": near["seed"],
            "run": near.groupby(keys).ngroup(),
            "time": near["time"] - 0.01,
            "target": near["queued_target"],
            "background": near["queued_background"],
            "measured": near["measured"],
            "kept": near["now"] / near["alone"],
            "predicted": demand["queued_background"] / demand.sum(axis=1),
        }
    )


@claim("D20", cases=(UNSHAPED,))
def measure() -> LinkShares:
    """Apply eq. (13) to random unconstrained rates, and read the instants in ns-3."""
    ideal = np.random.default_rng(0).uniform(0.0, 1.5, (2, CASES))
    zero = np.zeros_like(ideal)
    nodes = Sharing(1.0, 0.0, CAPACITY)
    given = rates(Report(ideal, zero), zero, np.full(ideal.shape, True), nodes)
    return LinkShares(ideal, given, instants())


@measure.judge
def judge(found: LinkShares) -> Judgement:
    """Judge which flow gets the larger share, and whether the others are regulated down."""
    J, ideal, over = found.given, found.ideal, found.over
    ordered = bool(((J[0] - J[1]) * (ideal[0] - ideal[1]) >= 0).all())
    regulated = bool((J[:, over] < ideal[:, over]).all())
    return {
        "larger": model_only(Verdict.of(ordered)),
        "regulated": model_only(Verdict.of(regulated)),
    }


@measure.same_process
def same_process(
    found: LinkShares, *, apart: float = 0.01, congested: float = CONGESTED, level: float = LEVEL
) -> dict[str, Verdict]:
    """Judge the runs of hopflow's own program of eq. (13) in ns-3, which tests that program.

    The instants of a run count once, as most of them are.
    """
    both = found.queued(congested)
    unequal = (found.instants["predicted"] - 0.5).abs() > apart
    agree = found.instants.assign(holds=found.agree)[unequal & both]
    kept = found.instants.assign(holds=found.instants["kept"] < 1.0)[both]
    return {
        key: mostly(instants.groupby("run")["holds"].mean() > 0.5, level)
        for key, instants in (("larger", agree), ("regulated", kept))
    }


@measure.draw
def measured_shares(found: LinkShares) -> Figure:
    """Draw the shares measured over those predicted from the queues."""
    fig, ax = figure(width=4.8, height=4.0)
    rounded = found.instants["time"].round(3)
    for time, colour in zip(sorted(rounded.unique()), COLOURS, strict=False):
        one = found.instants[rounded == time]
        ax.plot(one["predicted"], one["measured"], ".", color=colour, label=f"{time:g} s")
    ax.plot([0, 1], [0, 1], color="gray", lw=0.7)
    ax.axhline(0.5, color="gray", lw=0.5, ls=":")
    ax.axvline(0.5, color="gray", lw=0.5, ls=":")
    x = "share of the background by eq. (13) from the queues"
    label(ax, x, "share of what passed, within 10 ms")
    ax.legend(fontsize=8)
    return fig
