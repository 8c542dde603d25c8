"""What a full buffer drops of a step's arrivals: flows lose in proportion to what came.

What came before the buffer was full finds room; a step's losses are spread over its arrivals.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled, summing
from .loss_curves import append_row, start_tracking
from .quantum import quantize
from .records import (
    AREA,
    ARRIVED,
    FAIR_SHARES,
    IS_TRACKED,
    LOST,
    LOST_AREA,
    LOST_HERE,
    NOW,
    PACKETS,
    PER_FLOW_RATE,
    PREVIOUS,
    SENT,
)

__all__ = ["drop_tail", "take_from_arrivals"]


@compiled
def note_first_loss(f: int, net: Any, excess: float, growth: float, now: float, h: float) -> None:
    """Note when a flow lost its first packet: at the moment in the step when the buffer was full."""
    flow = net.flows[f]
    if flow.first_loss != flow.first_loss:
        part = max(0.0, 1.0 - excess / growth) if growth > 0.0 else 0.0
        flow.first_loss = now + part * h


@summing
def fresh_arrivals(first: int, end: int, shared: Any) -> float:
    """Set ``now`` to what came to each queue in this step and waits; return the sum."""
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


@summing
def untracked_losers(first: int, end: int, now: Any, tracked: Any) -> float:
    """Return how many flows lose something and are not tracked."""
    total = 0.0
    for c in range(first, end):
        total += (1.0 - tracked[c]) * (1.0 if now[c] > 0.0 else 0.0)
    return total


@compiled
def take_from_arrivals(
    first: int, end: int, left: int, lost: Any, arrived: Any, area: Any, lost_area: Any, now: Any
) -> None:
    """Take ``now`` out of what arrived at queues, as lost, ``left`` steps before the next record."""
    for c in range(first, end):
        arrived[c] -= now[c]
        lost[c] += now[c]
        area[c] -= now[c]
        lost_area[c] += now[c] * left


@compiled
def take_from_row(first: int, end: int, now: Any, came: Any, lost: Any) -> None:
    """Take ``now`` out of the last row of an order."""
    for c in range(first, end):
        came[c] -= now[c]
        lost[c] += now[c]


@compiled
def track_losers(
    first: int, end: int, k: int, excess: float, growth: float, now: float, h: float, net: Any,
    order: Any, shared: Any, bands: Any,
) -> None:  # fmt: skip
    """Start to track the flows that lose something, and note their first losses."""
    for c in range(first, end):
        if shared[NOW, c] > 0.0 and shared[IS_TRACKED, c] == 0.0:
            f = net.queues[c].flow
            note_first_loss(f, net, excess, growth, now, h)
            start_tracking(f, k, net, order, shared, bands)


@compiled
def drop_from_bands(
    link: Any, k: int, excess: float, spared: float, now: float, h: float, left: int,
    quantum: float, net: Any, order: Any, shared: Any, bands: Any,
) -> float:  # fmt: skip
    """Drop ``excess`` from what came to the bands that hold more than ``spared``; return what is left.

    Bands of the highest rank lose first.
    """
    b = link.end_band - 1
    while b >= link.first_band and excess > 0.0:
        rank = bands[b].rank
        low = b
        total = 0.0
        while low >= link.first_band and bands[low].rank == rank:
            band = bands[low]
            if band.arrivals - band.served > spared:
                total += fresh_arrivals(band.first, band.end, shared)
            low -= 1
        if total > 0.0:
            part = min(1.0, excess / total)
            for n in range(low + 1, b + 1):
                band = bands[n]
                if band.arrivals - band.served > spared:
                    excess -= drop_from_band(
                        link, band, n, k, part, excess, now, h, left, quantum, net, order, shared,
                        bands,
                    )  # fmt: skip
        b = low
    return excess


@compiled
def drop_from_band(
    link: Any, band: Any, b: int, k: int, part: float, excess: float, now: float, h: float,
    left: int, quantum: float, net: Any, order: Any, shared: Any, bands: Any,
) -> float:  # fmt: skip
    """Drop a part of what came to a band in this step; return how much that is."""
    first, end = band.first, band.end
    fresh = fresh_arrivals(first, end, shared)
    amount = reduce_to(first, end, part, quantum, shared[NOW])
    if untracked_losers(first, end, shared[NOW], shared[IS_TRACKED]) > 0.0:
        growth = link.arrivals - link.pace
        track_losers(first, end, k, excess, growth, now, h, net, order, shared, bands)
    take_from_arrivals(
        first,
        end,
        left,
        shared[LOST_HERE],
        shared[ARRIVED],
        shared[AREA],
        shared[LOST_AREA],
        shared[NOW],
    )
    if band.tail > band.head:
        row = (band.tail - 1) & (order.rows.shape[1] - 1)
        take_from_row(first, end, shared[NOW], order.rows[PACKETS, row], order.rows[LOST, row])
        order.total[row, b] -= amount
    band.arrivals -= amount
    return amount if fresh > 0.0 else 0.0


@compiled
def drop_from_queue(
    c: int, k: int, excess: float, growth: float, now: float, h: float, left: int, net: Any,
    order: Any, shared: Any, bands: Any,
) -> None:  # fmt: skip
    """Drop ``excess`` packets of what came in step k to a queue that is served alone."""
    queue = net.queues[c]
    mask, ring = order.rows.shape[1] - 1, net.wire.shape[1] - 1
    if queue.tracked == 0:
        note_first_loss(queue.flow, net, excess, growth, now, h)
        start_tracking(queue.flow, k, net, order, shared, bands)
        order.rows[PACKETS, 0, c] = net.wire[PACKETS, (k - 1) & ring, queue.origin] - queue.lost
        append_row(queue, c, k, net, order)
    row = (queue.tail - 1) & mask
    order.rows[PACKETS, row, c] -= excess
    order.rows[LOST, row, c] += excess
    queue.lost += excess
    queue.backlog -= excess
    queue.area -= excess
    queue.lost_area += excess * left


@compiled
def drop_from_queues(
    link: Any, first: int, end: int, k: int, now: float, h: float, left: int, quantum: float,
    net: Any, order: Any, shared: Any, bands: Any,
) -> None:  # fmt: skip
    """Drop what exceeds the buffer of queues that are served alone from what came to them in step k."""
    ring = net.wire.shape[1] - 1
    here, before = net.wire[PACKETS, k & ring], net.wire[PACKETS, (k - 1) & ring]
    excess = -link.limit
    fresh = 0.0
    growth = 0.0
    for c in range(first, end):
        queue = net.queues[c]
        came = here[queue.origin] - before[queue.origin]
        excess += queue.backlog
        fresh += min(came, queue.backlog)
        growth += came - queue.service
    part = min(1.0, excess / fresh) if fresh > 0.0 else 0.0
    for c in range(first, end):
        queue = net.queues[c]
        came = min(here[queue.origin] - before[queue.origin], queue.backlog)
        amount = min(min(came, quantize(part * came, quantum) + quantum), max(0.0, excess))
        if amount > 0.0:
            drop_from_queue(c, k, amount, growth, now, h, left, net, order, shared, bands)
            excess -= amount


@compiled
def drop_tail(
    i: int, k: int, now: float, h: float, left: int, quantum: float, net: Any, order: Any,
    shared: Any, bands: Any,
) -> None:  # fmt: skip
    """Drop from what came to link i in step k what exceeds its buffer, or those of its flows."""
    link = net.links[i]
    if link.kind != PER_FLOW_RATE:
        if link.shared == 1:
            excess = link.backlog - link.limit
            if link.kind == FAIR_SHARES:  # first of those that have more than their part
                spared = link.limit / waiting_bands(link, bands)
                excess = drop_from_bands(
                    link, k, excess, spared, now, h, left, quantum, net, order, shared, bands
                )
            drop_from_bands(link, k, excess, -1.0, now, h, left, quantum, net, order, shared, bands)
        else:
            for b in range(link.first_band, link.end_band):
                drop_own(link, bands[b], b, k, now, h, left, quantum, net, order, shared, bands)
        link.backlog = 0.0
        link.total = 0.0
        for b in range(link.first_band, link.end_band):
            link.backlog += bands[b].arrivals - bands[b].served
            link.total += bands[b].arrivals
    elif link.shared == 1:
        drop_from_queues(
            link, link.first, link.end, k, now, h, left, quantum, net, order, shared, bands
        )
    else:
        for c in range(link.first, link.end):
            drop_from_queues(link, c, c + 1, k, now, h, left, quantum, net, order, shared, bands)


@compiled
def waiting_bands(link: Any, bands: Any) -> int:
    """Return how many bands of a link have something that waits."""
    n = 0
    for b in range(link.first_band, link.end_band):
        if bands[b].arrivals > bands[b].served:
            n += 1
    return n


@compiled
def drop_own(
    link: Any, band: Any, b: int, k: int, now: float, h: float, left: int, quantum: float,
    net: Any, order: Any, shared: Any, bands: Any,
) -> None:  # fmt: skip
    """Drop what exceeds the buffers that the flows of a band have of their own."""
    fresh_arrivals(band.first, band.end, shared)
    total = 0.0
    for c in range(band.first, band.end):
        over = shared[ARRIVED, c] - shared[SENT, c] - link.limit
        shared[NOW, c] = min(shared[NOW, c], max(0.0, over))
        total += shared[NOW, c]
    track_losers(band.first, band.end, k, total, link.arrivals, now, h, net, order, shared, bands)
    take_from_arrivals(
        band.first, band.end, left, shared[LOST_HERE], shared[ARRIVED], shared[AREA], shared[LOST_AREA],
        shared[NOW],
    )  # fmt: skip
    if band.tail > band.head:
        row = (band.tail - 1) & (order.rows.shape[1] - 1)
        take_from_row(
            band.first, band.end, shared[NOW], order.rows[PACKETS, row], order.rows[LOST, row]
        )
        order.total[row, b] -= total
    band.arrivals -= total
