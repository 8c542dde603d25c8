"""Collective operations in steps as tables of flows, each of which starts when those that it needs are complete."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dfcmodel.network.columns import Column
from dfcmodel.network.demands.collectives import (
    PAIR,
    FlowsGiven,
    collective_hosts,
    flows_from,
)
from dfcmodel.network.demands.exchanges import (
    Messages,
    binary_tree,
    halving_doubling,
    pairwise,
    ring,
    ring_all_reduce,
)
from dfcmodel.network.flow_tables import Flows
from hopflow.checks import choice, integer, one_number
from hopflow.keywords import takes_keywords
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ALL_REDUCES", "all_gather", "all_reduce", "all_to_all_rounds", "reduce_scatter"]

ALL_REDUCES: dict[str, Callable[..., Messages]] = {
    "ring": ring_all_reduce,
    "halving-doubling": halving_doubling,
    "tree": binary_tree,
}
"""Algorithms of `all_reduce`."""


@quantities(delay="time")
@takes_keywords(FlowsGiven)
def all_reduce(
    hosts: Iterable[Hashable],
    packets: int,
    algorithm: str = "ring",
    *,
    pieces: int = 1,
    delay: WithUnit = 0.0,
    **given: Unpack[FlowsGiven],
) -> Flows:
    """Return the flows of an all-reduce: at its end each host has the sum of the arrays of all of them.

    Each flow starts when those that brought what it sends are complete at their receivers (`Flow`: ``after``).

    Parameters
    ----------
    hosts
        The nodes in the order of the algorithm, N of them, at least two.
    packets
        The array of each host in packets, at least N (``"tree"``: at least ``pieces``). It is divided into chunks whose
        sizes differ by a packet at most.
    algorithm
        ``"ring"``: 2 (N - 1) steps with a flow from each host to the next one, of a chunk of N (Patarasuk and Yuan
        2009). ``"halving-doubling"``: 2 log2 N steps between hosts at half the distance each, N a power of two
        (Thakur, Rabenseifner and Gropp 2005). ``"tree"``: up a binary tree to the first host, and down again.
    pieces
        Pieces that follow each other through the tree, for ``"tree"``.
    delay
        Time from when a host has what it needs to when it sends on, s.
    **given
        ``starts`` of the first flows, ``source``, ``links``, ``routes`` and options, as of `flows_from`. Flows from one host
        to the same other one are one connection: ``routes="ecmp"`` gives them the same path. Operations are added,
        ``first + second``: then each has connections of its own.

    Raises
    ------
    ValueError
        For an unknown algorithm, hosts or packets that it cannot divide, pieces where it has none, and flows between
        interfaces of one server, which do not take a `rail_optimized` fabric.

    Examples
    --------
    >>> from dfcmodel import Cable, Fabric, PFC, Packets, all_reduce, simulate
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4), discipline=PFC(counts="switch"))
    >>> flows = all_reduce(fabric.hosts, 800, source=FixedRate(), links=fabric.links)
    >>> len(flows), flows[8].after
    (112, (7,))
    >>> run = simulate(fabric.scenario("all-reduce", flows, duration=1e-2), Packets(seed=1))
    >>> bool(run.finished.max() > 14 * 100 * 1500 * 8 / 100e9)  # steps of 100 packets
    True
    """
    choice("algorithm", algorithm, tuple(ALL_REDUCES))
    pieces = integer("pieces", pieces, 1, 10**6)
    more = () if algorithm != "tree" else (pieces,)
    if algorithm != "tree" and pieces != 1:
        raise ValueError(f"pieces = {pieces!r}: must be 1 for algorithm = {algorithm!r}")
    return _flows_of(hosts, lambda N: ALL_REDUCES[algorithm](N, packets, *more), delay, {**given})


@quantities(delay="time")
@takes_keywords(FlowsGiven)
def reduce_scatter(
    hosts: Iterable[Hashable], packets: int, *, delay: WithUnit = 0.0, **given: Unpack[FlowsGiven]
) -> Flows:
    """Return the flows of a reduce-scatter around a ring: at its end each host has a chunk of the sum.

    Parameters
    ----------
    hosts, packets, delay, **given
        As of `all_reduce`; N - 1 steps.

    Examples
    --------
    >>> from dfcmodel import Fabric, reduce_scatter
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> len(reduce_scatter(fabric.hosts, 80, source=FixedRate(), links=fabric.links))
    56
    """
    return _flows_of(hosts, lambda N: ring(N, packets), delay, {**given})


@quantities(delay="time")
@takes_keywords(FlowsGiven)
def all_gather(hosts: Iterable[Hashable], packets: int, *, delay: WithUnit = 0.0, **given: Unpack[FlowsGiven]) -> Flows:
    """Return the flows of an all-gather around a ring: at its end each host has the chunks of all of them.

    They are those of `reduce_scatter`: between the same hosts, of the same sizes, in the same order.

    Parameters
    ----------
    hosts, packets, delay, **given
        As of `all_reduce`; ``packets`` of all chunks together.

    Examples
    --------
    >>> from dfcmodel import Fabric, all_gather
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> all_gather(fabric.hosts, 80, source=FixedRate(), links=fabric.links)[0].size
    10
    """
    return reduce_scatter(hosts, packets, delay=delay, **given)


@quantities(delay="time")
@takes_keywords(FlowsGiven)
def all_to_all_rounds(
    hosts: Iterable[Hashable], packets: int, *, delay: WithUnit = 0.0, **given: Unpack[FlowsGiven]
) -> Flows:
    """Return the flows of an all-to-all in N - 1 rounds: in round r each host sends to the r-th one after it.

    A host begins a round when it has sent and received that before. `all_to_all` starts all flows at once.

    Parameters
    ----------
    hosts, delay, **given
        As of `all_reduce`.
    packets
        From each host to each other one.

    Examples
    --------
    >>> from dfcmodel import Fabric, all_to_all_rounds
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> flows = all_to_all_rounds(fabric.hosts, 10, source=FixedRate(), links=fabric.links)
    >>> len(flows), flows[8].path[-1], flows[8].after
    (56, ('host', 2), (0, 7))
    """
    return _flows_of(hosts, lambda N: pairwise(N, packets), delay, {**given})


def _flows_of(
    hosts: Iterable[Hashable],
    messages: Callable[[int], Messages],
    delay: float,
    given: dict[str, Any],
) -> Flows:
    """Return the flows of the messages of an operation between some hosts."""
    for name in ("sizes", "after", "delays"):
        if name in given:
            raise TypeError(f"{name}: must not be given, the operation has its own")
    ends, given = collective_hosts(hosts, given)
    delay = one_number("delay", delay, at_least=0.0, at_most=1e5, hint="in s")
    starts = one_number("starts", given.pop("starts", 0.0), at_least=0.0, hint="in s, one number")
    found = messages(len(ends))
    source, target = (Column(ends, each, len(each)) for each in (found.source, found.target))
    waits = (found.after >= 0).any(axis=1)
    given = {"entropy": PAIR, **given}
    times = np.where(waits, delay, starts)
    return flows_from(source, target, found.size, times, after=found.after, **given)
