"""Losses and marks: recorded at the queue, evaluated by the receiver.

Packets of a flow keep their order, so that a queue records a loss once: the numbers of lost and of marked packets
among its arrivals ``first`` to ``end``, a *stretch*. For its arrivals the receiver counts back from queue to queue how
many packets were sent for them. Stretches may begin and end within a step.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .quantum import quantize
from .records import LOST_HERE, NO_FEEDBACK, PER_FLOW_RATE

__all__ = ["find_losses", "record_first_drop", "record_loss", "record_pushed_out"]


@compiled
def lost_at(c: int, net: Any, shared: Any) -> float:
    """Return the packets lost at queue c since the start."""
    queue = net.queues[c]
    alone = net.links[queue.link].kind == PER_FLOW_RATE
    return float(queue.lost if alone else shared[LOST_HERE, c])


@compiled
def begin_records(flow: Any, net: Any, shared: Any) -> None:
    """Set positions ``cursor`` of a flow's queues behind all its deliveries and losses; only if ``pending`` is 0."""
    at = flow.delivered
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        at += lost_at(net.path[n], net, shared)
        net.queues[net.path[n]].cursor = at


@inlined
def count_loss(flow: Any, amount: float, when: float, left: int) -> None:
    """Add ``amount`` packets to a flow's losses at ``when``, s; they count in ``left`` steps up to the next record."""
    if amount > 0.0 and flow.all_lost == 0.0:
        flow.first_loss = when
    flow.all_lost += amount
    flow.lost_area += amount * left


@inlined
def record_first_drop(drops: Any, cause: int, c: int, when: float) -> None:
    """Set the time of queue c's first drop by a cause, a row of ``drops``, to ``when``, s, unless it was earlier."""
    if not drops[cause, c] <= when:
        drops[cause, c] = when


@compiled
def record_loss(c: int, new: Any, left_steps: int, net: Any, shared: Any) -> None:
    """Record losses and marks among arrivals at queue c, ``new``; ``left_steps`` remain up to the next record.

    ``left_steps`` remain up to the next record of the run. A new stretch is joined to the last one if both end at the
    same packet, if they touch and the last one is shorter than a packet, or if the ring is full. The caller updates
    the queue's total of losses.
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
            if last.end == new.end and last.marked > 0.0:  # the marks of packets that are lost here are lost as well
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
def record_pushed_out(c: int, backlog: float, amount: float, when: float, step: Any, sharing: Any) -> None:
    """Record that ``amount`` of the ``backlog`` packets in queue c, at its head, was lost at time ``when``, s.

    Stretches of packets behind them are joined to theirs.
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
    while queue.losses_end > queue.losses_first and backlog > 0.0:
        last = net.losses[c, (queue.losses_end - 1) & mask]
        full = queue.losses_end - queue.losses_first > mask
        if backlog <= begin - last.end and not full:
            break
        first = max(last.first, queue.cursor)
        backlog -= begin - first - last.lost
        lost += last.lost
        marked += last.marked
        begin = first
        until = max(until, last.end)
        queue.losses_end -= 1
        flow.pending -= 1
    begin -= max(0.0, backlog)
    new = net.losses[c, queue.losses_end & mask]
    new.first, new.end, new.lost = begin, max(until, begin + lost), lost
    new.marked = min(marked, new.end - begin - lost)
    queue.losses_end += 1
    flow.pending += 1


@inlined
def next_density_change(queue: Any, losses: Any) -> Any:
    """Return (departures before the loss density changes, or inf, arrivals per departure); 0 departures: all lost."""
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
    """Return (arrivals at a queue, marked ones among them) that account for ``amount`` departures; consumes records."""
    arrivals = amount
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
            lost = quantize(part * stretch.lost, quantum)
            marks = part * stretch.marked
            stretch.lost -= lost
            stretch.marked -= marks
            queue.cursor += lost
            arrivals += lost
            marked += marks
            break
        amount -= max(0.0, left)
        arrivals += stretch.lost
        marked += stretch.marked
        queue.cursor = stretch.end
        queue.losses_first += 1
        flow.pending -= 1
    queue.cursor += amount
    return arrivals, marked


@inlined
def count_marks(marked: float, marks: float, piece: float, departures: float) -> float:
    """Return how many of ``piece`` > 0 packets are marked: ``marked`` by later queues, some by this one's ``marks``.

    This queue marked ``marks`` of its ``departures`` (> 0), evenly over packets that are later lost, marked or neither.
    """
    return marked + marks * (piece / departures) * (1.0 - marked / piece)


@compiled
def skip_lost_stretch(flow: Any, n: int, quantum: float, net: Any) -> Any:
    """Move the cursors past arrivals all lost at entry n of `net.path`; return (0, packets sent for them, 0)."""
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
    """Consume records of the next arrivals, up to ``arrived``, of one loss density; return (packets, sent, marked).

    Returns
    -------
    tuple of float
        Number of packets, of packets that were sent for them, and of marked packets.
    """
    piece = arrived
    sent_per_arrival = 1.0
    last = flow.path_end  # index of the first queue at whose next stretch all packets were lost
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        departures, arrivals_per_departure = next_density_change(net.queues[c], net.losses[c])
        if departures == 0.0:
            last = n
        piece = min(piece, departures / sent_per_arrival)
        sent_per_arrival *= arrivals_per_departure
    if last < flow.path_end:
        return skip_lost_stretch(flow, last, quantum, net)
    piece = max(quantize(piece, quantum), min(arrived, quantum))
    sent = piece
    marked = 0.0
    for n in range(flow.path_end - 1, flow.path_first - 1, -1):
        c = net.path[n]
        left = sent
        sent, marks = count_back(net.queues[c], net.losses[c], flow, left, quantum)
        if marks > 0.0:
            marked = count_marks(marked, marks, piece, left)
    return piece, sent, marked
