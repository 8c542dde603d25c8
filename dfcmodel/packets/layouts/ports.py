"""Ports of the compiled engine: in which order they are processed, their calendar queues, rings and lanes.

Ports with a single ordered input need no calendar queue: they are processed with the port before. All others are
processed in turn for a window of time, no longer than the smallest latency of a transfer against this order (the
lookahead).
"""

from __future__ import annotations

import heapq
import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.links import distinct, encode_integers, present
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import CONTROL, PFC
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import DFC, Fair, Priority
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.kernel.calendar_queue import PLACE, PLACES, USED
from dfcmodel.packets.kernel.codes import RECEIVE_FEEDBACK, SEND_FEEDBACK, WAKE
from dfcmodel.packets.kernel.layout import (
    BY_BACKPRESSURE,
    BY_CLASS,
    BY_FLOW,
    BY_LAW,
    BY_RANK,
    BY_RATE,
    DIFFUSIVE,
    FAILS,
    LANE,
    LOSES,
    PORT,
    REPEATS,
)
from dfcmodel.packets.kernel.links.diffusion import REPORTS
from dfcmodel.packets.kernel.links.pauses import RENEWALS
from dfcmodel.packets.kernel.links.ports import LANES
from dfcmodel.packets.kernel.queues.managers import ALL_LANES, NO_LANE
from dfcmodel.packets.layouts.memory import aligned, first_ring_sizes, outstanding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import Clock, PacketPlan

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "Calendar",
    "Event",
    "Lookahead",
    "class_lanes",
    "clocks_of",
    "empty_lanes",
    "lay_out_feedback",
    "lay_out_lanes",
    "lay_out_ports",
    "lay_out_rates",
    "order_and_window",
    "plan_lookahead",
    "ports_without_queues",
    "route_parts",
    "schedule",
]

MAX_BUCKETS = 1 << 14
"""Largest number of buckets per calendar queue."""
MAX_SAMPLES = 2.0**62
"""Largest number of samples, and of buckets of a calendar queue, up to a time."""
BUCKETS_PER_WINDOW = 256
"""Largest number of buckets that a port reads in a window."""
MAX_BUCKETS_PER_PACKET_TIME = 16.0
"""Largest number of buckets per packet time in the calendar queue of the senders, which many interfaces share."""
WINDOW_FRACTION = 1.0 - 1e-6
"""Length of a window over the smallest latency; below 1 because sums of times are rounded."""


# The processing order of ports, and the length of a window.


class Lookahead(NamedTuple):
    """Ports without queues of events, parts of routes, processing order, and length of a window of time, s.

    Attributes
    ----------
    without_calendar
        1 for ports without a calendar queue, (P,): `ports_without_queues`.
    parts
        Parts of routes between calendar queues: `route_parts`.
    order
        The processing order of the ports that have a calendar queue.
    ahead
        Length of a window, s.
    """

    without_calendar: Integers
    parts: RouteParts
    order: Integers
    ahead: float


def plan_lookahead(plan: PacketPlan) -> Lookahead:
    """Return the ports without calendar queues, their routes, the order of the others, and a window in s."""
    without_calendar = ports_without_queues(plan)
    parts = route_parts(plan, without_calendar)
    return Lookahead(without_calendar, parts, *order_and_window(plan, without_calendar, parts))


def ports_without_queues(plan: PacketPlan) -> Integers:
    """Return 1 for ports that need no calendar queue, with one ordered input, and 0 for others, (P,).

    Ports that have lanes or can be paused are processed in every window and get 0, as interfaces of hosts do.
    """
    P, hops = len(plan.ports), plan.hops
    late = plan.has_receiver_events[hops.flow] & hops.is_ack & hops.begins
    keys = hops.port * (P + 1) + np.where(late, -1, hops.before) + 1
    inputs = present(keys, P * (P + 1))
    single = np.bincount(inputs // (P + 1), minlength=P) <= 1
    return np.asarray(single & ~plan.with_lanes, dtype=np.int64)


class RouteParts(NamedTuple):
    """Parts of routes between calendar queues: source and target, first hop, and hop after the last, (N,) each."""

    source: Integers
    target: Integers
    begin: Integers
    end: Integers


def route_parts(plan: PacketPlan, without_calendar: Integers) -> RouteParts:
    """Return the parts of all routes between calendar queues, flow by flow; ``without_calendar``: flags, (P,).

    Receivers that delay ACKs or are agents have a calendar queue as senders do.
    """
    hops, hosts = plan.representative_hops, plan.hosts
    H, index = len(hops.port), np.arange(len(hops.port))
    boxed = without_calendar[hops.port] == 0
    unit = hosts.queue[hops.port]
    late = plan.has_receiver_events[hops.flow] & hops.is_ack & hops.begins
    first = hops.begins & ~hops.is_ack
    box = np.maximum.accumulate(np.where(boxed, index, -1))  # the last port with a queue up to each hop
    before = np.concatenate([[-1], box[:-1]])
    start = np.maximum.accumulate(np.where(first | late, index, -1))
    last = np.flatnonzero(np.append(first[1:], True))
    turn = np.flatnonzero(late)
    host = np.where(late, hosts.receiver[hops.flow], hosts.sender[hops.flow])

    def of(target: Any, end: Integers, box: Integers, start: Integers) -> tuple[Any, ...]:
        is_port = box >= start
        source = np.where(is_port, unit[np.maximum(box, 0)], host[start])
        return source, target, np.where(is_port, box, start), end

    at = np.flatnonzero(boxed)
    parts = [
        of(unit[at], at, before[at], start[at]),
        of(hosts.sender[hops.flow[last]], last + 1, box[last], start[last]),
        of(host[turn], turn, before[turn], start[turn - 1]),
    ]
    assert H == 0 or last[-1] == H - 1
    return RouteParts(*map(np.concatenate, zip(*parts, strict=True)))


def order_and_window(plan: PacketPlan, without_calendar: Integers, parts: RouteParts) -> tuple[Integers, float]:
    """Return the order in which calendar queues are processed, and the length of a window, s, one for all.

    Senders and the interfaces of hosts come first; ports that count packets of an ingress together follow one another,
    since they are processed as one, and so do ports among which a switch chooses. The window is the smallest latency of
    a transfer against this order. It is not longer than a period of feedback, because one report is under way at a
    time.
    """
    senders, hosts = len(plan.ports), plan.hosts
    one = np.append(plan.counting_port, senders)
    for p, together in plan.routing.items():
        one[p] = together[0]
    one[:-1][plan.at_senders] = hosts.queue[plan.at_senders]
    is_host = np.append(plan.at_senders, True)
    a, b, time = _latencies(plan, parts, without_calendar, (one, is_host))
    interfaces = np.flatnonzero(plan.at_senders & (hosts.queue != senders))
    boxed = np.concatenate([[senders], interfaces, np.flatnonzero((without_calendar == 0) & ~plan.at_senders)])
    ports = boxed[one[boxed] == boxed]
    ports = np.concatenate([ports[is_host[ports]], _order_ports(ports[~is_host[ports]], a, b)])
    rank = np.zeros(senders + 1, dtype=np.int64)
    rank[ports] = np.arange(len(ports))
    order = boxed[np.argsort(rank[one[boxed]], kind="stable")]
    back = time[rank[b] <= rank[a]].tolist()
    periods = [clock.period for clock in plan.clocks]
    longest = float(plan.passage.max()) * (1 + int(plan.forward.counts.max()))
    return order, WINDOW_FRACTION * min([*back, *periods, longest])


def _latencies(
    plan: PacketPlan, parts: RouteParts, without_calendar: Integers, groups: tuple[Integers, NDArray[np.bool_]]
) -> tuple[Integers, Integers, Floats]:
    """Return (source, target, shortest time, s), (N,) each, between queues' groups; ``groups``: first one, is a host's.

    ``groups`` are the port that stands for each, and whether it is of a host, (P + 1,).
    """
    hops, (one, is_host) = plan.representative_hops, groups
    sums = np.concatenate([[0.0], np.cumsum(plan.passage[hops.port, 1])])
    receives_acks = plan.backward.counts > 0
    inside = np.append(hops.port, -1)[parts.end] >= 0
    used = inside | receives_acks[hops.flow[parts.end - 1]]
    asks, paused = plan.pauses
    a = np.concatenate([parts.source[used], asks])
    b = np.concatenate([parts.target[used], paused])
    delays = plan.delays[paused] + plan.signalling[asks]
    time = np.concatenate([(sums[parts.end] - sums[parts.begin])[used], delays])
    if plan.scenario.table.waits.any():
        a, b, time = map(np.append, (a, b, time), _starts_after(plan, without_calendar))
    a, b = one[a], one[b]
    others = (a != b) | ~is_host[a]  # at a host there is no window: events come one by one
    a, b, time = a[others], b[others], time[others]
    by = np.lexsort((time, b, a))
    a, b, time = a[by], b[by], time[by]
    first = np.ones(len(a), dtype=np.bool_)
    first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return a[first], b[first], time[first]


def _starts_after(plan: PacketPlan, without_calendar: Integers) -> tuple[Integers, Integers, Floats]:
    """Return queues of end and start, and the shortest time, s, (E,) each, of flows that wait; ValueError for 0 s.

    The end is known where the last packet leaves the last port with a calendar queue, or at a receiver that has one.
    """
    hops, hosts, followers = plan.hops, plan.hosts, plan.scenario.followers
    index = np.arange(len(hops.port))
    first = np.flatnonzero(hops.begins & ~hops.is_ack)
    last = first + plan.forward.counts - 1
    box = np.maximum.accumulate(np.where(without_calendar[hops.port] == 0, index, -1))[last]
    is_port = box >= first
    sums = np.concatenate([[0.0], np.cumsum(plan.passage[hops.port, 1])])
    source = np.where(is_port, hosts.queue[hops.port[np.maximum(box, 0)]], hosts.sender)
    time = sums[last + 1] - sums[np.where(is_port, box, first)]
    late = plan.has_receiver_events
    source, time = np.where(late, hosts.receiver, source), np.where(late, 0.0, time)
    a, waits = followers.awaited, followers.flow
    b, times = hosts.sender[waits], time[a] + plan.delays_after
    at_once = (times == 0.0) & (source[a] != b)
    if at_once.any():
        k = int(np.argmax(at_once))
        name, other = (plan.scenario.table.name(int(flows[k])) for flows in (waits, a))
        hosts_differ = (
            f"it starts at another host than that of the receiver of {other!r}, which delays ACKs or is an agent"
        )
        msg = f"{hosts_differ}: start, or its delay, must be above 0"
        raise ValueError(f"start of flow {name!r} = 0: {msg}")
    return source[a], b, times


def _order_ports(boxed: Integers, a: Integers, b: Integers) -> Integers:
    """Return the ports ``boxed`` in an order, (ports,), in which few edges a[k] -> b[k] lead backwards."""
    into: dict[int, set[int]] = {u: set() for u in boxed.tolist()}
    for source, target in zip(a.tolist(), b.tolist(), strict=True):
        if source in into and target in into and source != target:
            into[target].add(source)
    after: dict[int, list[int]] = {u: [] for u in into}
    for u, before in into.items():
        for source in before:
            after[source].append(u)
    index = {u: n for n, u in enumerate(into)}
    order: list[int] = []
    heap = [(len(into[u]), index[u], u) for u in into]  # remaining ports, the fewest ports before it first
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
                heapq.heappush(heap, (len(into[target]), index[target], target))
    return np.array(order, dtype=np.int64)


# Rows of ports, and events that are scheduled before a run.


class Calendar(NamedTuple):
    """Arrays of the kernel's calendar queues: the part of its `Network` that scheduling needs."""

    packet: Any
    port: Any
    bucket: Any
    counters: Any
    home: Any


class Event(NamedTuple):
    """An event that is scheduled before a run at a time, s, such as a poll or a pause by a fault.

    Attributes
    ----------
    unit, time, key
        The calendar queue, the time in s, and its order among events of this time.
    number, flow, hop
        The kind of event, its flow and its hop.
    span
        Value that the event has in ``sent_at``, s.
    """

    unit: int
    time: float
    key: int
    number: int
    flow: int
    hop: int = 0
    span: float = 0.0


def lay_out_ports(
    plan: PacketPlan,
    parts: RouteParts,
    order: NDArray[np.int64],
    window: float,
    spare: int,
) -> tuple[NDArray[Any], int, NDArray[np.float64]]:
    """Return the rows of ports, the number of buckets of calendar queues, and memory for queued packets.

    Raises
    ------
    ValueError
        For a port that takes longer to empty than 64 bits count in samples.
    """
    P = len(plan.ports)
    port_rows = aligned(P + 1, PORT)
    port_rows.view(np.uint8)[:] = 0
    port_rows["free"] = port_rows["begun"] = -math.inf
    port_rows["asks"] = port_rows["mate"] = np.arange(len(port_rows))
    port_rows["managed"] = ALL_LANES
    ports = port_rows[:P]
    max_queued = np.minimum(plan.max_queued, plan.share("outstanding", partial(outstanding, plan)))
    # Times after the end of the run are counted in samples, too.
    packet_time, longest = plan.transmission[:, 0], np.minimum(max_queued * plan.transmission[:, 0], plan.drain_times)
    times = longest + 2.0 * packet_time + plan.delays
    if (plan.end + times.sum()) / min(plan.sample, plan.transmission.max(axis=1).min()) > MAX_SAMPLES:
        slowest = int(times.argmax())
        msg = f"must be higher: what can queue there takes {times[slowest]:.3g} s"
        hint = f"too long to be counted in samples of {plan.sample:g} s"
        rate = 1.0 / packet_time[slowest]
        raise ValueError(f"rate of {plan.ports[slowest].name} = {rate:.3g}: {msg}, {hint}")
    sizes, alarms = first_ring_sizes(
        np.where(plan.with_lanes, 0, max_queued), np.bincount(plan.hops.port, minlength=P), spare
    )
    spans = np.where(plan.cells > 0, 2, 1) * sizes  # behind the times the bytes of packets
    ring = np.cumsum(spans) - spans
    effects = LOSES * (plan.losses > 0.0) + REPEATS * (plan.errors > 0.0)
    effects[list(plan.outages)] |= FAILS
    for name, values in (("room", plan.rooms), ("effects", effects),
                         ("delay", plan.delays), ("ring", ring), ("ring_mask", sizes - 1), ("alarm", alarms),
                         ("unit", plan.data_bytes_in_queue)):  # fmt: skip
        ports[name] = values
    ports["plain"] = (
        (plan.losses == 0.0) & (ports["room"] >= 1)
        & ~plan.with_lanes & (plan.cells == 0)
    )  # fmt: skip
    port_rows["place"][order] = np.arange(len(order))
    buckets = _lay_out_buckets(plan, port_rows, parts, order, window, max_queued)
    return port_rows, buckets, np.empty(int(spans.sum()))


def _lay_out_buckets(
    plan: PacketPlan,
    port_rows: NDArray[Any],
    parts: RouteParts,
    order: NDArray[np.int64],
    window: float,
    max_queued: Integers,
) -> int:
    """Set the calendar queues in ``port_rows``, in place; return the number of all their buckets."""
    P, hops = len(plan.ports), plan.hops
    largest = np.full(P, -1)  # size class: ports without data have ACKs alone
    largest[hops.port[~hops.is_ack]] = 0
    longest = np.minimum(max_queued * plan.transmission[np.arange(P), largest], plan.drain_times)
    # The longest time from one calendar queue to each port, (P + 1,), beyond which calendar queues work more slowly. At
    # ports with lanes packets are pushed when they leave.
    leaving = plan.passage.max(axis=1) + np.where(plan.with_lanes, 0.0, longest)
    sums = np.concatenate([[0.0], np.cumsum(leaving[plan.representative_hops.port])])
    far = np.zeros(P + 1)
    np.maximum.at(far, parts.target, sums[parts.end] - sums[parts.begin])
    horizon = (window + np.minimum(far, plan.passage[:, 0].sum()))[order]
    shortest = np.append(plan.transmission[:, 0], plan.transmission[:, 0].min())[order]
    # an interface whose events are with those of other senders has one there per packet time
    interfaces = np.count_nonzero(plan.at_senders & (plan.hosts.queue == P))
    shortest[order == P] /= min(max(interfaces / 8.0, 1.0), MAX_BUCKETS_PER_PACKET_TIME)
    width = np.maximum(shortest, window / BUCKETS_PER_WINDOW)
    count = np.minimum(MAX_BUCKETS, np.maximum(16.0, 2.0 * horizon / width))
    count = 1 << np.ceil(np.log2(count)).astype(np.int64)
    port_rows["at"][order], port_rows["mask"][order] = np.cumsum(count) - count, count - 1
    port_rows["inverse"][order] = 1.0 / np.maximum(width, 2.0 * horizon / count)
    return int(count.sum())


def schedule(arrays: dict[str, Any], starts: tuple[NDArray[Any], ...], events: Sequence[Event]) -> None:
    """Insert starts (`starts_of`) and events into empty calendar queues, as the first rows of packets, in place.

    Each is a row of ``packet`` from the first one on. In a bucket they are in the order of time and ``key``.

    Parameters
    ----------
    arrays
        Arrays of the layout by name.
    starts
        Calendar queue, time in s, key and flow of each start, in ascending order of keys, (N,) each.
    events
        All other events before the run.
    """
    packet, bucket, port = arrays["packet"], arrays["bucket"], arrays["port"]
    unit, times, keys, flows = starts
    at_once = bool((times == times[:1]).all())  # both sorts keep the order of flows at a tie
    if events:
        columns = [np.array(column) for column in zip(*events, strict=True)]
        added = np.arange(len(times), len(times) + len(events))
        unit, times, keys, flows = (np.append(start, columns[n]) for start, n in zip(starts, (0, 1, 2, 4), strict=True))
        at_once = False
    count = len(times)
    if not count:
        return
    buckets = np.minimum(times * port["inverse"][unit], MAX_SAMPLES).astype(np.int64)
    index = port["at"][unit] + (buckets & port["mask"][unit])
    sort = np.argsort(index, kind="stable") if at_once else np.lexsort((keys, times, index))
    order = np.asarray(sort)
    same = index[order[1:]] == index[order[:-1]]
    for name, values in (("time", times), ("number", WAKE), ("flow", flows),
                         ("key", keys), ("next", -1), ("hop", 0)):  # fmt: skip
        packet[name][:count] = values
    if events:
        packet["number"][added], packet["hop"][added] = columns[3], columns[5]
        packet["marked"][added], arrays["sent_at"][added] = 0, columns[6]
    packet["next"][order[:-1][same]] = order[1:][same]
    bucket["tail"][index[order]] = order  # the last event of each bucket stays
    bucket["head"][index[order[::-1]]] = order[::-1]
    port["count"] += np.bincount(unit, minlength=len(port)).astype(np.int32)
    used = np.flatnonzero(port["count"])
    np.bitwise_or.at(
        port["active"],
        port["place"][used] >> PLACES,
        1 << (port["place"][used].astype(np.int64) & PLACE),
    )
    arrays["counters"][USED] = count


# Lanes of ports.

LANE_KINDS = (Fair, Priority, DFC, PFC, DualPI2, SwitchProgram, LinkLaw, BFC)
"""Disciplines with several lanes, or one in order of ranks; others have one."""
LANE_TURNS = (BY_FLOW, BY_FLOW, BY_RATE, BY_CLASS, 0, BY_RANK, BY_LAW, BY_BACKPRESSURE, 0)
"""How lanes take turns under `LANE_KINDS`, and under others."""


def empty_lanes(count: int) -> NDArray[Any]:
    """Return ``count`` rows of `LANE` without packets."""
    lane = np.zeros(count, LANE)
    for name in ("head", "tail", "next", "first", "last"):
        lane[name] = -1
    return lane


def lay_out_lanes(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of lanes, `LANE`; set the lanes of each port and hop in ``port_rows`` and ``hop``, in place.

    Lanes of a port stand one after the other: of classes in their order with the control class first, of flows in
    their order, of DualPI2 the Scalable lane first. A port without flows has one lane.
    """
    has = plan.with_lanes & ~plan.at_senders
    if not has.any():
        return empty_lanes(1)
    # Index in `LANE_KINDS` of each port's discipline, (P,); the number of kinds for others.
    by: Integers = plan.by_discipline(
        lambda rule: next((n for n, kind in enumerate(LANE_KINDS) if isinstance(rule, kind)), len(LANE_KINDS))
    )
    chosen = np.flatnonzero(has[plan.hops.port])
    port, flow = plan.hops.port[chosen], plan.hops.flow[chosen]
    priorities, classes = encode_integers(plan.classes[chosen])
    is_scalable = plan.scalable[flow] & ~plan.hops.is_ack[chosen]
    kind_of_hop, number_of_hop = by[port], np.arange(len(chosen))
    lanes_of = {
        PFC: classes,
        LinkLaw: classes,
        Fair: number_of_hop,
        Priority: number_of_hop,
        DFC: number_of_hop,
        BFC: number_of_hop,
        DualPI2: ~is_scalable,
    }
    by_flow = np.isin(kind_of_hop, [LANE_KINDS.index(kind) for kind in (Fair, Priority, DFC, BFC)])
    span = (len(chosen) if by_flow.any() else 0) + len(priorities) + 2
    number = np.zeros(len(chosen), dtype=np.int64)
    for kind, numbers in lanes_of.items():
        of_kind = kind_of_hop == LANE_KINDS.index(kind)
        number[of_kind] = numbers[of_kind]
    coupled = np.flatnonzero(has & (by == LANE_KINDS.index(DualPI2)))
    has[port] = has[coupled] = False
    first = np.flatnonzero(has)  # without flows
    others = np.concatenate([first, coupled, coupled]) * span
    others[len(first) + len(coupled) :] += 1
    rows, at = encode_integers(np.append(port * span + number, others))
    at = at[: len(chosen)]
    hop["lane"][plan.hops.row[chosen]] = at
    ports, begin, count = np.unique(rows // span, return_index=True, return_counts=True)
    for name, values in (("kind", LANES), ("lane", begin), ("lanes", count),
                         ("by_turns", np.array(LANE_TURNS)[by[ports]]), ("levels", 1)):  # fmt: skip
        port_rows[name][ports] = values
    lane = empty_lanes(len(rows))
    _set_managed(plan, port_rows, hop, lane)
    lane["flow"][at[by_flow]] = flow[by_flow]
    port_rows["levels"][coupled] = 2
    lane["level"][port_rows["lane"][coupled] + 1] = 1
    # The control class, the first lane of its ports, goes before others.
    control = encode_integers(port[plan.classes[chosen] == CONTROL])[0]
    for p in control[port_rows["lanes"][control] > 1].tolist():
        port_rows["levels"][p] = 2
        begin = port_rows["lane"][p]
        lane["level"][begin + 1 : begin + port_rows["lanes"][p]] = 1
    ranked = kind_of_hop == LANE_KINDS.index(Priority)
    if ranked.any():
        pairs = port[ranked] * span + classes[ranked]
        distinct_pairs, level = np.unique(pairs, return_inverse=True)
        ports, begin, count = np.unique(distinct_pairs // span, return_index=True, return_counts=True)
        port_rows["levels"][ports] = count
        lane["level"][at[ranked]] = level.reshape(-1) - begin[np.searchsorted(ports, port[ranked])]
    return lane


def _set_managed(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], lane: NDArray[Any]) -> None:
    """Set in ``port_rows`` the lane that a manager of one class sees; ``hop``, ``lane``: rows of the layout."""
    is_managed = plan.by_discipline(lambda rule: getattr(rule, "managed", None) is not None)
    chosen = np.flatnonzero(is_managed).tolist()
    lanes = class_lanes(plan, hop, lane) if chosen else {}
    for p in chosen:
        rule: Any = plan.ports[p].discipline
        port_rows["managed"][p] = lanes.get((p, rule.managed), NO_LANE)


def class_lanes(plan: PacketPlan, hop: NDArray[Any], lane: NDArray[Any]) -> dict[tuple[int, int], int]:
    """Return lane numbers by (port, class) of ports that are paused by class; ``hop``, ``lane``: rows of the layout."""
    by_class = plan.by_discipline(lambda rule: rule.queue_per == "class")
    of_host = plan.at_senders[plan.hops.port] & (plan.classes != CONTROL)
    chosen = np.flatnonzero(by_class[plan.hops.port] | of_host)
    ports, priorities = plan.hops.port[chosen], plan.classes[chosen]
    lanes = hop["lane"][plan.hops.row[chosen]]
    lanes = np.where(of_host[chosen], lane["level"][lanes], lanes)
    classes, class_index = encode_integers(priorities)
    _, first = distinct(ports * len(classes) + class_index, len(plan.ports) * len(classes))
    pairs = zip(ports[first].tolist(), priorities[first].tolist(), strict=True)
    return dict(zip(pairs, lanes[first].tolist(), strict=True))


# Rates and feedback of diffusion-type flow control.


def lay_out_rates(plan: PacketPlan, port_rows: NDArray[Any], lane: NDArray[Any]) -> NDArray[Any]:
    """Return rows of `DIFFUSIVE`, one per row of ``lane``, set at ports with DFC; one row without any such port."""
    ports = plan.ports_under(DFC)
    lanes = np.zeros(len(lane) if ports else 1, DIFFUSIVE)
    for p in ports:
        port, capacity = plan.ports[p], 1.0 / plan.transmission[p, 0]
        rule: Any = port.discipline
        rows = lanes[port_rows["lane"][p] : port_rows["lane"][p] + port_rows["lanes"][p]]
        rows["rate"] = rows["told_rate"] = rows["capacity"] = capacity
        rows["credit"], rows["intensity"] = 1.0, rule.intensity
        rows["gain"], rows["counts"] = rule.diffusion / port.delay, port.link >= 0
        rows["smoothing"] = plan.method.count_smoothing
    return lanes


def lay_out_feedback(clocks: list[Clock], plan: PacketPlan, port_rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return pairs of a lane that a report is about and a lane that receives it, clock by clock, (K, 2)."""
    rows = [
        (_lane(plan, port_rows, clock.of, key), _lane(plan, port_rows, clock.to, key))
        for clock in clocks
        for key in clock.keys
    ]
    return np.array(rows or [(0, 0)], dtype=np.int64)


def _lane(plan: PacketPlan, port_rows: NDArray[Any], p: int, key: tuple[int, bool]) -> int:
    """Return the lane at port p of packets, or ACKs, of a flow, key = (flow, is ACK)."""
    return int(port_rows["lane"][p]) + plan.flows_at[p].index(key)


def clocks_of(clocks: list[Clock]) -> list[Event]:
    """Return the events of each clock's first report and of its arrival."""
    events, row = list[Event](), 0
    for clock in clocks:
        end = row + len(clock.keys)  # it reports about these lanes, from row to row
        reported = clock.of if clock.of >= 0 else clock.to
        about = end, row, clock.period
        arrival, key = clock.first + clock.period, RENEWALS + reported
        events.append(Event(clock.to, arrival, key, RECEIVE_FEEDBACK, *about))
        if clock.of >= 0:
            key = RENEWALS + REPORTS + clock.to
            events.append(Event(clock.of, clock.first, key, SEND_FEEDBACK, *about))
        row = end
    return events
