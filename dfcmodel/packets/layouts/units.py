"""Units of the compiled engine: ports and senders with their calendar queues, and rings of queued packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.packets.kernel.calendar_queue import PLACE, PLACES, USED
from dfcmodel.packets.kernel.codes import WAKE
from dfcmodel.packets.kernel.layout import FAILS, LOSES, PORT, REPEATS
from dfcmodel.packets.kernel.queues.managers import ALL_LANES
from dfcmodel.packets.layouts.lookahead import horizons
from dfcmodel.packets.layouts.memory import aligned, first_places, outstanding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.layouts.lookahead import Stretches
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["Calendar", "Event", "lay_out_units", "schedule"]

MOST_BUCKETS = 1 << 14
"""Largest number of buckets per calendar queue."""
LARGEST = 2.0**62
"""Largest number of samples, and of buckets of a calendar queue, up to a time."""
BUCKETS_PER_WINDOW = 256
"""Largest number of buckets that a port looks at in a window."""
MOST_PER_PACKET_TIME = 16.0
"""Largest number of buckets per packet time in the calendar queue of the senders, which many interfaces share."""


class Calendar(NamedTuple):
    """The part of the kernel's `Network` that its calendar queues need."""

    packet: Any
    port: Any
    bucket: Any
    counters: Any
    home: Any


class Event(NamedTuple):
    """An event that is scheduled before a run, besides the starts of flows.

    Attributes
    ----------
    unit, time, key
        In which calendar queue, when in s, and in which order among those of this time.
    number, flow, hop
        What it is, and what it is about.
    span
        What stands in ``sent_at``, s.
    """

    unit: int
    time: float
    key: int
    number: int
    flow: int
    hop: int = 0
    span: float = 0.0


def lay_out_units(
    plan: PacketPlan,
    parts: Stretches,
    order: NDArray[np.int64],
    window: float,
    spare: int,
) -> tuple[NDArray[Any], int, NDArray[np.float64]]:
    """Return the ports, the number of buckets of their calendar queues, and the departure ring.

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
    places = plan.share("filled", lambda: np.minimum(plan.max_queued, outstanding(plan)))
    _check_times(plan, places)
    sizes, alarms = first_places(np.where(plan.with_lanes, 0, places), np.bincount(plan.hops.port, minlength=P), spare)
    spans = np.where(plan.cells > 0, 2, 1) * sizes  # behind the times the bytes of packets
    ring = np.cumsum(spans) - spans
    faults = LOSES * (plan.losses > 0.0) + REPEATS * (plan.errors > 0.0)
    faults[[p for p, times in enumerate(plan.outages) if times]] |= FAILS
    for name, values in (("room", plan.rooms), ("faults", faults),
                         ("delay", plan.delays), ("ring", ring), ("ring_mask", sizes - 1), ("alarm", alarms),
                         ("unit", plan.units)):  # fmt: skip
        ports[name] = values
    ports["plain"] = (
        (plan.losses == 0.0) & (ports["room"] >= 1)
        & ~plan.with_lanes & (plan.cells == 0)
    )  # fmt: skip
    port_rows["place"][order] = np.arange(len(order))
    buckets = _lay_out_buckets(plan, port_rows, parts, order, window, places)
    return port_rows, buckets, np.empty(int(spans.sum()))


def _check_times(plan: PacketPlan, places: NDArray[np.int64]) -> None:
    """Raise ValueError where a time after the end of the run cannot be counted in samples."""
    longest = np.minimum(places * plan.transmission[:, 0], plan.drains)
    times = longest + 2.0 * plan.transmission[:, 0] + plan.delays
    slowest = int(times.argmax())
    if (plan.end + times.sum()) / min(plan.sample, plan.transmission.max(axis=1).min()) > LARGEST:
        rate = 1.0 / plan.transmission[slowest, 0]
        msg = f"must be higher: what can queue there takes {times[slowest]:.3g} s"
        hint = f"too long to be counted in samples of {plan.sample:g} s"
        raise ValueError(f"rate of {plan.ports[slowest].name} = {rate:.3g}: {msg}, {hint}")


def _lay_out_buckets(
    plan: PacketPlan,
    port_rows: NDArray[Any],
    parts: Stretches,
    order: NDArray[np.int64],
    window: float,
    places: NDArray[np.int64],
) -> int:
    """Set the calendar queues of the ports; return the number of their buckets."""
    P, hops = len(plan.ports), plan.hops
    largest = np.full(P, -1)  # size class: ports without data have ACKs alone
    largest[hops.port[~hops.is_ack]] = 0
    longest = np.minimum(places * plan.transmission[np.arange(P), largest], plan.drains)
    horizon = (window + horizons(plan, parts, longest))[order]
    shortest = np.append(plan.transmission[:, 0], plan.transmission[:, 0].min())[order]
    # an interface whose events are with those of other senders has one there per packet time
    interfaces = np.count_nonzero(plan.at_senders & (plan.hosts.queue == P))
    shortest[order == P] /= min(max(interfaces / 8.0, 1.0), MOST_PER_PACKET_TIME)
    width = np.maximum(shortest, window / BUCKETS_PER_WINDOW)
    count = np.minimum(MOST_BUCKETS, np.maximum(16.0, 2.0 * horizon / width))
    count = 1 << np.ceil(np.log2(count)).astype(np.int64)
    port_rows["at"][order], port_rows["mask"][order] = np.cumsum(count) - count, count - 1
    port_rows["inverse"][order] = 1.0 / np.maximum(width, 2.0 * horizon / count)
    return int(count.sum())


def schedule(arrays: dict[str, Any], starts: tuple[NDArray[Any], ...], events: Sequence[Event]) -> None:
    """Insert the starts of flows, and other events, into calendar queues that are empty.

    Each is a row of ``packet`` from the first one on. In a bucket they are in the order of time and ``key``.

    Parameters
    ----------
    arrays
        Of the layout.
    starts
        Calendar queue, time in s, key and flow of each start, in ascending order of keys, (N,) each.
    events
        All others.
    """
    packet, bucket, port = arrays["packet"], arrays["bucket"], arrays["port"]
    unit, times, keys, flows = starts
    at_once = bool((times == times[:1]).all())  # both sorts keep the order of flows at a tie
    if events:
        columns = [np.array(column) for column in zip(*events, strict=True)]
        own = np.arange(len(times), len(times) + len(events))
        unit, times, keys, flows = (np.append(whole, columns[n]) for whole, n in zip(starts, (0, 1, 2, 4), strict=True))
        at_once = False
    count = len(times)
    if not count:
        return
    buckets = np.minimum(times * port["inverse"][unit], LARGEST).astype(np.int64)
    places = port["at"][unit] + (buckets & port["mask"][unit])
    sort = np.argsort(places, kind="stable") if at_once else np.lexsort((keys, times, places))
    order = np.asarray(sort)
    same = places[order[1:]] == places[order[:-1]]
    for name, values in (("time", times), ("number", WAKE), ("flow", flows),
                         ("key", keys), ("next", -1), ("hop", 0)):  # fmt: skip
        packet[name][:count] = values
    if events:
        packet["number"][own], packet["hop"][own] = columns[3], columns[5]
        packet["marked"][own], arrays["sent_at"][own] = 0, columns[6]
    packet["next"][order[:-1][same]] = order[1:][same]
    bucket["tail"][places[order]] = order  # the last one of each bucket stays
    bucket["head"][places[order[::-1]]] = order[::-1]
    port["count"] += np.bincount(unit, minlength=len(port)).astype(np.int32)
    used = np.flatnonzero(port["count"])
    np.bitwise_or.at(
        port["active"],
        port["place"][used] >> PLACES,
        1 << (port["place"][used].astype(np.int64) & PLACE),
    )
    arrays["counters"][USED] = count
