"""The rules that ns-2's TCP/Linux and ns-3 share: alone under loss, and in company (S05)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation import evidence
from validation.checks import claim
from validation.claims.simulators.reno import APART, LINUX, MIN_LOSS_EVENTS, NS3
from validation.display.drawing import COLOURS, errorbars, figure, label
from validation.judgements.verdicts import Judgement, Verdict, packets_only
from validation.statistics import within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SAME_WINDOW_RULES = ("highspeed", "cubic", "compound")
"""Rules whose windows should be the same; BIC's should be larger in ns-3."""
RULES = (*SAME_WINDOW_RULES, "bic")
TOLERANCE = 0.25
LARGEST = 0.01
SHARES = {
    "small-bdp": ("small-bdp", ["rule"]),
    "pairs": ("pairs-friendly", ["first", "second"]),
    "pairs with HSTCP, BIC and CUBIC": ("pairs", ["first", "second"]),
    "three flows": ("three-flows", ["rule"]),
    "RTT 20 ms against": ("rtt-fairness", ["rule", "long_rtt"]),
}
"""Cases with several flows in both simulators, and the columns in which their runs differ."""


@dataclass(frozen=True)
class TwoSimulators:
    """Goodput in ns-3 over that in ns-2.

    Attributes
    ----------
    alone
        Columns rule, loss_rate, ratio, error (twice the standard error).
    company
        Share of flow 1 in the goodput: columns what, mean_ns2, sem_ns2, mean_ns3, sem_ns3.
    """

    alone: pd.DataFrame
    company: pd.DataFrame

    def of(self, *rules: str) -> pd.DataFrame:
        """Return the ratios of some rules up to a loss rate of 0.01."""
        chosen = self.alone["rule"].isin(rules) & (self.alone["loss_rate"] <= LARGEST)
        return self.alone[chosen]

    @property
    def gaps(self) -> pd.Series[float]:
        """Differences of the shares of flow 1, by setting."""
        values = (self.company["mean_ns3"] - self.company["mean_ns2"]).abs()
        return values.set_axis(self.company["what"])


def ratios() -> pd.DataFrame:
    """Return ns-3's goodput over ns-2's by rule and loss rate, with twice its standard error."""
    import pandas as pd

    found = []
    for case, name in ((LINUX, "ns2"), (NS3, "ns3")):
        flows = evidence.frame(case, "flows")
        grouped = flows[flows["rule"].isin((*RULES, "reno"))].groupby(["rule", "loss_rate"])
        measured = grouped["goodput"].agg(["mean", "sem"]).add_suffix(f"_{name}")
        found.append(measured[grouped["loss_events"].sum() >= MIN_LOSS_EVENTS])
    both = pd.concat(found, axis=1).dropna().reset_index()
    both["ratio"] = both["mean_ns3"] / both["mean_ns2"]
    both["error"] = (2.0 * both["ratio"]) * np.hypot(
        both["sem_ns2"] / both["mean_ns2"], both["sem_ns3"] / both["mean_ns3"]
    )
    return both


def first_shares() -> pd.DataFrame:
    """Return the share of flow 1 in the goodput of its run, in both simulators."""
    import pandas as pd

    found = []
    for setting, (name, factors) in SHARES.items():
        linux = f"kaneko2007/{'pairs' if name.startswith('pairs') else name}-ns2"
        sides = []
        for case, side in ((linux, "_ns2"), (f"kaneko2007/{name}-ns3", "_ns3")):
            flows = evidence.frame(case, "flows").set_index([*factors, "seed", "flow"])["goodput"]
            one = flows.xs(1, level="flow") / flows.groupby(level=[*factors, "seed"]).sum()
            sides.append(one.groupby(level=factors).agg(["mean", "sem"]).add_suffix(side))
        both = pd.concat(sides, axis=1, join="inner").reset_index()
        both["what"] = setting + ": " + both[factors].astype(str).agg(", ".join, axis=1)
        rules = both[[c for c in factors if c != "long_rtt"]]
        both = both[rules.isin((*RULES, "reno")).all(axis=1)]
        found.append(both[["what", "mean_ns2", "sem_ns2", "mean_ns3", "sem_ns3"]])
    return pd.concat(found, ignore_index=True)


@claim("S05", cases=(LINUX, NS3))
def measure() -> TwoSimulators:
    """Read the rules' goodput alone, and their shares in company."""
    return TwoSimulators(ratios(), first_shares())


@measure.judge
def judge(found: TwoSimulators, *, tolerance: float = TOLERANCE, apart: float = APART) -> Judgement:
    """Judge whether three rules have the same window, and BIC a larger one in ns-3."""
    bic = found.of("bic")
    larger = (bic["ratio"] - bic["error"] > 1.0).any()
    equal = (bic["ratio"] + bic["error"] < 1.0 + apart).all()
    same = {rule: found.of(rule) for rule in SAME_WINDOW_RULES}
    return {rule: packets_only(within(of["ratio"], of["error"], tolerance)) for rule, of in same.items()} | {
        "bic": packets_only(Verdict.of(bool(larger), bool(equal)))
    }


@measure.draw
def goodput_ratios(found: TwoSimulators) -> Figure:
    """Draw the ratios over the loss rate, by rule."""
    fig, ax = figure()
    rules = found.alone.groupby("rule")
    for (rule, of), colour, mark in zip(rules, COLOURS, "osv^D", strict=False):
        style = {"color": colour, "label": rule}
        errorbars(ax, of["loss_rate"], of["ratio"], of["error"], f"{mark}-", **style)
    ax.axhspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color="0.9")
    label(ax, "loss rate p", "ns-3's goodput / ns-2's", log="x")
    ax.legend(fontsize=8)
    return fig
