"""How large the engine's arrays are at first, how they grow, and how large they may become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.flows import of_kind
from dfcmodel.packets.kernel.calendar_queue import ALARM, CROWDED, USED
from dfcmodel.packets.plans import HEADER
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["aligned", "first_elements", "first_places", "grow", "most_elements", "outstanding"]

ELEMENTS, PLACES = 2048, 8192
"""Elements of a run besides those of its flows, and places in the queues of ports without lanes, at first."""
FEWEST = 32
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
    acks = plan.delays * plan.bits / (8.0 * HEADER)  # full of ACKs, whether they take time or not
    inside = float((np.minimum(plan.rooms, 1 << 22) + 2.0 + acks).sum())
    messages = _most_messages(plan)
    flows = plan.scenario.flows
    windows = sum(
        4 * min(flow.max_window, flow.size) + 64 if has_window else min(flow.size, 1 << 22)
        for flow, has_window in zip(flows, of_kind(flows, WindowRule), strict=True)
    )
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
    return len(plan.storms()) + float(messages.sum())


def outstanding(plan: Plan) -> NDArray[np.int64]:
    """Return an upper bound of the packets and ACKs queued at each port, (P,)."""
    flows = plan.scenario.flows
    windows = np.array(
        [
            min(4 * flow.max_window if has_window else flow.size, 1 << 24)
            for flow, has_window in zip(flows, of_kind(flows, WindowRule), strict=True)
        ]
    ).astype(np.int64)
    P = len(plan.ports)
    pairs = np.unique(plan.hops.flow * P + plan.hops.port)
    most = np.zeros(P, dtype=np.int64)
    np.add.at(most, pairs % P, windows[pairs // P])
    return np.minimum(most, 1 << 24)


def first_elements(plan: Plan, spare: int, most: int) -> tuple[int, int]:
    """Return how many packets there are at first, at most ``most``, and from how many in use on they should grow."""
    begin = 8 * len(plan.forward) + 8 * len(plan.clocks) + 4 * len(plan.storms()) + ELEMENTS
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
        kept = arrays["ring"][port["ring"] + (index & port["ring_mask"])]
        size = 4 * (int(port["ring_mask"]) + 1)
        port["ring"] = len(arrays["ring"])
        port["ring_mask"], port["alarm"] = size - 1, size // 4
        arrays["ring"] = _longer(arrays["ring"], len(arrays["ring"]) + size)
        arrays["ring"][port["ring"] + (index & port["ring_mask"])] = kept


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with further rows."""
    found = aligned(size * math.prod(array.shape[1:]), array.dtype).reshape(size, *array.shape[1:])
    found[: len(array)] = array
    return found
