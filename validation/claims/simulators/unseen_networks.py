"""The fluid engine against packets on 24 networks, and on some of 30 fresh ones (S08).

The fluid was tuned on the half of the 24 that was not set aside. Of the fresh networks, which nothing was tuned to, those are run here
whose cost is small; all of them are run by ``python -m benchmarks.fresh_networks``.
"""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.levels.accuracies import measured_accuracies
from hopflow import maximum, where
from responsefn import AIMD, WindowRule
from validation.checks import claim
from validation.display.drawing import BLUE, GREEN, GREY, RED, errorbars, label, panels
from validation.judgements.verdicts import Judgement, Verdict, model_only
from validation.networks.network_comparison import (
    FIRST,
    JOINT,
    LOSSES,
    SHARES,
    SPREAD,
    WORST,
    Differences,
    Limits,
    compare,
    criteria,
)
from validation.networks.network_runs import CASE, FRESH_CASE, fluid
from validation.networks.random_networks import FRESH
from validation.networks.unseen_networks import NETWORKS, SEEDS, SET_ASIDE, Network
from validation.statistics import CONFIDENCE, LEVEL, covers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWS, RUNS = 4, 6
"""Most flows of the fresh networks run here, of which there is one of each topology, and seeds of each."""
MIXED = "newreno-cubic"
"""Of NewReno and CUBIC, which repairs losses by SACK, as in ns-2's TCP/Linux."""
COVERAGE_SLACK = 0.1
"""By how much the part of intervals that cover may be below what they say."""
GENTLE = "newreno-aimd"
"""Of NewReno and AIMD; ns-2's ``decrease_num_`` is not that of the first loss."""


@dataclass(frozen=True)
class Comparison:
    """Both halves of the networks.

    Attributes
    ----------
    aside, other
        The half that was set aside, and the other.
    chains, together, plain
        The chains of that other half, as they are, with ``Fluid(whole_losses=False)`` (every flow loses
        its part of an overflow) and with ``Fluid(store_and_forward=False)``.
    partial
        The network of NewReno and CUBIC where CUBIC, too, repairs one loss per round trip, as NewReno does.
    halving
        The network of NewReno and AIMD, with the AIMD of ns-2's agent.
    fresh
        The fresh networks `drawn`, the first `RUNS` seeds.
    """

    aside: Differences
    other: Differences
    chains: Differences
    together: Differences
    plain: Differences
    partial: Differences
    halving: Differences
    fresh: Differences

    def judged(self, network: str) -> Differences:
        """Return what was found on one of the networks set aside, as it is judged."""
        shares, networks = (table[table["network"] == network] for table in (self.aside.shares, self.aside.networks))
        return Differences(shares, networks, self.aside.seeds)

    @property
    def standard(self) -> Differences:
        """The network of NewReno and CUBIC where CUBIC repairs losses by SACK, as its rule says."""
        return self.judged(MIXED)

    @property
    def gentle(self) -> Differences:
        """The network of NewReno and AIMD with AIMD at every loss."""
        return self.judged(GENTLE)


def drawn() -> list[Network]:
    """Return of each topology the fresh network with the smallest SHA-256 among those with few flows."""
    small = [network for network in FRESH.values() if len(network.scenario.flows) <= FLOWS]
    small.sort(key=lambda network: hashlib.sha256(network.name.encode()).hexdigest())
    return list({network.topology: network for network in reversed(small)}.values())


class HalvingAIMD(WindowRule):
    """AIMD(a, b) as ns-2's agent has it: the first loss, and the first after a timeout, halves the window."""

    class State(NamedTuple):
        """Window and threshold in packets; 1 until the first loss, and from a timeout to the next loss."""

        cwnd: float = 2.0
        ssthresh: float = math.inf
        first: float = 1.0

    class Params(NamedTuple):
        """Increase in packets per round trip, decrease as a fraction."""

        a: float = 1.0
        b: float = 0.5

    recovery = "newreno"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:  # noqa: ARG004
        """Slow start below the threshold, a / cwnd above."""
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, q.a / s.cwnd))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:  # noqa: ARG004
        """Keep half at first, then the fraction 1 - b."""
        kept = where(s.first > 0.0, 0.5, 1.0 - q.b) * s.cwnd
        return s._replace(cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept), first=0.0)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:  # noqa: ARG004
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), first=1.0)


def with_rule(network: Network, kind: type[WindowRule], rule: WindowRule) -> Network:
    """Return a network with one kind of rule replaced, to be compared with the same packets."""
    flows = (replace(flow, source=rule) if isinstance(flow.source, kind) else flow for flow in network.scenario.flows)
    return replace(network, scenario=replace(network.scenario, flows=tuple(flows)))


def halving(network: Network) -> Network:
    """Return a network of one AIMD with that of ns-2's agent in its place."""
    (rule,) = {f.source for f in network.scenario.flows if isinstance(f.source, AIMD)}
    return with_rule(network, AIMD, HalvingAIMD(rule.params.a, rule.params.b))


@claim("S08", cases=(CASE, FRESH_CASE))
def measure() -> Comparison:
    """Run the fluid on the networks, and without two refinements on those not set aside."""
    aside = [network for name, network in NETWORKS.items() if name in SET_ASIDE]
    other = [network for name, network in NETWORKS.items() if name not in SET_ASIDE]
    chains = [network for network in other if network.topology == "chain"]
    return Comparison(
        aside=compare(aside),
        other=compare(other),
        chains=compare(chains),
        together=compare(chains, functools.partial(fluid, whole_losses=False)),
        plain=compare(chains, functools.partial(fluid, store_and_forward=False)),
        partial=compare([replace(NETWORKS[MIXED], recovery="newreno")]),
        halving=compare([halving(NETWORKS[GENTLE])]),
        fresh=compare(drawn(), seeds=SEEDS[:RUNS]),
    )


@measure.judge
def judge(
    found: Comparison,
    *,
    shares: float = SHARES,
    worst: float = WORST,
    losses: float = LOSSES,
    first: float = FIRST,
    ratio: float = SPREAD,
    slack: float = COVERAGE_SLACK,
    level: float = LEVEL,
) -> Judgement:
    """Judge the networks that were set aside, and fresh ones by what few runs can tell."""
    limits = Limits(shares, worst, losses, first, ratio)
    model_error = measured_accuracies()["fluid"].half_width
    met, fresh = criteria(found.aside, limits=limits), criteria(found.fresh, model_error, limits)
    judged = {key: Verdict.of(holds) for key, holds in met.items()}
    judged |= {f"fresh-{key}": Verdict.of(fresh[key]) for key in ("worst", "losses", "first")}
    judged["interval"] = covers(found.aside.covered(0.0), CONFIDENCE, slack, level)
    judged["fresh-interval"] = covers(found.fresh.covered(model_error), CONFIDENCE, slack, level)
    return {key: model_only(verdict) for key, verdict in judged.items()}


@measure.draw
def shares_beside_packets(found: Comparison) -> Figure:
    """Draw the fluid's shares over ns-2's, and the losses and first losses by network."""
    import pandas as pd

    fig, axes = panels(("goodput shares", "losses and first losses"), 9.0, 4.8, sharey=False)
    halves = {
        "not set aside": (found.other, BLUE),
        "set aside": (found.aside, RED),
        "fresh": (found.fresh, GREEN),
    }
    for name, (half, colour) in halves.items():
        rows = half.shares
        style = {"color": colour, "label": name}
        errorbars(axes[0], rows["packets"], rows["fluid"], JOINT * rows["error"], **style)
    axes[0].axline((0, 0), slope=1.0, color=GREY, lw=0.8)
    axes[0].legend(fontsize=8)
    label(axes[0], "in ns-2", "in the fluid")
    marks = {"fresh": " (fresh)"}
    tables = (
        half.networks.assign(network=half.networks["network"] + marks.get(name, ""))
        for name, (half, _) in halves.items()
    )
    networks = pd.concat(list(tables))
    places = np.arange(len(networks))
    for shift, name, values in (
        (-0.2, "losses", networks["ratio"] - 1.0),
        (0.2, "first loss", networks["later"]),
    ):
        axes[1].barh(places + shift, 100.0 * values, 0.4, label=name)
    axes[1].set_yticks(places, networks["network"], fontsize=6)
    axes[1].invert_yaxis()
    axes[1].axvline(0.0, color="black", lw=0.8)
    label(axes[1], "fluid over ns-2, less one (%)")
    axes[1].legend(fontsize=8)
    return fig
