"""What a full buffer drops of a step's arrivals."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .loss_records import record_drop
from .quantum import quantize
from .records import FAIR_SHARES

__all__ = ["drop_tail"]


@compiled
def room_left(link: Any, k: int, first: int, end: int, excess: float, net: Any) -> float:
    """Return the part of the step's arrivals that came before the buffer was full."""
    if excess <= 0.0:
        return 1.0
    wire = net.wire
    mask = wire.shape[0] - 1
    here, before = wire[k & mask], wire[(k - 1) & mask]
    growth = 0.0
    for c in range(first, end):
        queue = net.queues[c]
        departures = queue.sent - wire[(k - 1 + queue.lag) & mask, c]
        growth += here[queue.origin] - before[queue.origin] - departures
    return max(0.0, 1.0 - excess / growth)


@compiled
def candidates(link: Any, k: int, first: int, end: int, share: float, net: Any) -> float:
    """Set each queue's ``demand`` to what it may lose of the step's arrivals; return the sum.

    Queues that hold no more than ``share`` are spared.
    """
    mask = net.wire.shape[0] - 1
    here, before = net.wire[k & mask], net.wire[(k - 1) & mask]
    total = 0.0
    for c in range(first, end):
        queue = net.queues[c]
        queue.demand = min(here[queue.origin] - before[queue.origin], queue.backlog)
        if queue.backlog <= share:
            queue.demand = 0.0
        total += queue.demand
    return total


@compiled
def forget_arrivals(link: Any, c: int, amount: float, service: Any) -> None:
    """Take what was dropped out of the last entry of the order of its FIFO queue."""
    for n in range(link.first_band, link.end_band):
        band = service.bands[n]
        if band.first <= c < band.end and band.tail > 0:
            last = (band.tail - 1) & (service.arrived.shape[0] - 1)
            service.arrived[last, c] -= amount
            service.arrived_total[last, n] -= amount


@compiled
def drop_one(
    link: Any, c: int, k: int, fits: float, amount: float, now: float, h: float, left: int,
    quantum: float, net: Any, service: Any,
) -> None:  # fmt: skip
    """Drop ``amount`` packets of queue c, of what arrived after the part ``fits`` of the step."""
    queue = net.queues[c]
    mask = net.wire.shape[0] - 1
    end = net.wire[k & mask, queue.origin]
    begin = net.wire[(k - 1) & mask, queue.origin]
    begin = min(quantize(begin + fits * (end - begin), quantum), end - amount)
    record_drop(net, c, begin, end, amount, 0.0, now + fits * h, left)
    queue.backlog -= amount
    queue.area -= amount
    forget_arrivals(link, c, amount, service)


@compiled
def drop_from(
    link: Any, first: int, end: int, k: int, now: float, h: float, left: int, quantum: float,
    net: Any, service: Any,
) -> None:  # fmt: skip
    """Drop what exceeds the buffer of queues ``first`` .. ``end`` - 1 from what came in step k.

    Flows lose in proportion to what came after the moment in the step when the buffer was full.
    Under fair shares those lose first that have more than their part, under priorities the last.
    """
    queues = net.queues
    excess = -link.limit
    waiting = 0
    for c in range(first, end):
        excess += queues[c].backlog
        if queues[c].backlog > 0.0:
            waiting += 1
    fits = room_left(link, k, first, end, excess, net)
    last_first = link.kind == FAIR_SHARES and link.end_band > link.first_band + 1
    for attempt in range(3):  # those that have more than their part; all; what rounding left
        if excess <= 0.0:
            break
        share = link.limit / waiting if attempt == 0 and link.kind == FAIR_SHARES else -1.0
        total = candidates(link, k, first, end, share, net)
        part = min(1.0, excess / total) if total > 0.0 else 0.0
        for c in range(end - 1, first - 1, -1):
            demand = queues[c].demand
            amount = min(demand, excess)
            if not last_first:
                amount = min(amount, quantize(part * demand, quantum) + quantum)
            if amount > 0.0:
                drop_one(link, c, k, fits, amount, now, h, left, quantum, net, service)
                excess -= amount


@compiled
def drop_tail(
    i: int, k: int, now: float, h: float, left: int, quantum: float, net: Any, service: Any
) -> None:
    """Drop from what came to link i in step k what exceeds its buffer, or those of its flows."""
    link = net.links[i]
    if link.shared == 1:
        drop_from(link, link.first, link.end, k, now, h, left, quantum, net, service)
    else:
        for c in range(link.first, link.end):
            drop_from(link, c, c + 1, k, now, h, left, quantum, net, service)
    link.backlog = 0.0
    for c in range(link.first, link.end):
        link.backlog += net.queues[c].backlog
