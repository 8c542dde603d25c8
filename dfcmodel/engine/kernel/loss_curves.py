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
from .records import PER_FLOW_RATE

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
        shared.tracked[c] = 1.0
        queue.lost_sent = shared.lost_sent[c] = lost
        queue.marks_sent = shared.marks_sent[c] = marked
        for row in range(net.wire.shape[0]):
            net.lost_wire[row, c] = lost
            net.mark_wire[row, c] = marked


@compiled
def fill_order(
    c: int, lost: float, marked: float, link: Any, bands: Any, order: Any
) -> None:
    """Give what waits at queue c in a FIFO queue of several flows constant curves."""
    mask = order.came.shape[0] - 1
    for b in range(link.first_band, link.end_band):
        band = bands[b]
        if band.first <= c < band.end:
            for row in range(band.head, band.tail):
                order.lost[row & mask, c] = lost
                order.marked[row & mask, c] = marked


@compiled
def begin_order(
    queue: Any, c: int, k: int, lost: float, marked: float, net: Any, order: Any
) -> None:
    """Begin the order of a queue that is served alone with all that has come, of constant curves."""
    order.came[0, c] = net.wire[k & (net.wire.shape[0] - 1), queue.origin] - queue.lost
    order.lost[0, c] = lost
    order.marked[0, c] = marked
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
        shared.tracked[net.path[n]] = 0.0
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
    return shared.lost[c], shared.marked[c]


@compiled
def append_row(queue: Any, c: int, k: int, net: Any, order: Any) -> None:
    """Append what has come to a queue that is served alone, up to step k; a full ring joins rows."""
    mask, ring = order.came.shape[0] - 1, net.wire.shape[0] - 1
    if queue.tail - queue.head <= mask:
        queue.tail += 1
    row = (queue.tail - 1) & mask
    order.came[row, c] = net.wire[k & ring, queue.origin] - queue.lost
    order.lost[row, c] = net.lost_wire[k & ring, queue.origin] + queue.lost
    order.marked[row, c] = net.mark_wire[k & ring, queue.origin] + queue.marked


@compiled
def carry_losses(queue: Any, c: int, k: int, quantum: float, net: Any, order: Any) -> None:
    """Let the curves of a queue that is served alone follow what came and left in step k."""
    append_row(queue, c, k, net, order)
    mask = order.came.shape[0] - 1
    while queue.head < queue.tail - 1 and order.came[(queue.head + 1) & mask, c] <= queue.sent:
        queue.head += 1
    low, high = queue.head & mask, (queue.head + 1) & mask
    lost, marked = order.lost[low, c], order.marked[low, c]
    before = order.came[low, c]
    if queue.head < queue.tail - 1 and queue.sent > before:
        part = (queue.sent - before) / (order.came[high, c] - before)
        lost += quantize(part * (order.lost[high, c] - lost), quantum)
        marked += part * (order.marked[high, c] - marked)
    there = (k + queue.lag) & (net.wire.shape[0] - 1)
    more = quantize(queue.weight * (lost - queue.lost_sent), quantum)
    net.lost_wire[there, c] = queue.lost_sent + more
    net.mark_wire[there, c] = queue.marks_sent + queue.weight * (marked - queue.marks_sent)
    queue.lost_sent, queue.marks_sent = lost, marked
