"""The window model against packets: every rule under independent loss (S06)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import PathOptions, coexist
from responsefn import (
    ARENO,
    CTCP,
    FAST,
    HSTCP,
    DirectSimulation,
    Fusion,
    Gilbert,
    Reno,
    WindowRule,
    simulate_rule,
)
from responsefn.linux import (
    LinuxBIC,
    LinuxCUBIC,
    LinuxHTCP,
    LinuxIllinois,
    LinuxScalable,
    LinuxVegas,
    WestwoodPlus,
)
from validation import evidence
from validation.checks import claim
from validation.claims.kaneko2007.random_loss import BUFFER, CAPACITY, DELAYED, NS2, NS3, RTT
from validation.claims.simulators.reno import MIN_LOSS_EVENTS
from validation.display.drawing import COLOURS, errorbars, label, panels
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Judgement, model_only
from validation.statistics import of_runs, within

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BY_LOSS: dict[str, WindowRule] = {
    "reno": Reno(),
    "compound": CTCP(),
    "highspeed": HSTCP(table=1),
    "bic": LinuxBIC(kernel="2.6.22"),
    "cubic": LinuxCUBIC(kernel="2.6.22"),
    "htcp": LinuxHTCP(kernel="2.6.22"),
    "scalable": LinuxScalable(kernel="2.6.22"),
}
"""Rules that see losses and the time, by their names in the data: Linux's modules where responsefn has
them, HSTCP with RFC 3649's table, as both simulators have."""
BY_DELAY: dict[str, WindowRule] = {
    "westwood": WestwoodPlus(deferred=0),
    "vegas": LinuxVegas(kernel="2.6.22"),
    "illinois": LinuxIllinois(keeps_beta=1, kernel="2.6.22"),
    "fusion": Fusion(),
    "areno": ARENO(memory=0.85),
    "fast": FAST(alpha=20.0),
}
"""Rules that measure a rate or a queueing delay; FAST with the alpha of the runs, Illinois with the cut of
Linux 2.6.22, ARENO with the memory of its class for ns-3, Westwood+ with its cut at the loss, which is repaired at once."""
IN_NS3: dict[str, WindowRule] = {
    "bic": LinuxBIC(b=0.2, smooth=5.0, per_ack=1.0, remembered=0.8, kernel="2.6.22"),
    "cubic": LinuxCUBIC(C=0.4, b=0.3, per_ack=1.0, kernel="2.6.22"),
}
"""Where ns-3's rule is another than Linux 2.6.22's module: its tcp-bic.cc and tcp-cubic.cc."""
KINDS = {"rules that go by losses": BY_LOSS, "rules that measure": BY_DELAY}
MORE = "kaneko2007/loss-sweep-more-seeds-ns2"
"""Further seeds of Illinois, whose runs differ most."""
CASES = {"ns-2": (NS2, MORE), "ns-3": (NS3[0],)}
LOSS_RATES = (1e-4, 3e-4, 1e-3, 3e-3)
FULL = 0.95
"""Share of the link above which model and packets agree only because the link is full."""
EVENTS, PER_PACKET_EVENT = 4_500, 9
"""Losses of a run of the model: this many at most, and this many for each loss event of the packet runs.

The error of a rate goes as one over the root of the losses: that of the model is a third of that of the packets, which adds five
per cent to their common interval. With 16 for each, a quarter and three per cent, they take twice the time.
"""
SSTHRESH = 333
"""Packets at which the runs leave slow start: the bandwidth-delay product."""
SECONDS, WARM_UP, SEEDS = 100.0, 20.0, range(1, 11)
"""Of the experiments: the times of the runs; twice the seeds of ns-2."""
SETUPS = 0.03, 0.24
"""Smallest and largest difference at p = 1e-3 between two set-ups of ns-2 with the same modules, link,
buffer and p, but other timestamps, noise and initial thresholds; the second is not bundled."""
APART, LEFT_OUT, BETWEEN = 0.15, 0.05, 0.10
"""The tolerance: the effects outside the window model (Reno in ns-2's Sack1 agent, S02) and the
difference between simulators (Reno, S03)."""


RECOVERIES = {"ns-2": "rack", "ns-3": "sack"}
"""Loss recovery packet by packet: ns-2's TCP/Linux notices a retransmission that is lost (Wei and Cao 2006), as RFC 8985 does;
ns-3's SACK waits for the timer then, as RFC 6675 does."""
LARGE = 0.08, 0.15
"""Deviations, of rules that go by losses and of those that measure, above which a rule also runs packet by
packet."""


@dataclass(frozen=True)
class WindowModel:
    """Goodput in packets over the model's rate by rule, simulator and p.

    Columns tool, rule, p, lost (the part of the packets that the runs lost at random), ratio, error (95 %: of the
    seeds, and of the model's own random losses). ``queued`` has the rows farthest off: goodput over that of
    `dfcmodel.coexist` with the same rule, whose packets queue behind each other (ratio, error), and over the
    window model (over_model); ``spread`` is the standard deviation of its seeds over their mean.
    """

    ratios: pd.DataFrame
    queued: pd.DataFrame

    def of(self, rule: str, tool: str) -> pd.DataFrame:
        """Return the rows of one rule in one simulator."""
        chosen = (self.ratios["rule"] == rule) & (self.ratios["tool"] == tool)
        return self.ratios[chosen]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The rules and simulators that were compared."""
        rows = self.ratios[["rule", "tool"]].drop_duplicates()
        return list(rows.itertuples(index=False, name=None))

    def areno(self, tool: str) -> float:
        """Return ARENO's share of the link packet by packet at ns-3's losses, with the random delay of a simulator's runs."""
        row = self.of("areno", "ns-3").iloc[-1]
        rates = queued_rates(rule_of("ns-3", "areno"), row["lost"], "ns-3", tool)
        return float(np.mean(rates)) / CAPACITY

    @property
    def areno_in_ns3(self) -> float:
        """ARENO's share of the link in ns-3 at the same losses."""
        flows = evidence.frame(NS3[0])
        chosen = (flows["rule"] == "areno") & (flows["loss_rate"] == self.of("areno", "ns-3")["p"].iloc[-1])
        return float(flows[chosen]["goodput"].mean()) / CAPACITY

    @property
    def medians(self) -> list[float]:
        """Median deviation from 1 of both kinds of rules."""
        deviation = (self.ratios["ratio"] - 1.0).abs()
        kinds = (self.ratios["rule"].isin(rules) for rules in KINDS.values())
        return [float(np.median(deviation[kind])) for kind in kinds]


@kept
def model_rate(rule: WindowRule, p: float, events: int) -> tuple[float, float]:
    """Return rate and 95 % half-width, packets/s, of the rule and a drop-tail queue alone, over a number of loss events.

    Each packet is lost with probability p; losses within a window are one event, as senders answer them.
    """
    run = simulate_rule(
        rule,
        p,
        RTT,
        Gilbert(burst=1.0 / (1.0 - p)),
        events=events,
        options=DirectSimulation(bandwidth=CAPACITY, buffer=BUFFER, seed=1),
    )
    return run.rate, run.half_width


@kept
def queued_rates(rule: WindowRule, p: float, tool: str, delayed: str = "") -> tuple[float, ...]:
    """Return the goodput of a rule whose packets queue behind each other, packets/s, one per seed.

    Path, random loss, threshold, times, recovery and the random delay (``DELAYED``) are those of a simulator's runs; ``delayed``: the
    simulator whose random delay is taken in its place.
    """
    runs = (
        coexist(
            rule, RTT, CAPACITY, int(BUFFER), runs=1,
            options=PathOptions(loss=p, duration=SECONDS, warm_up=WARM_UP, seed=seed, recovery=RECOVERIES[tool]),
            senders=replace(DELAYED[delayed or tool], ssthresh=SSTHRESH),
        )
        for seed in SEEDS
    )  # fmt: skip
    return tuple(float(run.goodput[0]) for run in runs)


def experiments(ratios: pd.DataFrame, goodputs: list[Any]) -> pd.DataFrame:
    """Return the rows of ``WindowModel.queued``."""
    import pandas as pd

    rows = []
    for row, runs in zip(ratios.to_dict("records"), goodputs, strict=True):
        tool, name, p = row["tool"], row["rule"], row["p"]
        if abs(row["ratio"] - 1.0) <= LARGE[name in BY_DELAY]:
            continue
        rates = queued_rates(rule_of(tool, name), row["lost"], tool)
        packets, ours = of_runs(runs), of_runs(rates)
        ratio = packets.value / ours.value
        error = ratio * 2.0 * np.hypot(packets.error / packets.value, ours.error / ours.value)
        spread = float(np.std(rates, ddof=1)) / ours.value
        rows.append((tool, name, p, row["ratio"], ratio, error, spread))
    return pd.DataFrame(rows, columns=["tool", "rule", "p", "over_model", "ratio", "error", "spread"])


def rule_of(tool: str, name: str) -> WindowRule:
    """Return the rule that a simulator runs by this name."""
    rule = (BY_LOSS | BY_DELAY)[name]
    return IN_NS3.get(name, rule) if tool == "ns-3" else rule


@claim("S06", cases=tuple(case for cases in CASES.values() for case in cases))
def measure() -> WindowModel:
    """Compare the rates of thirteen rules with packet runs at the same independent loss."""
    import pandas as pd

    rows, goodputs = [], []
    for tool, cases in CASES.items():
        flows = pd.concat([evidence.frame(case) for case in cases])
        for name, p in itertools.product(BY_LOSS | BY_DELAY, LOSS_RATES):
            runs = flows[(flows["rule"] == name) & (flows["loss_rate"] == p)]
            seen = int(runs["loss_events"].sum())
            if seen < MIN_LOSS_EVENTS:
                continue
            lost = float(runs["random_drops"].sum() / runs["sent"].sum())
            model, half = model_rate(rule_of(tool, name), lost, min(EVENTS, PER_PACKET_EVENT * seen))
            mean = float(np.mean(runs["goodput"]))
            if min(model, mean) > FULL * CAPACITY:
                continue
            error = np.hypot(2.0 * of_runs(runs["goodput"]).error / mean, half / model)
            error *= mean / model
            ratio = mean / model
            rows.append({"tool": tool, "rule": name, "p": p, "lost": lost, "ratio": ratio, "error": error})
            goodputs.append(runs["goodput"])
    ratios = pd.DataFrame(rows)
    return WindowModel(ratios, experiments(ratios, goodputs))


@measure.judge
def judge(found: WindowModel, *, apart: float = APART) -> Judgement:
    """Judge every rule in every simulator within a tolerance."""
    rows = {pair: found.of(*pair) for pair in found.pairs}
    return {f"{rule}, {tool}": model_only(within(of["ratio"], of["error"], apart)) for (rule, tool), of in rows.items()}


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
        ax.legend(fontsize=8, loc="lower left", ncols=2 if ax is axes[0] else 1)
    axes[0].set_ylabel("packets over window model")
    return fig
