"""Losses and marks on their way to the receiver, as curves beside what arrives.

With the packets of a flow that have come to a place goes how many were lost, and how many marked,
before them on their way; both wait and travel like the packets themselves. As long as a flow loses
nothing the curves are constant and nobody keeps them: a flow is *tracked* from a loss or a mark on
until its receiver knows of all.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .quantum import quantize
from .records import (
    IS_TRACKED,
    LOST,
    LOST_HERE,
    LOST_SENT,
    MARKED,
    MARKED_HERE,
    MARKS_SENT,
    PACKETS,
    PER_FLOW_RATE,
)

__all__ = ["all_lost", "append_row", "carry_losses", "start_tracking", "stop_tracking"]


@compiled
def start_tracking(f: int, k: int, net: Any, order: Any, shared: Any, bands: Any) -> None:
    """Keep the curves of flow f from step k on: what is on its way has the same before it."""
    flow = net.flows[f]
    flow.tracked = 1
    lost = 0.0
    marked = 0.0
    for n in range(flow.path_first - 1, flow.path_end):
        c = net.path[n] if n >= flow.path_first else f
        queue = net.queues[c]
        if n >= flow.path_first:
            link = net.links[queue.link]
            link.tracked += 1
            own_lost, own_marked = own_losses(queue, c, link, shared)
            lost += own_lost
            marked += own_marked
            if link.kind == PER_FLOW_RATE:
                begin_order(queue, c, k, lost, marked, net, order)
            else:
                fill_order(c, lost, marked, link, bands, order)
        queue.tracked = 1
        shared[IS_TRACKED, c] = 1.0
        queue.lost_sent = shared[LOST_SENT, c] = lost
        queue.marks_sent = shared[MARKS_SENT, c] = marked
        for row in range(net.wire.shape[1]):
            net.wire[LOST, row, c] = lost
            net.wire[MARKED, row, c] = marked


@compiled
def fill_order(c: int, lost: float, marked: float, link: Any, bands: Any, order: Any) -> None:
    """Give what waits at queue c in a FIFO queue of several flows constant curves."""
    mask = order.rows.shape[1] - 1
    for b in range(link.first_band, link.end_band):
        band = bands[b]
        if band.first <= c < band.end:
            for row in range(band.head, band.tail):
                order.rows[LOST, row & mask, c] = lost
                order.rows[MARKED, row & mask, c] = marked


@compiled
def begin_order(
    queue: Any, c: int, k: int, lost: float, marked: float, net: Any, order: Any
) -> None:
    """Begin the order of a queue that is served alone with all that has come, of constant curves."""
    order.rows[PACKETS, 0, c] = (
        net.wire[PACKETS, k & (net.wire.shape[1] - 1), queue.origin] - queue.lost
    )
    order.rows[LOST, 0, c] = lost
    order.rows[MARKED, 0, c] = marked
    queue.head = 0
    queue.tail = 1


@compiled
def stop_tracking(f: int, net: Any, shared: Any) -> None:
    """Forget the curves of flow f: its receiver knows of all losses and marks."""
    flow = net.flows[f]
    flow.tracked = 0
    net.queues[f].tracked = 0
    for n in range(flow.path_first, flow.path_end):
        queue = net.queues[net.path[n]]
        queue.tracked = 0
        shared[IS_TRACKED, net.path[n]] = 0.0
        net.links[queue.link].tracked -= 1


@compiled
def all_lost(flow: Any, net: Any, shared: Any) -> Any:
    """Return how many packets of a flow were lost and how many marked, in all queues."""
    lost = 0.0
    marked = 0.0
    for n in range(flow.path_first, flow.path_end):
        c = net.path[n]
        queue = net.queues[c]
        own_lost, own_marked = own_losses(queue, c, net.links[queue.link], shared)
        lost += own_lost
        marked += own_marked
    return lost, marked


@compiled
def own_losses(queue: Any, c: int, link: Any, shared: Any) -> Any:
    """Return how many packets were lost and marked at a queue."""
    if link.kind == PER_FLOW_RATE:
        return queue.lost, queue.marked
    return shared[LOST_HERE, c], shared[MARKED_HERE, c]


@compiled
def append_row(queue: Any, c: int, k: int, net: Any, order: Any) -> None:
    """Append what has come to a queue that is served alone, up to step k; a full ring joins rows."""
    mask, ring = order.rows.shape[1] - 1, net.wire.shape[1] - 1
    if queue.tail - queue.head <= mask:
        queue.tail += 1
    row = (queue.tail - 1) & mask
    order.rows[PACKETS, row, c] = net.wire[PACKETS, k & ring, queue.origin] - queue.lost
    order.rows[LOST, row, c] = net.wire[LOST, k & ring, queue.origin] + queue.lost
    order.rows[MARKED, row, c] = net.wire[MARKED, k & ring, queue.origin] + queue.marked


@compiled
def carry_losses(queue: Any, c: int, k: int, quantum: float, net: Any, order: Any) -> None:
    """Let the curves of a queue that is served alone follow what came and left in step k."""
    append_row(queue, c, k, net, order)
    mask = order.rows.shape[1] - 1
    while (
        queue.head < queue.tail - 1
        and order.rows[PACKETS, (queue.head + 1) & mask, c] <= queue.sent
    ):
        queue.head += 1
    low, high = queue.head & mask, (queue.head + 1) & mask
    lost, marked = order.rows[LOST, low, c], order.rows[MARKED, low, c]
    before = order.rows[PACKETS, low, c]
    if queue.head < queue.tail - 1 and queue.sent > before:
        part = (queue.sent - before) / (order.rows[PACKETS, high, c] - before)
        lost += quantize(part * (order.rows[LOST, high, c] - lost), quantum)
        marked += part * (order.rows[MARKED, high, c] - marked)
    there = (k + queue.lag) & (net.wire.shape[1] - 1)
    more = quantize(queue.weight * (lost - queue.lost_sent), quantum)
    net.wire[LOST, there, c] = queue.lost_sent + more
    net.wire[MARKED, there, c] = queue.marks_sent + queue.weight * (marked - queue.marks_sent)
    queue.lost_sent, queue.marks_sent = lost, marked
