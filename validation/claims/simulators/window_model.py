"""The window model against packets: every rule under independent loss (S06)."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from responsefn import (
    ARENO,
    CTCP,
    CUBIC,
    FAST,
    HSTCP,
    Fusion,
    Independent,
    LinuxBIC,
    LinuxHTCP,
    LinuxIllinois,
    LinuxScalable,
    LinuxVegas,
    Reno,
    WestwoodPlus,
    WindowRule,
    simulate_rule,
)
from validation import evidence
from validation.checks import claim
from validation.claims.kaneko2007.random_loss import BUFFER, CAPACITY, NS2, NS3, RTT
from validation.claims.simulators.reno import ENOUGH
from validation.drawing import COLOURS, errorbars, label, panels
from validation.statistics import of_runs, within
from validation.verdicts import Judgement, packets_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BY_LOSS: dict[str, WindowRule] = {
    "reno": Reno(),
    "compound": CTCP(),
    "highspeed": HSTCP(table=1),
    "bic": LinuxBIC(),
    "cubic": CUBIC(),
    "htcp": LinuxHTCP(),
    "scalable": LinuxScalable(),
}
"""Rules that see losses and the time, by their names in the data: Linux's modules where responsefn has
them, HSTCP with RFC 3649's table, as both simulators have."""
BY_DELAY: dict[str, WindowRule] = {
    "westwood": WestwoodPlus(),
    "vegas": LinuxVegas(),
    "illinois": LinuxIllinois(),
    "fusion": Fusion(),
    "areno": ARENO(),
    "fast": FAST(alpha=20.0),
}
"""Rules that measure a rate or a queueing delay; FAST with the alpha of the runs."""
IN_NS3: dict[str, WindowRule] = {"bic": LinuxBIC(smooth=5.0, per_ack=1.0)}
"""Where ns-3's rule is another than Linux's module (S05)."""
KINDS = {"rules that go by losses": BY_LOSS, "rules that measure": BY_DELAY}
CASES = {"ns-2": NS2, "ns-3": NS3[0]}
LOSS_RATES = (1e-4, 3e-4, 1e-3, 3e-3)
FULL = 0.95
"""Share of the link above which model and packets agree only because the link is full."""
EVENTS = 16_000
"""Losses of a run of the model: its own error is then about a percent."""
RENO_BELOW, SSTHRESH = 15, 14
"""Packets below which Illinois is Reno, and where the runs leave slow start."""
SETUPS = 0.03, 0.24
"""Smallest and largest difference at p = 1e-3 between two set-ups of ns-2 with the same modules, link,
buffer and p, but other timestamps, noise and initial thresholds; the second is not bundled."""
APART, LEFT_OUT, BETWEEN = 0.15, 0.05, 0.10
"""The tolerance: the effects outside the window model (Reno in ns-2's Sack1 agent, S02) and the
difference between simulators (Reno, S03)."""


@dataclass(frozen=True)
class WindowModel:
    """Goodput in packets over the model's rate by rule, simulator and p.

    Columns tool, rule, p, ratio, error (95 %: of the seeds, and of the model's own random losses).
    """

    ratios: pd.DataFrame

    def of(self, rule: str, tool: str) -> pd.DataFrame:
        """Return the rows of one rule in one simulator."""
        chosen = (self.ratios["rule"] == rule) & (self.ratios["tool"] == tool)
        return self.ratios[chosen]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The rules and simulators that were compared."""
        rows = self.ratios[["rule", "tool"]].drop_duplicates()
        return list(rows.itertuples(index=False, name=None))

    @property
    def medians(self) -> list[float]:
        """Median deviation from 1 of both kinds of rules."""
        deviation = (self.ratios["ratio"] - 1.0).abs()
        kinds = (self.ratios["rule"].isin(rules) for rules in KINDS.values())
        return [float(np.median(deviation[kind])) for kind in kinds]


@functools.cache
def model_rate(rule: WindowRule, p: float) -> tuple[float, float]:
    """Return rate and 95 % half-width, packets/s, of the rule and a drop-tail queue alone."""
    run = simulate_rule(
        rule,
        p,
        RTT,
        Independent(),
        events=EVENTS,
        bandwidth=CAPACITY,
        buffer=BUFFER,
        method="blocks",
        rng=1,
    )
    return run.rate, run.half_width


@claim("S06", cases=tuple(CASES.values()))
def measure() -> WindowModel:
    """Compare the rates of thirteen rules with packet runs at the same independent loss."""
    import pandas as pd

    rows = []
    for tool, case in CASES.items():
        flows = evidence.table(case)
        for (name, rule), p in itertools.product((BY_LOSS | BY_DELAY).items(), LOSS_RATES):
            runs = flows[(flows["rule"] == name) & (flows["loss_rate"] == p)]
            if runs["loss_events"].sum() < ENOUGH:
                continue
            own = IN_NS3.get(name, rule) if tool == "ns-3" else rule
            model, half = model_rate(own, p)
            mean = float(np.mean(runs["goodput"]))
            if min(model, mean) > FULL * CAPACITY:
                continue
            error = np.hypot(2.0 * of_runs(runs["goodput"]).error / mean, half / model)
            error *= mean / model
            rows.append({"tool": tool, "rule": name, "p": p, "ratio": mean / model, "error": error})
    return WindowModel(pd.DataFrame(rows))


@measure.judge
def judge(found: WindowModel, *, apart: float = APART) -> Judgement:
    """Judge every rule in every simulator within a tolerance."""
    rows = {pair: found.of(*pair) for pair in found.pairs}
    return {
        f"{rule}, {tool}": packets_only(within(of["ratio"], of["error"], apart))
        for (rule, tool), of in rows.items()
    }


@measure.draw
def goodput_ratios(found: WindowModel) -> Figure:
    """Draw the ratios over the loss rate for both kinds of rules."""
    fig, axes = panels(tuple(KINDS), height=3.8)
    for ax, rules in zip(axes, KINDS.values(), strict=True):
        for rule, colour in zip(rules, COLOURS, strict=False):
            for tool, fill, mark in (("ns-2", "none", "o-"), ("ns-3", colour, "s-")):
                points = found.of(rule, tool)
                if len(points):
                    style: dict[str, Any] = {"color": colour, "markerfacecolor": fill, "lw": 0.8}
                    name = f"{rule}, {tool}"
                    values = points["p"], points["ratio"], points["error"]
                    errorbars(ax, *values, mark, label=name, **style)
        ax.axhspan(1.0 - APART, 1.0 + APART, color="0.92", zorder=0)
        label(ax, "loss rate p", log="x")
        ax.legend(fontsize=6, ncols=2)
    axes[0].set_ylabel("packets over window model")
    return fig
