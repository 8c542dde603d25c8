"""Collective operations in steps, as tables of flows that start when their predecessors are complete."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.demands.collectives import (
    PAIR,
    FlowOptions,
    Routing,
    build_flows,
    collective_hosts,
    options_of,
)
from dfcmodel.network.demands.exchanges import (
    Messages,
    binary_tree,
    halving_doubling,
    pairwise,
    refuse_bytes,
    ring,
    ring_all_reduce,
)
from dfcmodel.network.flows import Flows
from dfcmodel.network.links import Column
from hopflow.checks import choice, refuse_options
from hopflow.deprecations import takes_options
from hopflow.parameters import param, refuse_unused, validate_parameters
from hopflow.units import WithUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from dfcmodel.network.endpoints.sources import Source
    from dfcmodel.network.links import Link

__all__ = ["ALL_REDUCES", "CollectiveOptions", "all_gather", "all_reduce", "all_to_all_rounds", "reduce_scatter"]

ALL_REDUCES: dict[str, Callable[..., Messages]] = {
    "ring": ring_all_reduce,
    "halving-doubling": halving_doubling,
    "tree": binary_tree,
}
"""Algorithms of `all_reduce`."""


@validate_parameters
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CollectiveOptions(FlowOptions):
    """Options of `all_reduce`, `reduce_scatter`, `all_gather` and `all_to_all_rounds`, and of their flows.

    Parameters
    ----------
    pieces
        Pieces that follow each other through the tree of ``all_reduce(algorithm="tree")``. A piece leaves when the one
        before has been delivered, so that each costs the delay of the path once.
    delay
        Time from the arrival of a host's data to its next send, s.
    starts
        Start of the first flows, s, one number.
    names, max_window, host, priority, delayed_acks, pacing, idle, random_idle, stop, handshake, arrivals, weight
        As for `FlowOptions`.
    after, delays, initial_window, ssthresh, quick_acks, ttl, segments, receiver, entropy
        As for `FlowOptions`; ``after`` and ``delays`` come from the operation.

    Examples
    --------
    >>> from dfcmodel import CollectiveOptions
    >>> CollectiveOptions(delay="1us", host="nic")
    CollectiveOptions(host='nic', delay=1e-06)
    """

    pieces: int = param(1, at_least=1, at_most=10**6)
    delay: WithUnit = param(0.0, "time", at_least=0.0, at_most=1e5, hint="in s")
    starts: WithUnit = param(0.0, "time", at_least=0.0, hint="in s, one number")


@takes_options(CollectiveOptions)
@refuse_options(sizes="must not be given, the operation has its own")
def all_reduce(
    hosts: Iterable[Hashable],
    packets: int,
    algorithm: str = "ring",
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return the flows of an all-reduce of arrays of ``packets`` packets, after which each host has their sum.

    Each flow starts when the flows that delivered its data are complete at their receivers (`Flow`: ``after``). A host
    does not wait for its own message of the step before: if that is still being sent, both share the link, and
    `Trajectory.limits` names flows of one pair that do. Ranks of `read_workload` wait for both.

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
    source, links, routes
        As for `flows_from`. Flows from one host to the same other host are one connection: ``routes="ecmp"`` gives them
        the same path. A warning names hosts with several links, of which a connection takes one. The flows of a sum of
        operations, ``first + second``, use separate connections for each operation.
    options
        Pieces of a tree, delay between steps, start, and options of the flows, see `CollectiveOptions`.

    Raises
    ------
    ValueError
        For an unknown algorithm, hosts or packets that it cannot divide, pieces for an algorithm without them, and
        flows between interfaces of one server, which do not take a `rail_optimized` fabric.

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
    stated = options_of(options, CollectiveOptions)
    pieces = stated.pop("pieces", 1)
    more = () if algorithm != "tree" else (pieces,)
    if algorithm != "tree" and pieces != 1:
        raise ValueError(f"pieces = {pieces!r}: must be 1 for algorithm = {algorithm!r}")
    stated |= {"source": source, "links": links, "routes": routes}
    return _operation_flows(hosts, packets, lambda N: ALL_REDUCES[algorithm](N, packets, *more), stated)


@takes_options(CollectiveOptions)
@refuse_options(sizes="must not be given, the operation has its own")
def reduce_scatter(
    hosts: Iterable[Hashable],
    packets: int,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return the flows of a reduce-scatter of arrays of ``packets`` packets on a ring; a host gets a chunk of the sum.

    Parameters
    ----------
    hosts, packets, source, links, routes, options
        As for `all_reduce`; N - 1 steps.

    Examples
    --------
    >>> from dfcmodel import Fabric, reduce_scatter
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> len(reduce_scatter(fabric.hosts, 80, source=FixedRate(), links=fabric.links))
    56
    """
    stated = _without_pieces(options) | {"source": source, "links": links, "routes": routes}
    return _operation_flows(hosts, packets, lambda N: ring(N, packets), stated)


@takes_options(CollectiveOptions)
@refuse_options(sizes="must not be given, the operation has its own")
def all_gather(
    hosts: Iterable[Hashable],
    packets: int,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return the flows of an all-gather around a ring; ``packets`` is the size of the whole array, of all chunks.

    They equal the flows of `reduce_scatter`: the same hosts, sizes and order.

    Parameters
    ----------
    hosts, packets, source, links, routes, options
        As for `all_reduce`; ``packets`` of all chunks together.

    Examples
    --------
    >>> from dfcmodel import Fabric, all_gather
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> all_gather(fabric.hosts, 80, source=FixedRate(), links=fabric.links)[0].size
    10
    """
    return reduce_scatter(hosts, packets, source=source, links=links, routes=routes, options=options)


@takes_options(CollectiveOptions)
@refuse_options(sizes="must not be given, the operation has its own")
def all_to_all_rounds(
    hosts: Iterable[Hashable],
    packets: int,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return the flows of an all-to-all in N - 1 rounds: in round r a host sends ``packets`` to the r-th host after it.

    A host begins a round when it has sent and received the previous round's messages. `all_to_all` starts all flows at
    once.

    Parameters
    ----------
    hosts, source, links, routes, options
        As for `all_reduce`.
    packets
        Packets from each host to each other host.

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
    stated = _without_pieces(options) | {"source": source, "links": links, "routes": routes}
    return _operation_flows(hosts, packets, lambda N: pairwise(N, packets), stated)


def _without_pieces(options: FlowOptions | None) -> dict[str, Any]:
    """Return the stated options as a dict; TypeError if ``pieces`` is stated, which only trees have."""
    stated = options_of(options, CollectiveOptions)
    if options is not None:
        refuse_unused(options, pieces="only in all_reduce(algorithm='tree')")
    return stated


def _operation_flows(
    hosts: Iterable[Hashable], packets: int, exchange: Callable[[int], Messages], stated: dict[str, Any]
) -> Flows:
    """Return the flows of ``exchange(number of hosts)``; pop delay, starts of ``stated``; ``packets``: only checked.

    ``packets`` is only checked. ``stated``: source, links and routes, and the fields of `CollectiveOptions` without
    pieces.
    """
    for name in ("after", "delays"):
        if name in stated:
            raise TypeError(f"{name}: must not be given, the operation has its own")
    delay, starts = stated.pop("delay", 0.0), stated.pop("starts", 0.0)
    nodes, arguments = collective_hosts(hosts, stated)
    refuse_bytes(packets, getattr(arguments["links"], "packet_size", None))
    messages = exchange(len(nodes))
    source, target = (Column(nodes, indices, len(indices)) for indices in (messages.source, messages.target))
    waits = (messages.after >= 0).any(axis=1)
    times = np.where(waits, delay, starts)
    arguments = {"entropy": PAIR, **arguments}
    return build_flows(source, target, messages.size, times, after=messages.after, **arguments)
