"""Runs of the networks that the fluid is judged by: ns-2's, and those of our two levels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Fluid, Packets, simulate
from responsefn import NewReno, Reno, Tahoe
from validation import evidence
from validation.networks.random_networks import FRESH
from validation.networks.unseen_networks import NETWORKS, SEEDS, Network, instance

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

CASE, FRESH_CASE = "packets/unseen-networks-ns2", "packets/fresh-networks-ns2"
CASES = {CASE: NETWORKS, FRESH_CASE: FRESH}
"""Networks that ns-2 ran, by the case of the evidence library."""
STEPS = 4
"""Steps in the shortest delay, the fluid's default, unless they were shorter than a packet's time."""
SAMPLES = 100
"""Samples of a run, between which what was delivered and lost is interpolated."""
OF_NS2 = (Tahoe, Reno, NewReno)
"""Rules that the packet level runs by ns-2's conventions."""


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


def by_group(network: Network, flows: Values) -> Values:
    """Return the sums over the flows of each group, shape (groups,)."""
    names = np.array(network.groups)
    return np.array([flows[names == name].sum() for name in dict.fromkeys(network.groups)])


def as_in_ns2(network: Network) -> bool:
    """Return whether the packet level runs all rules of a network by ns-2's conventions."""
    return all(type(flow.source) in OF_NS2 for flow in network.scenario.flows)


def packet_level(network: Network) -> Packets:
    """Return the packet level with ns-2's conventions, or its own where ns-2 has not all of the rules."""
    convention = "ns2" if as_in_ns2(network) else "standard"
    return Packets(convention=convention, recovery=network.recovery)


def bundled(network: Network) -> str | None:
    """Return the case with ns-2's runs of a network, whatever its senders are here; None: not run by ns-2.

    Names alone do not tell: two of `validation.networks.random_networks.DEVELOPMENT` are called like others.
    """
    for case, networks in CASES.items():
        known = networks.get(network.name)
        if known is not None and known.scenario.links == network.scenario.links:
            return case
    return None


def packets_of(network: Network, seeds: tuple[int, ...] = SEEDS) -> Runs:
    """Return ns-2's runs of a network; of one that ns-2 did not run those of the packet level."""
    case = bundled(network)
    if case is None:
        return runs_of(network, packet_level(network), seeds)
    table = evidence.frame(case)
    return recorded(network, table[table["seed"].isin(seeds)])


def recorded(network: Network, table: pd.DataFrame) -> Runs:
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
def runs_of(network: Network, method: Fluid | Packets, seeds: tuple[int, ...] = SEEDS) -> Runs:
    """Return runs of a network by one of our levels, of the same instances."""
    end = network.scenario.duration
    shares, lost, first = [], [], []
    for seed in seeds:
        drawn = replace(method, seed=seed) if isinstance(method, Packets) else method
        run = simulate(
            instance(network, seed), drawn, packet_jitter=1.0 / network.rate, seed=seed,
            sample=end / SAMPLES,
        )  # fmt: skip
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
    """Return how many steps the shortest delay has: none is shorter than the time of a packet.

    The fluid does not resolve what a single packet meets in a full queue: it loses most of what comes in
    less than a packet's time.
    """
    return max(1, min(STEPS, int(shortest_delay(network) * network.rate)))


def fluid(network: Network, *, store_and_forward: bool = True, whole_losses: bool = True) -> Fluid:
    """Return the fluid as it is by default, with steps for a network, and recovery as its senders have it."""
    return Fluid(
        steps_of(network), store_and_forward=store_and_forward, whole_losses=whole_losses,
        recovery=network.recovery,
    )  # fmt: skip


def shortest_delay(network: Network) -> float:
    """Return the shortest delay of its links, s."""
    return min(link.delay for link in network.scenario.links)


LEVELS: dict[str, Callable[[Network], Fluid | Packets]] = {
    "fluid": fluid,
    "packet level": packet_level,
}
"""Our levels, each as it is judged."""
