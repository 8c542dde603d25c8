"""Queue managers (AQM): early drops and marks of a step's arrivals, or marks of its departures.

A manager is called with a link's backlog and arrivals, and sets the numbers of packets to drop and to mark. Drops and
marks are whole packets. The flow of each is drawn in proportion to the arrivals of the step, and loses or marks its
next packet's worth of fluid. If a manager requests exactly the arrivals, all of them are dropped or marked.
A manager that marks at departure is called with the departures instead of the arrivals, and the backlog after them.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_manager, compiled

from .fifo_queues import sum_of
from .loss_records import record_first_drop, record_loss
from .overflow import remove_arrivals
from .quantum import quantize
from .records import (
    AREA,
    ARRIVED,
    BEFORE,
    FIRST_MANAGED,
    LOST_HERE,
    MANAGED,
    MARKABLE,
    NOW,
    OWED,
    OWED_MARKS,
    PREVIOUS,
    SENT,
    Lost,
)

__all__ = ["manage", "mark_leaving"]


@compiled
def next_random(seed: Any) -> float:
    """Return a random number in (0, 1) by the generator of Park and Miller (1988); changes ``seed``, an array (1,)."""
    seed[0] = 48271 * seed[0] % 2147483647
    return float(seed[0] / 2147483647.0)


@compiled
def head_delay(link: Any, h: float, bands: Any, order: Any) -> float:
    """Return the shortest wait, s, of head packets in a link's managed queues; 0 if none waits; ``h``: step, s."""
    delay = math.inf
    mask = order.rows.shape[0] - 1
    for b in range(link.first_managed, link.end_managed):
        band = bands[b]
        if band.tail > band.head + 1:
            before = order.total[band.head & mask, b]
            after = order.total[(band.head + 1) & mask, b]
            part = (band.served - before) / (after - before) if after > before else 0.0
            delay = min(delay, (band.tail - 1 - band.head - part) * h)
    return delay if delay < math.inf else 0.0


@compiled
def sum_managed_backlogs(link: Any, bands: Any) -> float:
    """Return the backlog, packets before the step, of the FIFO queues under a link's manager."""
    waits = 0.0
    for b in range(link.first_managed, link.end_managed):
        waits += bands[b].arrivals - bands[b].served
    return waits


@compiled
def draw_victim(amount: float, first: int, end: int, now: Any, before: Any, seed: Any) -> int:
    """Return a queue of ``first`` .. ``end`` - 1 drawn by ``now`` - ``before``, sum ``amount``; changes ``seed``."""
    at = amount * next_random(seed)
    victim = first
    for c in range(first, end):
        if at >= 0.0 and now[c] > before[c]:
            victim = c
        at -= now[c] - before[c]
    return victim


@compiled
def draw_victims(link: Any, first: int, end: int, shared: Any, seed: Any) -> None:
    """Assign a link's due drops and marks, whole packets, to random queues ``first`` .. ``end`` - 1; no ECN: drops."""
    arrived, previous = shared[ARRIVED], shared[PREVIOUS]
    while link.due >= 1.0:
        shared[OWED, draw_victim(link.arrivals, first, end, arrived, previous, seed)] += 1.0
        link.due -= 1.0
        link.owed += 1.0
    while link.due_marks >= 1.0:
        c = draw_victim(link.arrivals, first, end, arrived, previous, seed)
        if shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] += 1.0
        else:
            shared[OWED, c] += 1.0
        link.due_marks -= 1.0
        link.owed += 1.0


@compiled
def assign_all(link: Any, first: int, end: int, shared: Any) -> None:
    """Assign all arrivals at queues ``first`` .. ``end`` - 1 to drops; with ECN to marks if fewer drops are due."""
    for c in range(first, end):
        arrivals = shared[ARRIVED, c] - shared[PREVIOUS, c]
        if link.drop < link.arrivals and shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] = arrivals
        else:
            shared[OWED, c] = arrivals
        link.owed += arrivals
    link.due = 0.0
    link.due_marks = 0.0


@compiled
def update_manager(link: Any, first: int, end: int, step: Any, sharing: Any) -> float:
    """Drop and mark the owed packets among arrivals at queues ``first`` .. ``end`` - 1; return the number dropped."""
    net, shared = sharing.net, sharing.shared
    dropped = 0.0
    owed = 0.0
    for c in range(first, end):
        arrivals = max(0.0, shared[ARRIVED, c] - shared[PREVIOUS, c])
        drop = quantize(min(arrivals, shared[OWED, c]), step.quantum)
        mark = min(arrivals - drop, shared[OWED_MARKS, c])
        shared[NOW, c] = drop
        dropped += drop
        if drop > 0.0 or mark > 0.0:
            position = shared[ARRIVED, c] + shared[LOST_HERE, c]
            if drop > 0.0:
                record_first_drop(net.drops, FIRST_MANAGED, c, step.now)
                net.drops[MANAGED, c] += drop
            lost = Lost(position - arrivals, position, drop, mark, step.now)
            record_loss(c, lost, step.left, net, shared)
        shared[OWED, c] -= drop
        shared[OWED_MARKS, c] -= mark
        owed += shared[OWED, c] + shared[OWED_MARKS, c]
    link.owed = owed
    if dropped > 0.0:
        remove_arrivals(first, end, shared)
        for c in range(first, end):
            shared[AREA, c] += shared[NOW, c]  # these packets were never counted in the backlog
    return dropped


@compiled
def query_manager(link: Any, manager: Any, amount: float, step: Any, sharing: Any) -> None:
    """Call a link's compiled manager with ``amount`` arrivals or departures; it writes its answer to ``link``."""
    link.seen[0] = step.now
    link.seen[1] = step.h
    link.seen[2] = sum_managed_backlogs(link, sharing.bands)
    link.seen[3] = amount
    link.seen[4] = link.pace / step.h
    link.seen[5] = head_delay(link, step.h, sharing.bands, sharing.order)
    link.seen[6] = next_random(sharing.seed)
    call_manager(manager, link)


@compiled
def record_mark(c: int, left: float, mark: float, step: Any, sharing: Any) -> None:
    """Record ``mark`` marks among the ``left`` departures of queue c; an overlapping record takes them in."""
    net, shared = sharing.net, sharing.shared
    queue = net.queues[c]
    end = shared[SENT, c] + shared[LOST_HERE, c]
    if queue.losses_end > queue.losses_first:
        last = net.losses[c, (queue.losses_end - 1) & (net.losses.shape[1] - 1)]
        if last.end > end - left:
            room = last.end - max(last.first, queue.cursor) - last.lost
            last.marked = max(last.marked, min(last.marked + mark, room))
            return
    record_loss(c, Lost(end - left, end, 0.0, mark, step.now), step.left, net, shared)


@compiled
def mark_leaving(link: Any, manager: Any, step: Any, sharing: Any) -> None:
    """Call a link's manager for the departures of a step, and record the marks; it drops nothing."""
    bands, shared, seed = sharing.bands, sharing.shared, sharing.seed
    first, end = bands[link.first_managed].first, bands[link.end_managed - 1].end
    sent, before = shared[SENT], shared[BEFORE]
    amount = sum_of(first, end, sent) - sum_of(first, end, before)
    query_manager(link, manager, amount, step, sharing)
    if amount <= 0.0:
        return
    mark_all = link.mark == amount
    in_packets = not mark_all and link.fractional == 0
    link.due_marks = min(link.limit + amount, link.due_marks + link.mark) if in_packets else 0.0
    while link.due_marks >= 1.0:
        c = draw_victim(amount, first, end, sent, before, seed)
        if shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] += 1.0
        link.due_marks -= 1.0
    for c in range(first, end):
        left = max(0.0, sent[c] - before[c])
        if link.fractional == 1 and shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] += link.mark * (left / amount)
        mark = left if mark_all and shared[MARKABLE, c] == 1.0 else min(left, shared[OWED_MARKS, c])
        if mark > 0.0:
            record_mark(c, left, mark, step, sharing)
        shared[OWED_MARKS, c] = 0.0 if mark_all else shared[OWED_MARKS, c] - mark


@compiled
def manage(link: Any, manager: Any, step: Any, sharing: Any) -> float:
    """Call a link's manager for a step's arrivals; drop and mark in ``link`` and ``sharing``; return packets dropped.

    A manager serves all queues of the link, or the queues of one class.
    """
    bands, shared = sharing.bands, sharing.shared
    first, end = bands[link.first_managed].first, bands[link.end_managed - 1].end
    if link.end_managed - link.first_managed < link.end_band - link.first_band:
        link.arrivals = sum_of(first, end, shared[ARRIVED]) - sum_of(first, end, shared[PREVIOUS])
    query_manager(link, manager, link.arrivals, step, sharing)
    if link.arrivals <= 0.0:
        return 0.0
    if link.drop == link.arrivals or link.mark == link.arrivals:
        assign_all(link, first, end, shared)
    else:  # drops beyond the arrivals are owed by the next ones, up to the size of the buffer
        max_due = link.limit + link.arrivals
        link.due = min(max_due, link.due + link.drop)
        link.due_marks = min(max_due, link.due_marks + link.mark)
        draw_victims(link, first, end, shared, sharing.seed)
    if link.owed > 0.0:
        return update_manager(link, first, end, step, sharing)
    return 0.0
