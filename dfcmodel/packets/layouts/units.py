"""Units of the compiled engine: ports and senders with their calendar queues, and rings of queued packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.queueing.managers import RED
from dfcmodel.packets.kernel.layout import FAILS, LOSES, PORT, REPEATS
from dfcmodel.packets.kernel.queues.managers import ALL_LANES
from dfcmodel.packets.layouts.capacities import aligned, first_places, outstanding
from dfcmodel.packets.layouts.lookahead import horizons
from dfcmodel.packets.layouts.managers import MANAGERS, marks_leaving

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.layouts.lookahead import Stretches
    from dfcmodel.packets.plans import Plan

__all__ = ["Calendar", "calendar_of", "lay_out_units"]

MOST_BUCKETS = 1 << 14
"""Largest number of buckets per calendar queue."""
LARGEST = 2.0**62
"""Largest number of samples, and of buckets of a calendar queue, up to a time."""
BUCKETS_PER_WINDOW = 256
"""Largest number of buckets that a port looks at in a window."""
MOST_PER_PACKET_TIME = 16.0
"""Largest number of buckets per packet time in the calendar queue of the senders, which many interfaces share."""


class Calendar(NamedTuple):
    """The part of the kernel's `Network` that its calendar queues need, before the rest is laid out."""

    packet: Any
    port: Any
    bucket: Any
    counters: Any
    home: Any


def calendar_of(arrays: dict[str, Any]) -> Calendar:
    """Return the calendar queues as the kernel's functions take them in plain Python."""
    packet, port_rows, bucket = (
        arrays[name].view(np.recarray) for name in ("packet", "port", "bucket")
    )
    return Calendar(packet, port_rows, bucket, arrays["counters"], arrays["home"])


def lay_out_units(
    plan: Plan,
    parts: Stretches,
    order: NDArray[np.int64],
    window: float,
    spare: int,
    numbers: list[int],
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
    places = plan.once("filled", lambda: np.minimum(plan.places, outstanding(plan)))
    _check_times(plan, places)
    sizes, alarms = first_places(
        np.where(plan.with_lanes, 0, places), np.bincount(plan.hops.port, minlength=P), spare
    )
    spans = np.where(plan.cells > 0, 2, 1) * sizes  # behind the times the bytes of packets
    ring = np.cumsum(spans) - spans
    faults = LOSES * (plan.losses > 0.0) + REPEATS * (plan.errors > 0.0)
    faults[[p for p, times in enumerate(plan.down_times) if times]] |= FAILS
    for name, values in (("room", plan.rooms), ("manager", numbers),
                         ("kind", np.array(numbers) == MANAGERS[RED.on_step]), ("faults", faults),
                         ("delay", plan.delays), ("late", plan.by_discipline(marks_leaving)),
                         ("ring", ring), ("ring_mask", sizes - 1), ("alarm", alarms),
                         ("unit", plan.units)):  # fmt: skip
        ports[name] = values
    ports["plain"] = (
        (ports["kind"] == 0) & (plan.losses == 0.0) & (ports["room"] >= 1)
        & ~plan.with_lanes & (plan.cells == 0)
    )  # fmt: skip
    port_rows["place"][order] = np.arange(len(order))
    buckets = _lay_out_buckets(plan, port_rows, parts, order, window, places)
    return port_rows, buckets, np.empty(int(spans.sum()))


def _check_times(plan: Plan, places: NDArray[np.int64]) -> None:
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
    plan: Plan,
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
