"""Lookahead: which ports need a calendar queue, in which order ports are processed, how long a window is."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.columns import present

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "Lookahead",
    "Stretches",
    "horizons",
    "lookahead_of",
    "ordered_ports",
    "stretches",
    "windows",
]

LATEST = 1.0 - 1e-6
"""Length of a window over the smallest latency; below 1 because sums of times are rounded."""
NEARLY = 0.9
"""A window of at least this part of the longest possible one is taken without a search for a better order."""


class Lookahead(NamedTuple):
    """How the ports of a plan are processed.

    Attributes
    ----------
    inline
        As `ordered_ports` returns it, (P,).
    parts
        As `stretches` returns it.
    order
        The processing order of the ports that have a calendar queue.
    ahead
        Length of a window, s.
    """

    inline: Integers
    parts: Stretches
    order: Integers
    ahead: float


def lookahead_of(plan: PacketPlan) -> Lookahead:
    """Return how the ports of a plan are processed."""
    inline = ordered_ports(plan)
    parts = stretches(plan, inline)
    return Lookahead(inline, parts, *windows(plan, inline, parts))


def ordered_ports(plan: PacketPlan) -> Integers:
    """Return 1 for ports with a single ordered input, from one port or from senders only, (P,).

    Ports that have lanes or can be paused are processed in every window and get 0, as interfaces of hosts do.
    """
    P, hops = len(plan.ports), plan.hops
    late = plan.has_receiver_events[hops.flow] & hops.is_ack & hops.begins
    keys = hops.port * (P + 1) + np.where(late, -1, hops.before) + 1
    inputs = present(keys, P * (P + 1))
    single = np.bincount(inputs // (P + 1), minlength=P) <= 1
    return np.asarray(single & ~plan.with_lanes, dtype=np.int64)


class Stretches(NamedTuple):
    """Parts of routes from port to port: the ports at their ends, the first hop, and the one after the last, (N,)."""

    source: Integers
    target: Integers
    begin: Integers
    end: Integers


def stretches(plan: PacketPlan, inline: Integers) -> Stretches:
    """Return the parts of all routes between ports, flow by flow.

    Receivers that delay ACKs or are agents have a calendar queue as senders do.
    """
    hops, hosts = plan.turns, plan.hosts
    H, index = len(hops.port), np.arange(len(hops.port))
    boxed = inline[hops.port] == 0
    unit = hosts.queue[hops.port]
    late = plan.has_receiver_events[hops.flow] & hops.is_ack & hops.begins
    first = hops.begins & ~hops.is_ack
    box = np.maximum.accumulate(np.where(boxed, index, -1))  # the last one up to here
    before = np.concatenate([[-1], box[:-1]])
    start = np.maximum.accumulate(np.where(first | late, index, -1))
    last = np.flatnonzero(np.append(first[1:], True))
    turn = np.flatnonzero(late)
    own = np.where(late, hosts.receiver[hops.flow], hosts.sender[hops.flow])

    def of(target: Any, end: Integers, box: Integers, start: Integers) -> tuple[Any, ...]:
        found = box >= start
        source = np.where(found, unit[np.maximum(box, 0)], own[start])
        return source, target, np.where(found, box, start), end

    at = np.flatnonzero(boxed)
    parts = [
        of(unit[at], at, before[at], start[at]),
        of(hosts.sender[hops.flow[last]], last + 1, box[last], start[last]),
        of(own[turn], turn, before[turn], start[turn - 1]),
    ]
    assert H == 0 or last[-1] == H - 1
    return Stretches(*map(np.concatenate, zip(*parts, strict=True)))


def windows(plan: PacketPlan, inline: Integers, parts: Stretches) -> tuple[Integers, float]:
    """Return the processing order of the ports and the length of a window in s.

    Senders and the interfaces of hosts come first; ports that count packets of an ingress together follow one another,
    since they are processed as one, as those among which a switch chooses are. The window is the smallest latency of a transfer against this order, and not longer than a period of
    feedback, because one report is under way at a time.
    """
    senders, hosts = len(plan.ports), plan.hosts
    one = np.append(plan.counters, senders)
    for p, together in plan.routing.items():
        one[p] = together[0]
    one[:-1][plan.at_senders] = hosts.queue[plan.at_senders]
    is_host = np.append(plan.at_senders, True)
    a, b, time = _latencies(plan, parts, inline, (one, is_host))
    own = np.flatnonzero(plan.at_senders & (hosts.queue != senders))
    boxed = np.concatenate([[senders], own, np.flatnonzero((inline == 0) & ~plan.at_senders)])
    ports = boxed[one[boxed] == boxed]
    if not _any_order(a, b, time, is_host):
        ports = np.concatenate([ports[is_host[ports]], _sorted_ports(ports[~is_host[ports]], a, b)])
    place = np.zeros(senders + 1, dtype=np.int64)
    place[ports] = np.arange(len(ports))
    order = boxed[np.argsort(place[one[boxed]], kind="stable")]
    back = time[place[b] <= place[a]].tolist()
    periods = [clock.period for clock in plan.clocks]
    longest = float(plan.passage.max()) * (1 + int(plan.forward.counts.max()))
    return order, LATEST * min([*back, *periods, longest])


def _latencies(
    plan: PacketPlan, parts: Stretches, inline: Integers, units: tuple[Integers, NDArray[np.bool_]]
) -> tuple[Integers, Integers, Floats]:
    """Return from which port to which something comes, and after what time at least, s.

    ``units`` are the port that stands for each, and whether it is of a host, (P + 1,).
    """
    hops, (one, is_host) = plan.turns, units
    sums = np.concatenate([[0.0], np.cumsum(plan.passage[hops.port, 1])])
    receives_feedback = plan.backward.counts > 0
    inside = np.append(hops.port, -1)[parts.end] >= 0
    kept = inside | receives_feedback[hops.flow[parts.end - 1]]
    asks, paused = plan.pauses
    a = np.concatenate([parts.source[kept], asks])
    b = np.concatenate([parts.target[kept], paused])
    ways = plan.delays[paused] + plan.signalling[asks]
    time = np.concatenate([(sums[parts.end] - sums[parts.begin])[kept], ways])
    if plan.scenario.table.waits.any():
        a, b, time = map(np.append, (a, b, time), _starts_after(plan, inline))
    a, b = one[a], one[b]
    others = (a != b) | ~is_host[a]  # at a host there is no window: events come one by one
    a, b, time = a[others], b[others], time[others]
    by = np.lexsort((time, b, a))
    a, b, time = a[by], b[by], time[by]
    first = np.ones(len(a), dtype=np.bool_)
    first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return a[first], b[first], time[first]


def _starts_after(plan: PacketPlan, inline: Integers) -> tuple[Integers, Integers, Floats]:
    """Return from which port to which host the end of a flow starts another one, and after what time at least, s.

    The end is known where the last packet leaves the last port that is no part of another one, or at a receiver that has events of its own.
    """
    hops, hosts, given = plan.hops, plan.hosts, plan.scenario.followers
    index = np.arange(len(hops.port))
    first = np.flatnonzero(hops.begins & ~hops.is_ack)
    last = first + plan.forward.counts - 1
    box = np.maximum.accumulate(np.where(inline[hops.port] == 0, index, -1))[last]
    found = box >= first
    sums = np.concatenate([[0.0], np.cumsum(plan.passage[hops.port, 1])])
    source = np.where(found, hosts.queue[hops.port[np.maximum(box, 0)]], hosts.sender)
    time = sums[last + 1] - sums[np.where(found, box, first)]
    late = plan.has_receiver_events
    source, time = np.where(late, hosts.receiver, source), np.where(late, 0.0, time)
    a, waits = given.awaited, given.flow
    b, times = hosts.sender[waits], time[a] + plan.delays_after
    at_once = (times == 0.0) & (source[a] != b)
    if at_once.any():
        k = int(np.argmax(at_once))
        name, other = (plan.scenario.table.name(int(each[k])) for each in (waits, a))
        msg = f"it starts at another host than that of the receiver of {other!r}, which delays ACKs or is an agent: start, or its delay, must be above 0"
        raise ValueError(f"start of flow {name!r} = 0: {msg}")
    return source[a], b, times


def _any_order(a: Integers, b: Integers, time: Floats, is_host: NDArray[np.bool_]) -> bool:
    """Return whether every order with the hosts first gives windows that are nearly the longest possible ones.

    Of two transfers in opposite directions one is against the order.
    """
    inner = ~is_host[a]
    if not inner.any():
        return True
    there, back = a * len(is_host) + b, b * len(is_host) + a
    opposite = np.searchsorted(there, back).clip(max=len(there) - 1)
    mutual = there[opposite] == back
    against = [time[inner & is_host[b]], np.maximum(time, time[opposite])[mutual & inner]]
    return bool(time[inner].min() >= NEARLY * np.concatenate(against).min(initial=np.inf))


def _sorted_ports(boxed: Integers, a: Integers, b: Integers) -> Integers:
    """Return ports in an order with few backward edges."""
    into: dict[int, set[int]] = {u: set() for u in boxed.tolist()}
    for source, target in zip(a.tolist(), b.tolist(), strict=True):
        if source in into and target in into and source != target:
            into[target].add(source)
    after: dict[int, list[int]] = {u: [] for u in into}
    for u, before in into.items():
        for source in before:
            after[source].append(u)
    place = {u: n for n, u in enumerate(into)}
    order: list[int] = []
    heap = [(len(into[u]), place[u], u) for u in into]  # what is left, the fewest ports before it first
    heapq.heapify(heap)
    while heap:
        count, _, u = heapq.heappop(heap)
        if u not in into or count != len(into[u]):  # it has been chosen, or has a later entry
            continue
        order.append(u)
        del into[u]
        for target in after[u]:
            if target in into:
                into[target].discard(u)
                heapq.heappush(heap, (len(into[target]), place[target], target))
    return np.array(order, dtype=np.int64)


def horizons(plan: PacketPlan, parts: Stretches, queueing: Floats) -> Floats:
    """Return how long before its time a packet is pushed to each port, s, (P + 1,), besides a window.

    ``queueing`` is the longest time in the queue of each port; at ports with lanes packets are pushed
    when they leave. Calendar queues work beyond it too, more slowly.
    """
    leaving = plan.passage.max(axis=1) + np.where(plan.with_lanes, 0.0, queueing)
    sums = np.concatenate([[0.0], np.cumsum(leaving[plan.turns.port])])
    far = np.zeros(len(plan.ports) + 1)
    np.maximum.at(far, parts.target, sums[parts.end] - sums[parts.begin])
    return np.asarray(np.minimum(far, plan.passage[:, 0].sum()), dtype=np.float64)
