"""Lower bounds on completion times: the empty network, and the capacity of each link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.networks import Scenario
from hopflow.checks import instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["CompletionBounds", "completion_bounds", "empty_network_times", "transfers"]


@dataclass(frozen=True)
class CompletionBounds:
    """Times before which no run at packet level completes its transfers, as `completion_bounds` returns them.

    Attributes
    ----------
    finished
        Of each flow, s from the start of the run, shape (F,); nan: no transfer.
    job
        Of the last of them, s; nan: there are none.
    link
        Name of the link that needs so long; empty: the delays of a flow, or of a chain of flows, do.
    """

    finished: Floats
    job: float
    link: str


class _Hops(NamedTuple):
    """All hops of all flows: how long a packet alone takes from its sender to the queue of each, and from there on, s.

    ``before`` and ``beyond`` leave out the transmission of the hop itself. Shapes (H,), and (F,) for ``whole``, the time
    of a packet over the whole path.
    """

    before: Floats
    beyond: Floats
    whole: Floats


def transfers(scenario: Scenario) -> NDArray[np.bool_]:
    """Return which flows have an end that can be known before the run: finite sizes, and no stop, shape (F,)."""
    size, stop = (scenario.table.numbers(name) for name in ("size", "stop"))
    return np.isfinite(size) & np.isinf(stop)


def empty_network_times(scenario: Scenario, *, forwards_whole_packets: bool = True) -> Floats:
    """Return how long each transfer takes at the rate of its slowest link in an empty network, s, shape (F,).

    Parameters
    ----------
    scenario
        The network and its flows.
    forwards_whole_packets
        Whether nodes forward a packet when it has come as a whole, as at packet level. The fluid has no packets.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Scenario, chain
    >>> links = chain(3, rate=1e3, delay=1e-2, buffer=10)
    >>> one = Scenario("one", links, [Flow("a", (1, 2, 3), CBR(1e3), size=5, host="direct")])
    >>> round(float(empty_network_times(one)[0]), 9)  # 5 transmissions, one more at the second link, 20 ms
    0.026
    """
    size = scenario.table.numbers("size")
    slowest = 1.0 / _lowest_rates(scenario)
    if forwards_whole_packets:
        return np.asarray(_hops(scenario).whole + (size - 1.0) * slowest)
    return np.asarray(0.5 * scenario.base_rtts() + size * slowest)


def completion_bounds(scenario: Scenario) -> CompletionBounds:
    """Return times before which no run of a scenario at packet level is complete, whatever its senders and switches do.

    1. A transfer takes at least as long as in an empty network, from its start, or from the earliest possible end of
       those that it waits for (`Flow`: ``after``).
    2. A link needs the transmission times of its packets. Of the transfers whose first packets can reach it at some
       time at the earliest, or later, the last one ends no sooner than this time, their transmissions, and the least
       way that one of them has beyond it. The largest such time of all links bounds the job.

    Packets that are lost, marked or sent again, ACKs and pauses only add to this. The routes are those of the flows.

    Parameters
    ----------
    scenario
        The network and its flows. Those without a finite size, or with a stop, are left out.

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
    instance("scenario", scenario, Scenario, "a Scenario")
    chosen = transfers(scenario)
    hops = _hops(scenario)
    ideal = empty_network_times(scenario)
    starts = _earliest_starts(scenario, np.where(chosen, ideal, np.nan))
    finished = np.where(chosen, starts + ideal, np.nan)
    if not chosen.any():
        return CompletionBounds(finished, np.nan, "")
    job, name = float(np.nanmax(finished)), ""
    for n, bound in _link_bounds(scenario, hops, starts, chosen):
        if bound > job:
            job, name = bound, scenario.links[n].name
    return CompletionBounds(finished, job, name)


def _may_be_left_out(scenario: Scenario) -> NDArray[np.bool_]:
    """Return which hops not all packets of a flow take: those of sprayed flows but the first and the last one, (H,)."""
    routes = scenario.routes
    inner = scenario.table.each("paths", bool)[routes.flow]
    inner[routes.begin] = inner[routes.begin + routes.counts - 1] = False
    return np.asarray(inner)


def _lowest_rates(scenario: Scenario) -> Floats:
    rates = scenario.by_link(lambda link: link.rate)[scenario.routes.places]
    rates = np.where(_may_be_left_out(scenario), np.inf, rates)
    return np.asarray(np.minimum.reduceat(rates, scenario.routes.begin))


def _hops(scenario: Scenario) -> _Hops:
    """Return the times of a packet alone."""
    routes = scenario.routes
    delay = scenario.by_link(lambda link: link.delay)
    sending = 1.0 / scenario.by_link(lambda link: link.rate)
    each = (delay + sending)[routes.places]
    whole = np.where(scenario.at_once, 0.0, (delay + sending)[routes.first])
    before = np.empty(len(each))
    for k in range(int(routes.counts.max())):  # hop by hop, so that rounding errors are those of one path
        at = routes.begin[k < routes.counts] + k
        before[at] = whole[k < routes.counts]
        whole[k < routes.counts] += each[at]
    beyond = whole[routes.flow] - before - sending[routes.places]
    return _Hops(before, beyond, whole)


def _earliest_starts(scenario: Scenario, ideal: Floats) -> Floats:
    """Return when each flow can start at the earliest, s, (F,); nan: when one has ended whose end is not known."""
    after = scenario.followers
    delays, starts = after.times(scenario.table.numbers("start"))
    if not len(delays):
        return starts
    missing = after.missing.copy()
    ready = np.flatnonzero(missing == 0)
    while ready.size:  # flows whose predecessors are all known
        ends = starts[ready] + ideal[ready]
        counts = after.begin[ready + 1] - after.begin[ready]
        places = np.repeat(after.begin[ready] - np.cumsum(counts) + counts, counts)
        pairs = places + np.arange(int(counts.sum()))
        waiting = after.flow[pairs]
        np.maximum.at(starts, waiting, np.repeat(ends, counts) + delays[pairs])
        np.subtract.at(missing, waiting, 1)
        ready = np.unique(waiting[missing[waiting] == 0])
    return starts


def _link_bounds(
    scenario: Scenario, hops: _Hops, starts: Floats, chosen: NDArray[np.bool_]
) -> Iterator[tuple[int, float]]:
    """Yield the bound of each link that transfers use."""
    routes, size = scenario.routes, scenario.table.numbers("size")
    at = np.flatnonzero(chosen[routes.flow] & ~_may_be_left_out(scenario))
    link, flow = routes.places[at], routes.flow[at]
    arrival, beyond = starts[flow] + hops.before[at], hops.beyond[at]
    order = np.lexsort((-arrival, link))
    first = np.flatnonzero(np.diff(link[order], prepend=-1))
    for begin, end in zip(first, [*first[1:], len(order)], strict=True):
        own = order[begin:end]
        n = int(link[own[0]])
        work = np.cumsum(size[flow[own]]) / scenario.links[n].rate
        way = np.minimum.accumulate(beyond[own])
        yield n, float((arrival[own] + work + way).max())
