"""Lower bounds on completion times: the empty network, and the capacity of each link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.arrivals import Replay
from dfcmodel.network.networks import Scenario
from hopflow.checks import instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "CompletionBounds",
    "bounds_around_failures",
    "completion_bounds",
    "empty_network_times",
    "transfer_sizes",
    "transfers",
]

TRACES = ("source", "arrivals")
"""Options of a flow that may be a `Replay`."""


@dataclass(frozen=True)
class CompletionBounds:
    """Earliest instants, s from the run's start, at which transfers can complete, as `completion_bounds` returns them.

    Attributes
    ----------
    finished
        Bound of each flow, s from the start of the run, shape (F,); nan: no transfer.
    job
        Bound of the last transfer, s; nan without transfers.
    link
        Name of the link that determines ``job``; empty: the delays of a flow, or of a chain of flows, do.
    sprayed
        Number of sprayed transfers. ``job`` has the work of their first and last links alone: which packets take which
        of the links between them is the switches' choice. Where these links are slower, ``job`` may be far too low.
    rerouted
        Number of other transfers that failures of links led over further paths, of which the same holds; 0 without a
        run.
    """

    finished: Floats
    job: float
    link: str
    sprayed: int = 0
    rerouted: int = 0


class _Hops(NamedTuple):
    """Times of a packet in an empty network, s: to each hop's queue and from it to the receiver, (H,), in all (F,).

    ``before`` and ``beyond`` exclude the transmission of the hop itself. Shapes (H,), and (F,) for ``total``, the time
    of a packet over the path.
    """

    before: Floats
    beyond: Floats
    total: Floats


def transfers(scenario: Scenario) -> NDArray[np.bool_]:
    """Return flags, (F,), of the transfers: flows with a finite size and without a stop."""
    size, stop = (scenario.table.numbers(name) for name in ("size", "stop"))
    return np.isfinite(size) & np.isinf(stop)


def transfer_sizes(scenario: Scenario) -> Floats:
    """Return the packets that each flow transfers, (F,): its size, or all packets of a trace that has fewer."""
    table = scenario.table
    totals = (table.each(name, lambda trace: trace.total if isinstance(trace, Replay) else np.inf) for name in TRACES)
    return np.asarray(np.minimum.reduce([table.numbers("size"), *totals]))


def empty_network_times(
    scenario: Scenario, sizes: Floats | None = None, *, forwards_whole_packets: bool = True
) -> Floats:
    """Return the time of each transfer alone in the network at its slowest link's rate, s, (F,).

    Parameters
    ----------
    scenario
        The network and its flows.
    sizes
        Packets of each flow, (F,). None: those of `transfer_sizes`.
    forwards_whole_packets
        Whether nodes store and forward packets, as at packet level. The fluid has no packets.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Scenario, chain
    >>> links = chain(3, rate=1e3, delay=1e-2, buffer=10)
    >>> one = Scenario("one", links, [Flow("a", (1, 2, 3), CBR(1e3), size=5, host="direct")])
    >>> round(float(empty_network_times(one)[0]), 9)  # 5 transmissions, one more at the second link, 20 ms
    0.026
    """
    size = transfer_sizes(scenario) if sizes is None else sizes
    times = _transmission_times(scenario, size, forwards_whole_packets)
    return np.asarray((_hops(scenario).total if forwards_whole_packets else 0.5 * scenario.base_rtts()) + times)


def completion_bounds(scenario: Scenario) -> CompletionBounds:
    """Return lower bounds on the completion of each transfer and of all, for any senders and switches.

    1. A transfer takes at least as long as in an empty network, from its start, or from the earliest possible end of
       its predecessors (`Flow`: ``after``).
    2. A link needs the transmission times of its packets. Consider the transfers whose first packets cannot reach it
       before a time. The last of them ends no earlier than this time, plus their transmissions, plus the shortest time
       that one of them needs beyond the link. The largest such sum over times and links bounds the job.

    Packets that are lost, marked or sent again, ACKs and pauses only add to this. The bounds hold for the routes of the
    flows; those of a run in which links fail are ``job_completion(run).bounds``. Of a sprayed transfer 2 counts the
    first and the last link alone, and 1 the sum of the rates of the links between which its packets choose at a hop.

    Parameters
    ----------
    scenario
        The network and its flows. Flows without a finite size, or with a stop, are ignored. A transfer has the packets
        of its trace (`Replay`) if these are fewer than its size. Other arrivals are assumed to reach the size.

    Examples
    --------
    >>> from dfcmodel import Fabric, PFC, Packets, completion_bounds, incast, simulate
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4), discipline=PFC(counts="switch"))
    >>> flows = incast(fabric.hosts, fabric.hosts[0], sizes=100, source=FixedRate(), links=fabric.links)
    >>> scenario = fabric.scenario("incast", flows, duration=1e-3)
    >>> bound = completion_bounds(scenario)
    >>> bound.link
    "('leaf', 0)->('host', 0)"
    >>> run = simulate(scenario, Packets(seed=1))
    >>> 1.0 <= float(run.finished.max()) / bound.job < 1.02
    True
    """
    return bounds_around_failures(instance("scenario", scenario, Scenario, "a Scenario"), None)


def bounds_around_failures(scenario: Scenario, rerouted: NDArray[np.bool_] | None) -> CompletionBounds:
    """Return `completion_bounds` of a run in which failures led flows with flags ``rerouted``, (F,), over other paths.

    These paths have the first and the last link of the flow, and as many links, of equal rates and delays. None: no
    flow has others.
    """
    chosen = transfers(scenario)
    hops = _hops(scenario)
    ideal = empty_network_times(scenario)
    starts = _earliest_starts(scenario, np.where(chosen, ideal, np.nan))
    finished = np.where(chosen, starts + ideal, np.nan)
    if not chosen.any():
        return CompletionBounds(finished, np.nan, "")
    is_sprayed = scenario.table.each("paths", bool).astype(np.bool_)
    has_others = is_sprayed if rerouted is None else is_sprayed | rerouted
    job, name = float(np.nanmax(finished)), ""
    for n, bound in _link_bounds(scenario, hops, starts, chosen, has_others):
        if bound > job:
            job, name = bound, scenario.links[n].name
    sprayed, others = (int((chosen & flags).sum()) for flags in (is_sprayed, has_others & ~is_sprayed))
    return CompletionBounds(finished, job, name, sprayed, others)


def _is_optional(scenario: Scenario, has_others: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return flags, (H,), of hops that not all packets of a flow take: inner hops of flows with flags ``has_others``.

    These have several paths.
    """
    routes = scenario.routes
    inner = has_others[routes.flow]
    inner[routes.begin] = inner[routes.begin + routes.counts - 1] = False
    return np.asarray(inner)


def _transmission_times(scenario: Scenario, size: Floats, forwards_whole_packets: bool) -> Floats:
    """Return the time, s, (F,), of a flow's packets on its slowest hop, less the first if links forward whole packets.

    The packets of a sprayed flow choose between the links of a hop, which have equal rates and are counted together.
    """
    routes, table, first = scenario.routes, scenario.table, float(forwards_whole_packets)
    rates = scenario.link_table.rates[routes.places]
    is_optional = _is_optional(scenario, table.each("paths", bool).astype(np.bool_))
    ends = np.minimum.reduceat(np.where(is_optional, np.inf, rates), routes.begin)
    times = np.asarray((size - first) * (1.0 / ends))
    for f in np.flatnonzero(np.minimum.reduceat(rates, routes.begin) < ends).tolist():
        paths = (table.path(f), *table.columns["paths"][f])
        for k in range(1, len(paths[0]) - 2):
            per_link = size[f] / len({path[k : k + 2] for path in paths})
            if forwards_whole_packets:
                per_link = np.ceil(per_link) - 1.0
            times[f] = max(times[f], per_link / rates[routes.begin[f] + k])
    return times


def _hops(scenario: Scenario) -> _Hops:
    """Return the times of a packet in an empty network, s, up to and from each hop."""
    routes = scenario.routes
    delay = scenario.link_table.delays
    sending = 1.0 / scenario.link_table.rates
    per_hop = (delay + sending)[routes.places]
    total = np.where(scenario.at_once, 0.0, (delay + sending)[routes.first])
    before = np.empty(len(per_hop))
    for k in range(int(routes.counts.max())):  # hop by hop, so that rounding errors equal those on one path
        at = routes.begin[k < routes.counts] + k
        before[at] = total[k < routes.counts]
        total[k < routes.counts] += per_hop[at]
    beyond = total[routes.flow] - before - sending[routes.places]
    return _Hops(before, beyond, total)


def _earliest_starts(scenario: Scenario, ideal: Floats) -> Floats:
    """Return the earliest start of each flow, s, (F,), nan after one whose duration in ``ideal``, s, (F,), is nan."""
    after = scenario.followers
    delays, starts = after.times(scenario.table.numbers("start"))
    if not len(delays):
        return starts
    missing = after.missing.copy()
    ready = np.flatnonzero(missing == 0)
    while ready.size:  # flows whose predecessors are all known
        finished = starts[ready] + ideal[ready]
        counts = after.begin[ready + 1] - after.begin[ready]
        indices = np.repeat(after.begin[ready] - np.cumsum(counts) + counts, counts)
        pairs = indices + np.arange(int(counts.sum()))
        waiting = after.flow[pairs]
        np.maximum.at(starts, waiting, np.repeat(finished, counts) + delays[pairs])
        np.subtract.at(missing, waiting, 1)
        ready = np.unique(waiting[missing[waiting] == 0])
    return starts


def _link_bounds(
    scenario: Scenario, hops: _Hops, starts: Floats, chosen: NDArray[np.bool_], has_others: NDArray[np.bool_]
) -> Iterator[tuple[int, float]]:
    """Yield the index of each link that chosen flows use, and its lower bound on the last completion, s.

    Of flows with several paths, ``has_others``, only the first and the last link count.
    """
    routes, size = scenario.routes, transfer_sizes(scenario)
    at = np.flatnonzero(chosen[routes.flow] & ~_is_optional(scenario, has_others))
    link, flow = routes.places[at], routes.flow[at]
    arrival, beyond = starts[flow] + hops.before[at], hops.beyond[at]
    order = np.lexsort((-arrival, link))
    first = np.flatnonzero(np.diff(link[order], prepend=-1))
    for begin, end in zip(first, [*first[1:], len(order)], strict=True):
        on_link = order[begin:end]
        n = int(link[on_link[0]])
        work = np.cumsum(size[flow[on_link]]) / scenario.links[n].rate
        way = np.minimum.accumulate(beyond[on_link])
        yield n, float((arrival[on_link] + work + way).max())
