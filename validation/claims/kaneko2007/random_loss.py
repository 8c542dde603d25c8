"""TCP-Fusion alone under random loss (K01)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Jitter, PathOptions, SenderOptions, coexist
from hopflow.intervals import t_quantile
from hopflow.units import mbps
from responsefn import DirectSimulation, Independent, simulate_rule
from validation import evidence
from validation.checks import claim
from validation.claims.effect_statements import beyond
from validation.claims.kaneko2007 import runs
from validation.display.drawing import COLOURS, figure, label, points
from validation.judgements.judges import NONE, BySimulator
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only, packets_only
from validation.statistics import LEVEL, PART, Estimate, difference, everywhere, of_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NS2 = "kaneko2007/loss-sweep-ns2"
NS3 = ("kaneko2007/loss-sweep-ns3", "kaneko2007/loss-sweep-rare-ns3")
CAPACITY, RTT, BUFFER = mbps(100.0), 0.04, 333.0
"""Packets/s, s, packets: one bandwidth-delay product."""
FUSION = "fusion"
LOSS_RATES = (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
"""Up to 0.01: the window model has no timeouts."""
EVENTS, FEW_EVENTS = 1000, {1e-6: 50, 1e-5: 150}
"""Random losses of a run of the window model; few where they are rare: most losses are then at the buffer."""
LARGEST, TYPICAL, HIGHEST = 1e-2, 1e-3, 0.1
"""Loss rates: the largest of the model, the one that the text quotes, the highest of the slide."""
RECOVERIES = ("rack", "sack", "newreno")
"""Loss recoveries of the packet level: RFC 8985, RFC 6675 and RFC 6582."""
OVERHEAD = 1.0 / CAPACITY
"""Largest random delay of the simulators' runs in s: a packet's transmission time."""
DELAYED = {
    "ns-2": SenderOptions(processing=OVERHEAD),
    "ns-3": SenderOptions(processing=0.0, elements=(Jitter("in->out", OVERHEAD, acks=True),)),
}
"""Where the runs of each simulator have it: in ns-2 at the sender, before a packet is stamped; in ns-3 on the way of
acknowledgements, so that measured round-trip times contain it."""
WINDOW, BEGIN, END, SEEDS = 7000.0, 10.0, 50.0, (1, 2, 3, 4)
"""Of its runs: largest window in packets, times of the measurement in s, seeds."""
INCREASE_RATE, QUEUEING_DELAY = 12e6, 1e-3
"""The slide's W_inc = B / 12 Mbps, and the delay D_min of G = B D_min / (8 packet sizes), s."""
RATES = (100e6, 300e6, 1e9)
"""Rates of the slides' links, bit/s."""
SAME = 0.01
"""Part of the link up to which rates are equal: the figure's axis has the whole link, and a full link is full for every rule."""


Shares = Mapping[float, Mapping[str, Estimate]]
"""Shares of the link, by loss rate and rule."""


@dataclass(frozen=True)
class RandomLoss:
    """Shares of the link of one flow alone under random loss, by loss rate and rule."""

    model: Shares
    ns2: Shares
    ns3: Shares

    def flow(self, p: float, rule: str) -> float:
        """Return the share by a flow packet by packet."""
        return flow_share(rule, p)

    def recovered(self, p: float, rule: str) -> dict[str, Estimate]:
        """Return the shares by a flow packet by packet, by its loss recovery."""
        return {recovery: recovered_share(rule, p, recovery) for recovery in RECOVERIES}

    def packets(self, p: float, rule: str) -> dict[str, Estimate]:
        """Return the shares in packets, by simulator, where they were run."""
        both = {"ns-2": self.ns2.get(p, {}), "ns-3": self.ns3.get(p, {})}
        return {tool: shares[rule] for tool, shares in both.items() if rule in shares}

    @property
    def last(self) -> Mapping[str, Estimate]:
        """ns-3's shares at the highest p."""
        return self.ns3[max(self.ns3)]

    @property
    def best(self) -> str:
        """The rule with the largest share at the highest p."""
        return max(self.last, key=lambda rule: self.last[rule].value)

    @property
    def ahead(self) -> Estimate:
        """By how much the share of that rule exceeds Fusion's."""
        return difference(self.last[self.best], self.last[FUSION])

    @property
    def without_margin(self) -> Verdict:
        """Whether no rule has more than Fusion at the highest p, by ns-3, without a margin."""
        return _over_the_sweep(self, SAME, LEVEL, least=0.0)["heavy"].packets

    @property
    def runner(self) -> str:
        """The rule with the largest share but Fusion at p = 1e-3 in ns-3."""
        shares = {rule: share for rule, share in self.ns3[TYPICAL].items() if rule != FUSION}
        return max(shares, key=lambda rule: shares[rule].value)


@kept
def flow_share(name: str, p: float) -> float:
    """Return the share of the link by a flow packet by packet, with SACK, timers and ns-3's random delays."""
    run = runs.alone(runs.RULES[name], p, RTT, round(BUFFER), BUFFER, DELAYED["ns-3"])
    return float(run.goodput[0]) / CAPACITY


@kept
def recovered_share(name: str, p: float, recovery: str) -> Estimate:
    """Return the share of the link by a flow packet by packet with a loss recovery, over some seeds."""
    rates = [
        coexist(
            runs.RULES[name], RTT, CAPACITY, round(BUFFER), runs=1,
            options=PathOptions(loss=p, duration=END, warm_up=BEGIN, recovery=recovery, seed=seed),
            senders=replace(DELAYED["ns-3"], max_window=WINDOW),
        ).goodput[0]
        for seed in SEEDS
    ]  # fmt: skip
    return of_runs(np.array(rates) / CAPACITY, PART)


@kept
def model_share(name: str, p: float) -> Estimate:
    """Return the share of the link by the window model: the rule and a drop-tail queue."""
    run = simulate_rule(
        runs.RULES[name],
        p,
        RTT,
        Independent(),
        events=FEW_EVENTS.get(p, EVENTS),
        options=DirectSimulation(bandwidth=CAPACITY, buffer=BUFFER, seed=1),
    )
    error = run.half_width / float(t_quantile(math.inf))
    return Estimate(run.rate / CAPACITY, error / CAPACITY, within=PART)


def packet_shares(*cases: str) -> Shares:
    """Return the shares of the link in packets: means over the seeds."""
    import pandas as pd

    frame = pd.concat([evidence.frame(case) for case in cases])
    found: dict[float, dict[str, Estimate]] = {}
    for p in sorted({float(value) for value in frame["loss_rate"]}):
        rows = frame[frame["loss_rate"] == p]
        of_rules = {name: rows.loc[rows["rule"] == name, "goodput"].to_numpy() for name in runs.RULES}
        found[p] = {name: of_runs(rates / CAPACITY, PART) for name, rates in of_rules.items() if len(rates) > 1}
    return found


@claim("K01", cases=(NS2, *NS3))
def measure() -> RandomLoss:
    """Run the window model over the loss rates of the slide, and read the packet runs."""
    model = {p: {name: model_share(name, p) for name in runs.RULES} for p in LOSS_RATES}
    return RandomLoss(model, packet_shares(NS2), packet_shares(*NS3))


measure.constants_of(runs)


def first(sweep: Iterable[Mapping[str, Estimate]], same: float, level: float, *, least: float | None = None) -> Verdict:
    """Return whether no rule has more than Fusion by more than a part of the link, at each of several loss rates.

    HOLDS where each difference is certain at ``level``. Where Fusion certainly fills the link to ``same``, no rule can have more.

    Parameters
    ----------
    sweep
        Shares of the link by rule, for each loss rate.
    same
        Part of the link up to which rates are equal.
    level
        Probability of calling a difference certain that is none.
    least
        Largest difference that does not count, where the link is not full; None: ``same``.
    """
    partial = [shares for shares in sweep if not _fills(shares[FUSION], same, level)]
    uncounted = same if least is None else least
    return everywhere(
        [_room(shares[FUSION], shares[rule], uncounted) for shares in partial for rule in shares if rule != FUSION],
        level,
    )


def not_below_reno(sweep: Iterable[Mapping[str, Estimate]], same: float, level: float) -> Verdict:
    """Return whether Fusion has no less than Reno alone at each of several loss rates, to a part of the link."""
    return first(
        ({FUSION: shares[FUSION], "reno": shares["reno"]} for shares in sweep if "reno" in shares), same, level
    )


def _fills(share: Estimate, same: float, level: float) -> bool:
    """Return whether a rule certainly has all of the link to a part of it."""
    return beyond(share, 1.0 - same).p_positive() < level


def _room(share: Estimate, other: Estimate, same: float) -> Estimate:
    """Return by how much a rule is above another one that has a part of the link more."""
    return beyond(difference(share, other), -same)


def packets_per_round_trip(rate: float) -> tuple[float, float]:
    """Return Fusion's increase and the bound G of the slide at a rate in bit/s, packets."""
    return rate / INCREASE_RATE, rate * QUEUEING_DELAY / runs.PACKET_BITS


@measure.judge
def judge(found: RandomLoss, *, same: float = SAME, level: float = LEVEL) -> Judgement:
    """Judge whether no rule of the slide has more than Fusion."""
    return _over_the_sweep(found, same, level) | {
        "reno": Sides(*(not_below_reno(each.values(), same, level) for each in (found.model, found.ns3))),
        "increase": model_only(Verdict.of(all(math.isclose(*packets_per_round_trip(rate)) for rate in RATES))),
    }


def _over_the_sweep(found: RandomLoss, same: float, level: float, *, least: float | None = None) -> Judgement:
    """Judge the loss rates of the model, and the highest one."""

    def between(shares: Shares, low: float, high: float) -> Verdict:
        return first((each for p, each in shares.items() if low < p <= high), same, level, least=least)

    return {
        "moderate": Sides(between(found.model, 0.0, LARGEST), between(found.ns3, 0.0, LARGEST)),
        "heavy": packets_only(between(found.ns3, LARGEST, 1.0)),
    }


ANY = "any certain difference counts where the link is not full"
"""A reading of the most efficient: the margin decides at the highest loss rate, where all rules have less than two per cent of the link."""


@measure.readings
def readings(found: RandomLoss, *, same: float = SAME, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge the order of the rates without a margin."""
    return {ANY: _over_the_sweep(found, same, level, least=0.0)}


@measure.simulators
def by_simulator(found: RandomLoss, *, same: float = SAME, level: float = LEVEL) -> BySimulator:
    """Judge ns-3 alone: ns-2 has no Fusion."""
    judged = {"": judge(found, same=same, level=level)} | readings(found, same=same, level=level)
    return {
        name: {key: {"ns-3": sides.packets} for key, sides in judgement.items() if sides.packets is not NONE}
        for name, judgement in judged.items()
    }


@measure.draw
def shares_of_the_link(found: RandomLoss) -> Figure:
    """Draw the shares over the loss rate, by rule."""
    fig, ax = figure(6.4, 4.2)
    for n, (rule, colour) in enumerate(zip(runs.RULES, COLOURS, strict=True)):
        ax.plot(
            LOSS_RATES,
            [found.model[p][rule].value for p in LOSS_RATES],
            color=colour,
            label=runs.NAMES[rule],
        )
        for shares, filled in ((found.ns2, "none"), (found.ns3, colour)):
            seen = {p: each[rule] for p, each in shares.items() if rule in each}
            if seen:
                points(ax, list(seen), list(seen.values()), n, markerfacecolor=filled)
    label(ax, "packet loss rate (1)", "share of the link (1)", log="xy")
    ax.legend(fontsize=8)
    return fig
