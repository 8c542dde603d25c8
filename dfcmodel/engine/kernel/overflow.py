"""What a full buffer drops of a step's arrivals: in proportion to the arrivals, or whole packets of a FIFO queue.

Arrivals before the buffer was full find room; the losses of a step are spread over the rest of it.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined, summing

from .loss_records import note_first, record_loss
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

__all__ = ["drop_from_range", "drop_tail", "part_that_fits", "set_backlog", "take_from_arrivals"]


@inlined
def set_backlog(link: Any, bands: Any) -> None:
    """Set what waits at a link, and what of it shares a buffer."""
    link.backlog = 0.0
    link.pooled = 0.0
    for b in range(link.first_band, link.end_band):
        waits = bands[b].arrivals - bands[b].served
        link.backlog += waits
        if b >= link.first_pooled:
            link.pooled += waits


@inlined
def part_that_fits(excess: float, growth: float) -> float:
    """Return which part of a step is over when the buffer is full: its backlog grows evenly."""
    return max(0.0, 1.0 - excess / growth) if growth > 0.0 else 0.0


@inlined
def record_drop(c: int, amount: float, fits: float, step: Any, sharing: Any) -> None:
    """Record that ``amount`` of the arrivals at queue c in a step was dropped, after the part that ``fits``."""
    net = sharing.net
    origin, mask = net.queues[c].origin, net.wire.shape[0] - 1
    begin, end = net.wire[(step.k - 1) & mask, origin], net.wire[step.k & mask, origin]
    begin = min(begin + quantize(fits * (end - begin), step.quantum), end - amount)
    when = step.now + fits * step.h
    note_first(net.drops, FIRST_FULL, c, when)
    record_loss(c, Lost(begin, end, amount, 0.0, when), step.left, net, sharing.shared)


@summing
def fresh_arrivals(first: int, end: int, shared: Any) -> float:
    """Set ``now`` to the arrivals of this step that wait in each queue; return the sum."""
    arrived, previous, sent, now = shared[ARRIVED], shared[PREVIOUS], shared[SENT], shared[NOW]
    total = 0.0
    for c in range(first, end):
        came = min(arrived[c] - previous[c], arrived[c] - sent[c])
        now[c] = came
        total += came
    return total


@summing
def reduce_to(first: int, end: int, part: float, quantum: float, now: Any) -> float:
    """Reduce ``now`` to a part, rounded up to the quantum; return the sum."""
    total = 0.0
    for c in range(first, end):
        amount = min(now[c], quantize(part * now[c], quantum) + quantum)
        now[c] = amount
        total += amount
    return total


@compiled
def take_from_arrivals(first: int, end: int, shared: Any) -> None:
    """Take ``now`` out of what arrived at queues, as lost."""
    lost, arrived, area, now = shared[LOST_HERE], shared[ARRIVED], shared[AREA], shared[NOW]
    for c in range(first, end):
        arrived[c] -= now[c]
        lost[c] += now[c]
        area[c] -= now[c]


@inlined
def take_from_order(b: int, first: int, end: int, amount: float, sharing: Any) -> None:
    """Take ``now``, in all ``amount``, out of the last arrivals at some queues of a band."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    take_from_arrivals(first, end, shared)
    band.arrivals -= amount
    if band.tail > band.head:
        row = (band.tail - 1) & (order.rows.shape[0] - 1)
        order.total[row, b] -= amount
        came, now = order.rows[row], shared[NOW]
        for c in range(first, end):
            came[c] -= now[c]


@compiled
def drop_from_bands(link: Any, excess: float, fits: float, step: Any, sharing: Any) -> None:
    """Drop ``excess`` from the arrivals at the bands in this step, from those of the highest rank first."""
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
                over = Excess(excess, part, fits)
                excess -= drop_from_range(n, bands[n].first, bands[n].end, over, step, sharing)
        b = low


@inlined
def give_back(first: int, end: int, surplus: float, now: Any) -> float:
    """Take ``surplus``, which rounding up has made, out of ``now``; return how much that is."""
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
    """Drop a part of the arrivals at queues of band b in this step; return how much that is, at most the excess."""
    shared = sharing.shared
    came = fresh_arrivals(first, end, shared)
    part = over.part if over.part >= 0.0 else min(1.0, over.amount / came)
    link = sharing.net.links[sharing.bands[b].link]
    if link.loss_seed > 0 and end > first + 1:
        amount = draw_losses(link, first, end, over.amount, shared)
    else:
        amount = reduce_to(first, end, part, step.quantum, shared[NOW])
        amount -= give_back(first, end, amount - over.amount, shared[NOW])
    for c in range(first, end):
        if shared[NOW, c] > 0.0:
            record_drop(c, shared[NOW, c], over.fits, step, sharing)
    take_from_order(b, first, end, amount, sharing)
    return amount


@inlined
def departures(queue: Any, c: int, k: int, wire: Any) -> float:
    """Return what a queue that overflows and is served alone has sent in step k."""
    if queue.weight < 1.0:
        return queue.service
    return min(queue.service, queue.sent - wire[(k - 1 + queue.lag) & (wire.shape[0] - 1), c])


@inlined
def drop_from_queues(link: Any, first: int, end: int, step: Any, sharing: Any) -> None:
    """Drop what exceeds the buffer of queues that are served alone from their arrivals of a step."""
    net, k, quantum = sharing.net, step.k, step.quantum
    mask = net.wire.shape[0] - 1
    here, before = net.wire[k & mask], net.wire[(k - 1) & mask]
    excess = -link.limit
    fresh = 0.0
    growth = 0.0
    for c in range(first, end):
        queue = net.queues[c]
        came = here[queue.origin] - before[queue.origin]
        excess += queue.backlog
        fresh += min(came, queue.backlog)
        growth += came - departures(queue, c, k, net.wire)
    part = min(1.0, excess / fresh) if fresh > 0.0 else 0.0
    fits = part_that_fits(excess, growth)
    for c in range(first, end):
        queue = net.queues[c]
        came = min(here[queue.origin] - before[queue.origin], queue.backlog)
        amount = min(min(came, quantize(part * came, quantum) + quantum), max(0.0, excess))
        if amount > 0.0:
            record_drop(c, amount, fits, step, sharing)
            queue.lost += amount
            queue.backlog -= amount
            queue.area -= amount
            excess -= amount


@inlined
def drop_tail(i: int, step: Any, sharing: Any) -> None:
    """Drop from the arrivals at link i in a step what exceeds its buffer, or those of its flows."""
    link, bands = sharing.net.links[i], sharing.bands
    if link.kind != PER_FLOW_RATE:
        if link.shared == 1:
            drop_from_link(link, step, sharing)
        else:
            for b in range(link.first_band, link.end_band):
                drop_own(link, b, step, sharing)
        set_backlog(link, bands)
        link.total = 0.0
        for b in range(link.first_band, link.end_band):
            link.total += bands[b].arrivals
    else:
        for c in range(link.first, link.end, link.per_buffer):
            drop_from_queues(link, c, c + link.per_buffer, step, sharing)


@compiled
def drop_from_link(link: Any, step: Any, sharing: Any) -> None:
    """Drop what exceeds a buffer that all flows of a link share, or the part of it that they do."""
    excess = link.pooled - (link.limit - link.reserved)
    fits = part_that_fits(excess, link.growth)
    if link.kind == FAIR_SHARES:
        push_out(link, excess, fits, step, sharing)
    else:
        drop_from_bands(link, excess, fits, step, sharing)


@compiled
def drop_own(link: Any, b: int, step: Any, sharing: Any) -> None:
    """Drop what exceeds the buffers that the flows of a band have of their own."""
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
            fits = part_that_fits(excess, growth)
            record_drop(c, shared[NOW, c], fits, step, sharing)
    take_from_order(b, band.first, band.end, total, sharing)
