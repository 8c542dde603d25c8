"""The fluid engine against packets on networks that nothing was tuned to (S08)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Fluid, simulate
from responsefn import CUBIC
from validation import evidence
from validation.checks import claim
from validation.drawing import BLUE, GREY, RED, errorbars, label, panels
from validation.random_networks import FRESH
from validation.statistics import CONFIDENCE, LEVEL, quantile
from validation.unseen_networks import NETWORKS, SEEDS, Network, instance
from validation.verdicts import Judgement, Verdict, packets_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from dfcmodel import Trajectory

    Values = NDArray[np.float64]

CASE, FRESH_CASE = "packets/unseen-networks-ns2", "packets/fresh-networks-ns2"
STEPS = 8
"""Steps in a packet's transmission time, within which it is decided which packet meets a full queue."""
SAMPLES = 100
"""Samples of a run, between which what was delivered and lost is interpolated."""
SHARES, WORST, LOSSES, FIRST, SPREAD = 0.02, 0.06, 0.2, 0.05, 1.5
MIXED, MODULE = "newreno-cubic", 819 / 1024
"""Of NewReno and CUBIC, and the part of its window that CUBIC keeps in ns-2's TCP/Linux; RFC 9438: 0.7."""
JOINT = 2.0
"""Standard errors that the worst share may be off besides."""


@dataclass(frozen=True)
class Runs:
    """What the seeds of one network gave, in packets or in the fluid.

    Attributes
    ----------
    shares
        Goodput of each group of flows after the start, over the rate of the bottlenecks; (seeds, groups).
    lost
        Packets lost by all flows, shape (seeds,).
    first
        Time of the first loss of any flow, s, shape (seeds,).
    """

    shares: Values
    lost: Values
    first: Values


@dataclass(frozen=True)
class Half:
    """The fluid beside ns-2 on some of the networks, each over the same seeds.

    Attributes
    ----------
    shares
        By group of flows: columns network, topology, rules, group, packets, fluid (means), difference
        (fluid less packets), error (its standard error over the seeds, whose instances are the same in
        both), spread (standard deviation of the fluid's runs over that of ns-2's).
    networks
        By network: columns network, topology, rules, lost (packets in ns-2, mean), ratio (the fluid's
        losses over them), first (s, mean time of the first loss in ns-2), later (the fluid's over it,
        less one).
    """

    shares: pd.DataFrame
    networks: pd.DataFrame

    @property
    def mean_error(self) -> float:
        """Mean absolute difference of the shares."""
        return float(self.shares["difference"].abs().mean())

    @property
    def chance(self) -> float:
        """Mean absolute difference that the errors alone would make, if they are normal."""
        return float(np.sqrt(2.0 / np.pi) * self.shares["error"].mean())

    @property
    def beyond(self) -> float:
        """Largest difference of a share beyond two joint standard errors; negative: within them."""
        return float((self.shares["difference"].abs() - JOINT * self.shares["error"]).max())

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the 95 % interval of each difference covers zero, shape (shares,)."""
        half = quantile(len(SEEDS) - 1) * self.shares["error"]
        return np.asarray(self.shares["difference"].abs() <= half, dtype=np.bool_)

    @property
    def losses(self) -> float:
        """Largest relative difference of the packets lost."""
        return float((self.networks["ratio"] - 1.0).abs().max())

    @property
    def first(self) -> float:
        """Largest relative difference of the time of the first loss."""
        return float(self.networks["later"].abs().max())

    @property
    def spread(self) -> float:
        """Median of the ratios of the standard deviations of runs, fluid over packets."""
        return float(self.shares["spread"].median())


@dataclass(frozen=True)
class Comparison:
    """Both halves of the networks.

    Attributes
    ----------
    aside, other
        The fresh networks, which are judged, and those that work on the fluid has seen.
    chains, together, plain
        The chains of the others, as they are, with ``Fluid(whole_packets=False)`` (every flow loses
        its part of an overflow) and with ``Fluid(store_and_forward=False)``.
    module
        The network of NewReno and CUBIC, with the part of the window that ns-2's module of CUBIC keeps.
    """

    aside: Half
    other: Half
    chains: Half
    together: Half
    plain: Half
    module: Half

    @property
    def standard(self) -> Half:
        """The network of NewReno and CUBIC with RFC 9438's CUBIC, as it is judged."""
        tables = self.other.shares, self.other.networks
        return Half(*(table[table["network"] == MIXED] for table in tables))


def by_group(network: Network, flows: Values) -> Values:
    """Return the sums over the flows of each group, shape (groups,)."""
    names = np.array(network.groups)
    return np.array([flows[names == name].sum() for name in dict.fromkeys(network.groups)])


def packets_of(network: Network, table: pd.DataFrame) -> Runs:
    """Return ns-2's runs of a network."""
    seconds = network.scenario.duration - network.since
    shares, lost, first = [], [], []
    for _, run in table[table["network"] == network.name].groupby("seed"):
        run = run.sort_values("flow")
        goodput = (run["acknowledged"] - run["acknowledged_since"]).to_numpy() / seconds
        shares.append(by_group(network, goodput / network.rate))
        lost.append(float(run["drops"].sum()))
        first.append(float(run["first_drop"].min()))
    return Runs(np.array(shares), np.array(lost), np.array(first))


@functools.cache
def fluid_of(network: Network, method: Fluid) -> Runs:
    """Return the fluid's runs of a network, with the same randomness."""
    end = network.scenario.duration
    shares, lost, first = [], [], []

    def run_of(seed: int) -> Trajectory:
        return simulate(
            instance(network, seed), method, packet_jitter=1.0 / network.rate, rng=seed,
            sample=end / SAMPLES,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as pool:  # the kernel releases the interpreter's lock
        runs = list(pool.map(run_of, SEEDS))
    for seed, run in zip(SEEDS, runs, strict=True):
        if not run.status.ok:
            raise ArithmeticError(f"{network.name}, seed {seed}: {run.status}")
        gone = np.cumsum(run.lost.sum(axis=(0, 1)))
        times = np.array([network.since, end])
        goodput = [np.diff(np.interp(times, run.time, flow))[0] for flow in run.delivered]
        shares.append(by_group(network, np.array(goodput) / (times[1] - times[0]) / network.rate))
        lost.append(float(np.interp(end, run.time, gone)))
        first.append(float(np.nanmin(run.first_loss)))
    return Runs(np.array(shares), np.array(lost), np.array(first))


def steps_of(network: Network) -> int:
    """Return how many steps the shortest delay has: `STEPS` in a packet's transmission time."""
    shortest = min(link.delay for link in network.scenario.links)
    return math.ceil(STEPS * shortest * network.rate)


def compare(
    networks: Iterable[Network], *, store_and_forward: bool = True, whole_packets: bool = True
) -> Half:
    """Run the fluid on some networks and compare it with ns-2.

    Parameters
    ----------
    networks
        Which to compare.
    store_and_forward, whole_packets
        As for `Fluid`.
    """
    import pandas as pd

    table = pd.concat([evidence.table(CASE), evidence.table(FRESH_CASE)])
    shares, whole = [], []
    for network in networks:
        method = Fluid(
            steps_of(network), store_and_forward=store_and_forward, whole_packets=whole_packets,
            recovery=network.recovery, pipe="fall1996",
        )  # fmt: skip
        packets, fluid = packets_of(network, table), fluid_of(network, method)
        about = {
            "network": network.name, "topology": network.topology, "rules": network.rules,
        }  # fmt: skip
        gaps = fluid.shares - packets.shares
        for n, group in enumerate(dict.fromkeys(network.groups)):
            deviations = [each.shares[:, n].std(ddof=1) for each in (fluid, packets)]
            shares.append(
                {
                    **about, "group": group, "packets": packets.shares[:, n].mean(),
                    "fluid": fluid.shares[:, n].mean(), "difference": gaps[:, n].mean(),
                    "error": gaps[:, n].std(ddof=1) / np.sqrt(len(gaps)),
                    "spread": deviations[0] / deviations[1],
                }
            )  # fmt: skip
        whole.append(
            {
                **about, "lost": packets.lost.mean(), "ratio": fluid.lost.mean() / packets.lost.mean(),
                "first": packets.first.mean(),
                "later": fluid.first.mean() / packets.first.mean() - 1.0,
            }
        )  # fmt: skip
    return Half(pd.DataFrame(shares), pd.DataFrame(whole))


def of_module() -> Network:
    """Return the network of NewReno and CUBIC with the CUBIC of ns-2's TCP/Linux."""
    network = NETWORKS[MIXED]
    flows = (
        replace(flow, source=CUBIC(beta=MODULE)) if isinstance(flow.source, CUBIC) else flow
        for flow in network.scenario.flows
    )
    return replace(network, scenario=replace(network.scenario, flows=tuple(flows)))


@claim("S08", cases=(CASE, FRESH_CASE))
def measure() -> Comparison:
    """Run the fluid on all networks, and without two refinements on chains."""
    chains = [network for network in NETWORKS.values() if network.topology == "chain"]
    return Comparison(
        aside=compare(FRESH.values()),
        other=compare(NETWORKS.values()),
        chains=compare(chains),
        together=compare(chains, whole_packets=False),
        plain=compare(chains, store_and_forward=False),
        module=compare([of_module()]),
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
) -> Judgement:
    """Judge the fresh networks."""
    from scipy.stats import binom

    aside = found.aside
    covered = binom.cdf(aside.inside.sum(), len(aside.inside), CONFIDENCE)
    verdicts = {
        "shares": Verdict.of(aside.mean_error <= shares),
        "worst": Verdict.of(aside.beyond <= worst),
        "losses": Verdict.of(aside.losses <= losses),
        "first": Verdict.of(aside.first <= first),
        "spread": Verdict.of(1.0 / ratio <= aside.spread <= ratio),
        "interval": Verdict.of(bool(covered >= LEVEL)),
    }
    return {key: packets_only(verdict) for key, verdict in verdicts.items()}


@measure.draw
def shares_beside_packets(found: Comparison) -> Figure:
    """Draw the fluid's shares over ns-2's, and the losses and first losses by network."""
    import pandas as pd

    fig, axes = panels(("goodput shares", "losses and first losses"), 9.0, 3.8, sharey=False)
    halves = {"seen before": (found.other, BLUE), "fresh": (found.aside, RED)}
    for name, (half, colour) in halves.items():
        rows = half.shares
        style = {"color": colour, "label": name}
        errorbars(axes[0], rows["packets"], rows["fluid"], JOINT * rows["error"], **style)
    axes[0].axline((0, 0), slope=1.0, color=GREY, lw=0.8)
    axes[0].legend(fontsize=8)
    label(axes[0], "in ns-2", "in the fluid")
    networks = pd.concat([half.networks for half, _ in halves.values()])
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
