"""Where packets were lost or marked: noted at the queue, found again by the receiver.

Packets of a flow keep their order, so that a queue needs to note a loss only once: of the packets
``first`` to ``end`` that came to it so many were lost and so many marked. The receiver, when it takes in
what has arrived, finds how many packets were sent for it by counting back from queue to queue. Stretches
begin and end where they do, also within a step.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .quantum import quantize
from .records import LOST_HERE, NO_FEEDBACK, PER_FLOW_RATE

__all__ = ["find_losses", "note_first", "record_loss", "record_pushed_out"]


@compiled
def lost_at(c: int, net: Any, shared: Any) -> float:
    """Return how many packets were lost at a queue."""
    queue = net.queues[c]
    alone = net.links[queue.link].kind == PER_FLOW_RATE
    return float(queue.lost if alone else shared[LOST_HERE, c])


@compiled
def begin_records(flow: Any, net: Any, shared: Any) -> None:
    """Set where the receiver stands in what has come to each queue: it knows of all losses so far."""
    at = flow.delivered
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        at += lost_at(net.path[n], net, shared)
        net.queues[net.path[n]].cursor = at


@inlined
def count_loss(flow: Any, amount: float, when: float, left: int) -> None:
    """Add a loss to those of a flow."""
    if amount > 0.0 and flow.all_lost == 0.0:
        flow.first_loss = when
    flow.all_lost += amount
    flow.lost_area += amount * left


@inlined
def note_first(drops: Any, cause: int, c: int, when: float) -> None:
    """Set when queue c first dropped packets for a cause, unless it is set."""
    if not drops[cause, c] <= when:
        drops[cause, c] = when


@compiled
def record_loss(c: int, new: Any, left_steps: int, net: Any, shared: Any) -> None:
    """Note that of packets that came to queue c some were lost, and some marked: ``new``, a `Lost`.

    ``left_steps`` are those up to the next record of the run. A stretch shorter than a packet that touches the
    last one is joined to it, and so is any when the ring is full. The queue's count of losses is the caller's.
    """
    queue = net.queues[c]
    flow = net.flows[queue.flow]
    count_loss(flow, new.lost, new.when, left_steps)
    if flow.source == NO_FEEDBACK:
        return
    if flow.pending == 0:
        begin_records(flow, net, shared)
    mask = net.losses.shape[1] - 1
    if queue.losses_end > queue.losses_first:
        last = net.losses[c, (queue.losses_end - 1) & mask]
        full = queue.losses_end - queue.losses_first > mask
        touches = last.end == new.first and last.end - last.first < 1.0
        if last.end == new.end or full or touches:
            if last.end == new.end and last.marked > 0.0:  # marks of packets lost here are lost, too
                left = last.end - last.first - last.lost
                last.marked *= max(0.0, 1.0 - new.lost / left) if left > 0.0 else 0.0
            last.end = new.end
            last.lost += new.lost
            last.marked += new.marked
            return
    last = net.losses[c, queue.losses_end & mask]
    last.first, last.end, last.lost, last.marked = new.first, new.end, new.lost, new.marked
    queue.losses_end += 1
    flow.pending += 1


@compiled
def record_pushed_out(c: int, waits: float, amount: float, when: float, step: Any, sharing: Any) -> None:
    """Note that ``amount`` at the head of queue c was lost, where ``waits`` of what has come did.

    Stretches that wait behind it become one with it.
    """
    net = sharing.net
    queue = net.queues[c]
    flow = net.flows[queue.flow]
    end = net.wire[step.k & (net.wire.shape[0] - 1), queue.origin]
    count_loss(flow, amount, when, step.left)
    if flow.source == NO_FEEDBACK:
        return
    if flow.pending == 0:
        begin_records(flow, net, sharing.shared)
    mask = net.losses.shape[1] - 1
    begin, until, lost, marked = end, 0.0, amount, 0.0
    while queue.losses_end > queue.losses_first and waits > 0.0:
        last = net.losses[c, (queue.losses_end - 1) & mask]
        full = queue.losses_end - queue.losses_first > mask
        if waits <= begin - last.end and not full:
            break
        first = max(last.first, queue.cursor)
        waits -= begin - first - last.lost
        lost += last.lost
        marked += last.marked
        begin = first
        until = max(until, last.end)
        queue.losses_end -= 1
        flow.pending -= 1
    begin -= max(0.0, waits)
    new = net.losses[c, queue.losses_end & mask]
    new.first, new.end, new.lost = begin, max(until, begin + lost), lost
    new.marked = min(marked, new.end - begin - lost)
    queue.losses_end += 1
    flow.pending += 1


@inlined
def up_to_next_change(queue: Any, losses: Any) -> Any:
    """Return how many packets leave a queue before its density of losses changes, and the arrivals for each."""
    if queue.losses_first == queue.losses_end:
        return math.inf, 1.0
    stretch = losses[queue.losses_first & (losses.shape[0] - 1)]
    before = stretch.first - queue.cursor
    if before > 0.0:
        return before, 1.0
    extent = stretch.end - queue.cursor
    left = extent - stretch.lost
    if left <= 0.0:
        return 0.0, 1.0
    return left, extent / left


@inlined
def count_back(queue: Any, losses: Any, flow: Any, amount: float, quantum: float) -> Any:
    """Follow ``amount`` packets back through a queue: how many came there for them, how many are marked."""
    came = amount
    marked = 0.0
    while queue.losses_first < queue.losses_end:
        stretch = losses[queue.losses_first & (losses.shape[0] - 1)]
        before = max(0.0, stretch.first - queue.cursor)
        if amount <= before:
            break
        amount -= before
        queue.cursor += before
        left = stretch.end - queue.cursor - stretch.lost
        if amount < left:
            part = amount / left
            gone = quantize(part * stretch.lost, quantum)
            seen = part * stretch.marked
            stretch.lost -= gone
            stretch.marked -= seen
            queue.cursor += gone
            came += gone
            marked += seen
            break
        amount -= max(0.0, left)
        came += stretch.lost
        marked += stretch.marked
        queue.cursor = stretch.end
        queue.losses_first += 1
        flow.pending -= 1
    queue.cursor += amount
    return came, marked


@inlined
def marked_once(marked: float, seen: float, piece: float, left: float) -> float:
    """Return how many of ``piece`` packets are marked: ``marked`` at later queues, and some of the others here.

    ``seen`` of ``left`` packets were marked here, which lost ones and those that are marked later share evenly.
    """
    return marked + seen * (piece / left) * (1.0 - marked / piece)


@compiled
def pass_lost(flow: Any, n: int, quantum: float, net: Any) -> Any:
    """Return what `find_losses` does where all of a stretch was lost, at the n-th queue of paths: none arrives."""
    queue, losses = net.queues[net.path[n]], net.losses[net.path[n]]
    sent = losses[queue.losses_first & (losses.shape[0] - 1)].end - queue.cursor
    queue.cursor += sent
    queue.losses_first += 1
    flow.pending -= 1
    for m in range(n - 1, flow.path_first - 1, -1):
        c = net.path[m]
        sent, _ = count_back(net.queues[c], net.losses[c], flow, sent, quantum)
    return 0.0, sent, 0.0


@inlined
def find_losses(flow: Any, arrived: float, quantum: float, net: Any) -> Any:
    """Return the next of ``arrived`` packets up to where the density of losses changes.

    Returns
    -------
    tuple of float
        How many they are, how many were sent for them, and how many are marked.
    """
    piece = arrived
    sent_each = 1.0
    last = flow.path_end  # the first queue of those next to which nothing is left of a stretch
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        leave, came_each = up_to_next_change(net.queues[c], net.losses[c])
        if leave == 0.0:
            last = n
        piece = min(piece, leave / sent_each)
        sent_each *= came_each
    if last < flow.path_end:
        return pass_lost(flow, last, quantum, net)
    piece = max(quantize(piece, quantum), min(arrived, quantum))
    sent = piece
    marked = 0.0
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        left = sent
        sent, seen = count_back(net.queues[c], net.losses[c], flow, left, quantum)
        if seen > 0.0:
            marked = marked_once(marked, seen, piece, left)
    return piece, sent, marked
