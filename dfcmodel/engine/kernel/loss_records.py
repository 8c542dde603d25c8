"""Loss records: written at the queue that drops, resolved by the receiver.

Everything is counted in cumulative packets: what arrived at a queue, what it lost, what it sent. A
drop is one record (first, end, lost, marked) in the numbering of what arrived at that queue; the order
of packets never changes, so that the receiver, when it takes in what came, finds how much is missing
of it by counting back from queue to queue.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .quantum import quantize

__all__ = ["attribute_losses", "record_drop"]


@compiled
def start_cursors(flow: Any, net: Any) -> None:
    """Note where the receiver of a flow stands at each queue of its path, before a first record."""
    arrived = flow.delivered
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        queue = net.queues[net.path[n]]
        arrived += queue.lost
        queue.cursor = arrived


@compiled
def record_drop(
    net: Any, c: int, first: float, end: float, lost: float, marked: float, when: float, left: int
) -> None:
    """Record that of ``first`` .. ``end`` at queue c so much was lost and so much marked.

    ``when`` is the time in s, ``left`` how many steps remain up to the next record of the run. A
    stretch below one packet that touches the last one is joined to it, and so is any when the ring
    is full.
    """
    queue = net.queues[c]
    flow = net.flows[queue.flow]
    size = net.drops.shape[1]  # a power of two
    if flow.pending_drops == 0:
        start_cursors(flow, net)
    if lost > 0.0 and flow.lost == 0.0:
        flow.first_loss = when
    queue.lost += lost
    flow.lost += lost
    flow.lost_area += lost * left
    if queue.end_drop > queue.first_drop:
        last = net.drops[c, (queue.end_drop - 1) & (size - 1)]
        full = queue.end_drop - queue.first_drop == size
        touches = last.end == first and last.end - last.first < 1.0
        if last.end == end or full or touches:
            last.end = end
            last.lost += lost
            last.marked += marked
            return
    drop = net.drops[c, queue.end_drop & (size - 1)]
    drop.first = first
    drop.end = end
    drop.lost = lost
    drop.marked = marked
    queue.end_drop += 1
    flow.pending_drops += 1


@compiled
def next_boundary(queue: Any, drops: Any, c: int) -> Any:
    """Return how much leaves a queue up to where its density of losses changes, and its arrivals per packet."""
    if queue.first_drop == queue.end_drop:
        return 1e300, 1.0
    drop = drops[c, queue.first_drop & (drops.shape[1] - 1)]
    before = drop.first - queue.cursor
    if before > 0.0:
        return before, 1.0
    extent = drop.end - queue.cursor
    departures = extent - drop.lost
    if departures <= 0.0:
        return 0.0, 1.0
    return departures, extent / departures


@compiled
def consume_records(
    flow: Any, queue: Any, drops: Any, c: int, amount: float, quantum: float
) -> Any:
    """Follow ``amount`` packets back through queue c: what arrived for them, how many are marked."""
    arrived = amount
    marked = 0.0
    while queue.first_drop < queue.end_drop:
        drop = drops[c, queue.first_drop & (drops.shape[1] - 1)]
        before = max(0.0, drop.first - queue.cursor)
        if amount <= before:
            break
        amount -= before
        queue.cursor += before
        departures = drop.end - queue.cursor - drop.lost
        if amount < departures:
            part = amount / departures
            gone = quantize(part * drop.lost, quantum)
            seen = part * drop.marked
            drop.lost -= gone
            drop.marked -= seen
            queue.cursor += gone
            arrived += gone
            marked += seen
            break
        amount -= max(0.0, departures)
        arrived += drop.lost
        marked += drop.marked
        queue.cursor = drop.end
        queue.first_drop += 1
        flow.pending_drops -= 1
    queue.cursor += amount
    return arrived, marked


@compiled
def attribute_losses(flow: Any, net: Any, left: float, quantum: float) -> Any:
    """Take the next packets of one density of losses out of ``left`` that came to a receiver.

    Returns how many they are, how many were sent for them, and how many are marked.
    """
    piece = left
    density = 1.0
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        departures, arrivals_each = next_boundary(net.queues[c], net.drops, c)
        piece = min(piece, departures / density)
        density *= arrivals_each
    piece = max(quantize(piece, quantum), min(left, quantum))
    arrived = piece
    marked = 0.0
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        arrived, seen = consume_records(flow, net.queues[c], net.drops, c, arrived, quantum)
        marked += seen
    return piece, arrived, marked
