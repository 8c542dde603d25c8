"""Drops at a full buffer: a part of a step's arrivals in proportion, or whole packets of a FIFO queue.

Arrivals of the step before the buffer is full are accepted; the losses are spread over the rest of the step.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined, summing

from .loss_records import record_first_drop, record_loss
from .pushed_out import push_out
from .quantum import quantize
from .records import (
    AREA,
    ARRIVED,
    BEFORE,
    FAIR_SHARES,
    FIRST_FULL,
    LOST_HERE,
    NOW,
    PER_FLOW_RATE,
    PREVIOUS,
    SENT,
    Excess,
    Lost,
)
from .whole_losses import draw_losses

__all__ = ["drop_from_range", "drop_tail", "part_before_full", "remove_arrivals", "set_backlog"]


@inlined
def set_backlog(link: Any, bands: Any) -> None:
    """Set the backlog of a link, packets, and the part of it in the shared buffer (``pooled``)."""
    link.backlog = 0.0
    link.pooled = 0.0
    for b in range(link.first_band, link.end_band):
        waits = bands[b].arrivals - bands[b].served
        link.backlog += waits
        if b >= link.first_pooled:
            link.pooled += waits


@inlined
def part_before_full(excess: float, growth: float) -> float:
    """Return the part of a step, 0 to 1, before a buffer is full, from ``excess`` at its end and ``growth`` in it."""
    return max(0.0, 1.0 - excess / growth) if growth > 0.0 else 0.0


@inlined
def record_drop(c: int, amount: float, before_full: float, step: Any, sharing: Any) -> None:
    """Record ``amount`` of queue c's arrivals as dropped when full, after part ``before_full`` of the step."""
    net = sharing.net
    origin, mask = net.queues[c].origin, net.wire.shape[0] - 1
    begin, end = net.wire[(step.k - 1) & mask, origin], net.wire[step.k & mask, origin]
    begin = min(begin + quantize(before_full * (end - begin), step.quantum), end - amount)
    when = step.now + before_full * step.h
    record_first_drop(net.drops, FIRST_FULL, c, when)
    record_loss(c, Lost(begin, end, amount, 0.0, when), step.left, net, sharing.shared)


@summing
def fresh_arrivals(first: int, end: int, shared: Any) -> float:
    """Set ``now`` of queues ``first`` .. ``end`` - 1 to the step's arrivals that still wait; return the sum."""
    arrived, previous, sent, now = shared[ARRIVED], shared[PREVIOUS], shared[SENT], shared[NOW]
    total = 0.0
    for c in range(first, end):
        arrivals = min(arrived[c] - previous[c], arrived[c] - sent[c])
        now[c] = arrivals
        total += arrivals
    return total


@summing
def reduce_to(first: int, end: int, part: float, quantum: float, now: Any) -> float:
    """Multiply ``now`` of queues ``first`` .. ``end`` - 1 by ``part``, rounded up, not above it; return the sum."""
    total = 0.0
    for c in range(first, end):
        amount = min(now[c], quantize(part * now[c], quantum) + quantum)
        now[c] = amount
        total += amount
    return total


@compiled
def remove_arrivals(first: int, end: int, shared: Any) -> None:
    """Move column ``now`` of queues ``first`` .. ``end`` - 1 from accepted arrivals and areas to losses."""
    lost, arrived, area, now = shared[LOST_HERE], shared[ARRIVED], shared[AREA], shared[NOW]
    for c in range(first, end):
        arrived[c] -= now[c]
        lost[c] += now[c]
        area[c] -= now[c]


@inlined
def remove_from_order(b: int, first: int, end: int, amount: float, sharing: Any) -> None:
    """Remove ``now``, sum ``amount``, from the last arrivals at band b, a FIFO of queues ``first`` .. ``end`` - 1."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    remove_arrivals(first, end, shared)
    band.arrivals -= amount
    if band.tail > band.head:
        row = (band.tail - 1) & (order.rows.shape[0] - 1)
        order.total[row, b] -= amount
        row_arrivals, now = order.rows[row], shared[NOW]
        for c in range(first, end):
            row_arrivals[c] -= now[c]


@compiled
def drop_from_bands(link: Any, excess: float, before_full: float, step: Any, sharing: Any) -> None:
    """Drop ``excess`` packets of a link's arrivals, highest rank first, after part ``before_full`` of the step."""
    bands, shared = sharing.bands, sharing.shared
    b = link.end_band - 1
    while b >= link.first_pooled and excess > 0.0:
        rank = bands[b].rank
        low = b
        total = 0.0
        while low >= link.first_pooled and bands[low].rank == rank:
            total += fresh_arrivals(bands[low].first, bands[low].end, shared)
            low -= 1
        if total > 0.0:
            part = min(1.0, excess / total)
            for n in range(low + 1, b + 1):
                over = Excess(excess, part, before_full)
                excess -= drop_from_range(n, bands[n].first, bands[n].end, over, step, sharing)
        b = low


@inlined
def subtract_surplus(first: int, end: int, surplus: float, now: Any) -> float:
    """Subtract ``surplus`` from ``now`` of queues ``first`` .. ``end`` - 1 in turn, not below 0; return how much."""
    left = max(0.0, surplus)
    for c in range(first, end):
        amount = min(now[c], left)
        now[c] -= amount
        left -= amount
        if left == 0.0:
            break
    return max(0.0, surplus) - left


@compiled
def drop_from_range(b: int, first: int, end: int, over: Any, step: Any, sharing: Any) -> float:
    """Drop up to ``over.amount`` of the step's arrivals at FIFO b, queues ``first`` .. ``end`` - 1; return how much."""
    shared = sharing.shared
    arrivals = fresh_arrivals(first, end, shared)
    part = over.part if over.part >= 0.0 else min(1.0, over.amount / arrivals)
    link = sharing.net.links[sharing.bands[b].link]
    if link.loss_seed > 0 and end > first + 1:
        amount = draw_losses(link, first, end, over.amount, shared)
    else:
        amount = reduce_to(first, end, part, step.quantum, shared[NOW])
        amount -= subtract_surplus(first, end, amount - over.amount, shared[NOW])
    for c in range(first, end):
        if shared[NOW, c] > 0.0:
            record_drop(c, shared[NOW, c], over.before_full, step, sharing)
    remove_from_order(b, first, end, amount, sharing)
    return amount


@inlined
def departures(queue: Any, c: int, k: int, wire: Any) -> float:
    """Return the packets that ``queue``, row c, which has a rate of its own and overflows, sent in step k."""
    if queue.weight < 1.0:
        return queue.service
    return min(queue.service, queue.sent - wire[(k - 1 + queue.lag) & (wire.shape[0] - 1), c])


@inlined
def drop_from_queues(link: Any, first: int, end: int, step: Any, sharing: Any) -> None:
    """Drop arrivals beyond the buffer of queues ``first`` .. ``end`` - 1, which have service rates of their own."""
    net, k, quantum = sharing.net, step.k, step.quantum
    mask = net.wire.shape[0] - 1
    arrived, previous = net.wire[k & mask], net.wire[(k - 1) & mask]
    excess = -link.limit
    fresh = 0.0
    growth = 0.0
    for c in range(first, end):
        queue = net.queues[c]
        arrivals = arrived[queue.origin] - previous[queue.origin]
        excess += queue.backlog
        fresh += min(arrivals, queue.backlog)
        growth += arrivals - departures(queue, c, k, net.wire)
    part = min(1.0, excess / fresh) if fresh > 0.0 else 0.0
    before_full = part_before_full(excess, growth)
    for c in range(first, end):
        queue = net.queues[c]
        arrivals = min(arrived[queue.origin] - previous[queue.origin], queue.backlog)
        amount = min(min(arrivals, quantize(part * arrivals, quantum) + quantum), max(0.0, excess))
        if amount > 0.0:
            record_drop(c, amount, before_full, step, sharing)
            queue.lost += amount
            queue.backlog -= amount
            queue.area -= amount
            excess -= amount


@inlined
def drop_tail(i: int, step: Any, sharing: Any) -> None:
    """Drop arrivals of the step beyond link i's buffer or its flows' buffers; update its totals and its queues'."""
    link, bands = sharing.net.links[i], sharing.bands
    if link.kind != PER_FLOW_RATE:
        if link.shared == 1:
            drop_from_link(link, step, sharing)
        else:
            for b in range(link.first_band, link.end_band):
                drop_from_flow_buffers(link, b, step, sharing)
        set_backlog(link, bands)
        link.total = 0.0
        for b in range(link.first_band, link.end_band):
            link.total += bands[b].arrivals
    else:
        for c in range(link.first, link.end, link.per_buffer):
            drop_from_queues(link, c, c + link.per_buffer, step, sharing)


@compiled
def drop_from_link(link: Any, step: Any, sharing: Any) -> None:
    """Drop packets beyond a link's shared buffer (or beyond its part without headroom)."""
    excess = link.pooled - (link.limit - link.reserved)
    before_full = part_before_full(excess, link.growth)
    if link.kind == FAIR_SHARES:
        push_out(link, excess, before_full, step, sharing)
    else:
        drop_from_bands(link, excess, before_full, step, sharing)


@compiled
def drop_from_flow_buffers(link: Any, b: int, step: Any, sharing: Any) -> None:
    """Drop arrivals of the step at band b beyond the buffer, ``link.limit``, of each flow."""
    band, shared = sharing.bands[b], sharing.shared
    fresh_arrivals(band.first, band.end, shared)
    total = 0.0
    for c in range(band.first, band.end):
        excess = shared[ARRIVED, c] - shared[SENT, c] - link.limit
        shared[NOW, c] = min(shared[NOW, c], max(0.0, excess))
        total += shared[NOW, c]
        if shared[NOW, c] > 0.0:
            sent = shared[SENT, c] - shared[BEFORE, c]
            growth = shared[ARRIVED, c] - shared[PREVIOUS, c] - sent
            before_full = part_before_full(excess, growth)
            record_drop(c, shared[NOW, c], before_full, step, sharing)
    remove_from_order(b, band.first, band.end, total, sharing)
