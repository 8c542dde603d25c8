"""How large the engine's arrays are at first, how they grow, and how large they may become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.packets.kernel.calendar_queue import ALARM, CROWDED, USED
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["aligned", "first_elements", "first_places", "grow", "most_elements", "outstanding"]

ELEMENTS, PLACES = 2048, 8192
"""Elements of a run besides those of its flows, and places in the queues of ports without lanes, at first."""
FEWEST = 16
"""Places in the queue of a port without lanes, at first."""
SPARE = 0.125
"""Part of the packets that one window may take beyond those in use, but not less than half of the first ones."""
NEVER = 2**62
LINE = 64
"""Bytes of a cache line."""


def aligned(count: int, dtype: Any) -> NDArray[Any]:
    """Return an array without values that begins with a cache line, (count,)."""
    size = count * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, dtype=np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size].view(dtype)


def most_elements(plan: Plan) -> int:
    """Return the largest number of packets, ACKs and timer events in the network at a time."""
    times = plan.delays + plan.path.largest_hold if plan.scenario.elements else plan.delays
    acks = times * plan.bits / (8.0 * HEADER)  # full of ACKs, whether they take time or not
    inside = float((np.minimum(plan.places, 1 << 22) + 2.0 + acks).sum())
    messages = _most_messages(plan)
    table = plan.scenario.table
    sizes = table.numbers("size")
    window = 4.0 * np.minimum(table.numbers("max_window"), sizes) + 64.0
    has_window = table.of_kind(WindowRule)
    windows = float(np.where(has_window, window, np.minimum(sizes, 1 << 22)).sum())
    clocks = 2 * len(plan.clocks)
    return int(min(2.0 * inside, 2.0 * windows) + messages) + 8 * len(plan.forward) + 64 + clocks


def _most_messages(plan: Plan) -> float:
    """Return the largest number of pause messages under way: one for each packet that comes or leaves.

    Each pause that has quanta has a packet for their end.
    """
    own, feeder = plan.pauses
    if not own.size:
        return 0.0
    ways = plan.delays[feeder] + plan.signalling[own]
    messages = 3.0 + ways * (plan.bits[feeder] + plan.bits[own]) / (8.0 * HEADER)
    return plan.scheduled + float(messages.sum())


def outstanding(plan: Plan) -> NDArray[np.int64]:
    """Return an upper bound of the packets and ACKs queued at each port, (P,)."""
    table, hops = plan.scenario.table, plan.hops
    windows = 4.0 * table.numbers("max_window")
    windows = np.where(table.of_kind(WindowRule), windows, table.numbers("size"))
    whole = np.minimum(windows, 1 << 24).astype(np.int64).astype(np.float64)
    # no flow comes to a port twice: its path has no node twice, and its ACKs go the other way
    most = np.bincount(hops.port, whole[hops.flow], minlength=len(plan.ports))
    return np.minimum(most, 1 << 24).astype(np.int64)


def first_elements(plan: Plan, spare: int, most: int) -> tuple[int, int]:
    """Return how many packets there are at first, at most ``most``, and from how many in use on they should grow."""
    begin = 8 * len(plan.forward) + 8 * len(plan.clocks) + 4 * plan.scheduled + ELEMENTS
    return (most, NEVER) if begin * spare >= most else (begin * spare, begin * spare // 2)


def first_places(
    places: NDArray[np.int64], flows: NDArray[np.int64], spare: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of the rings of queued packets at first, powers of 2, and from how many on they should grow.

    Parameters
    ----------
    places
        The most packets that can be in each; 0 where there is no ring.
    flows
        The flows that come there: at first each may send two packets at once.
    spare
        How much larger than at the first attempt they are.
    """
    full = 1 << np.ceil(np.log2(np.where(places > 0, places + 2, 1))).astype(np.int64)
    share = 1 << int(max(FEWEST, PLACES // len(places))).bit_length() - 1
    bursts = 1 << np.ceil(np.log2(np.maximum(2 * flows, 1))).astype(np.int64)
    sizes = np.minimum(full, np.maximum(share, bursts) * spare)
    return sizes, np.where(sizes < full, sizes // 4, NEVER)


def grow(arrays: dict[str, Any], most: int) -> None:
    """Double the packets if they are crowded, and the rings of crowded ports; nothing else moves.

    Parameters
    ----------
    most
        The most packets of the plan.
    """
    counters, port_rows = arrays["counters"], arrays["port"]
    counters[CROWDED] = 0
    if counters[USED] > counters[ALARM]:
        old = len(arrays["packet"])
        size = min(2 * old, most)
        spare = max(old - int(counters[ALARM]), int(size * SPARE))
        counters[ALARM] = size - spare if size < most else NEVER
        for name in ("packet", "sent_at", "block", "rank", "trimmed", "telemetry"):
            if len(arrays[name]) == old:
                arrays[name] = _longer(arrays[name], size)
    queued = port_rows["last"] - port_rows["first"]
    for u in np.flatnonzero(queued > port_rows["alarm"]):
        port = port_rows[u]
        index = np.arange(port["first"], port["last"])
        rows = [index]
        if (
            port["unit"] > 0.0
        ):  # the bytes of packets stand behind their times, those of the last one too
            rows = [index, np.append(index, port["last"])]
        old, size = int(port["ring_mask"]) + 1, 4 * (int(port["ring_mask"]) + 1)
        ring, at = arrays["ring"], len(arrays["ring"])
        arrays["ring"] = _longer(ring, at + size * len(rows))
        for k, row in enumerate(rows):
            kept = ring[port["ring"] + k * old + (row & (old - 1))]
            arrays["ring"][at + k * size + (row & (size - 1))] = kept
        port["ring"], port["ring_mask"], port["alarm"] = at, size - 1, size // 4


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with further rows."""
    found = aligned(size * math.prod(array.shape[1:]), array.dtype).reshape(size, *array.shape[1:])
    found[: len(array)] = array
    return found
