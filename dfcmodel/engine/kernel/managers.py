"""Queue managers: what is dropped or marked of a step's arrivals before a buffer is full, or marked of what leaves.

A manager sees a link's queue and arrivals, and asks for so many packets to be dropped or marked. Whole
packets are taken: each from a flow drawn in proportion to the arrivals of the step, as its fluid comes.
A manager that asks for just as much as came gets all of it. One that marks at departure sees what leaves in place
of what comes, and the queue behind it.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_manager, compiled

from .fifo_queues import sum_of
from .loss_records import note_first, record_loss
from .overflow import take_from_arrivals
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
    """Return a number between 0 and 1 by the generator of Park and Miller (1988)."""
    seed[0] = 48271 * seed[0] % 2147483647
    return float(seed[0] / 2147483647.0)


@compiled
def head_delay(link: Any, h: float, bands: Any, order: Any) -> float:
    """Return for how long, in s, the packet at the head of a link's queue has waited; of several, the shortest."""
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
def managed_backlog(link: Any, bands: Any) -> float:
    """Return what waited before the step in the FIFO queues that a link's manager sees."""
    waits = 0.0
    for b in range(link.first_managed, link.end_managed):
        waits += bands[b].arrivals - bands[b].served
    return waits


@compiled
def draw_victim(amount: float, first: int, end: int, now: Any, before: Any, seed: Any) -> int:
    """Return a queue drawn in proportion to its arrivals of this step, or its departures: ``amount`` in all."""
    at = amount * next_random(seed)
    victim = first
    for c in range(first, end):
        if at >= 0.0 and now[c] > before[c]:
            victim = c
        at -= now[c] - before[c]
    return victim


@compiled
def draw_victims(link: Any, first: int, end: int, shared: Any, seed: Any) -> None:
    """Assign the whole packets that are due to flows; those that cannot be marked are dropped."""
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
def take_all(link: Any, first: int, end: int, shared: Any) -> None:
    """Let every flow owe all that came in this step: to be dropped, or marked where it can be."""
    for c in range(first, end):
        came = shared[ARRIVED, c] - shared[PREVIOUS, c]
        if link.drop < link.arrivals and shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] = came
        else:
            shared[OWED, c] = came
        link.owed += came
    link.due = 0.0
    link.due_marks = 0.0


@compiled
def update_manager(link: Any, first: int, end: int, step: Any, sharing: Any) -> float:
    """Drop and mark what flows owe as far as it has come in this step; return what was dropped."""
    net, shared = sharing.net, sharing.shared
    dropped = 0.0
    owed = 0.0
    for c in range(first, end):
        came = max(0.0, shared[ARRIVED, c] - shared[PREVIOUS, c])
        drop = quantize(min(came, shared[OWED, c]), step.quantum)
        mark = min(came - drop, shared[OWED_MARKS, c])
        shared[NOW, c] = drop
        dropped += drop
        if drop > 0.0 or mark > 0.0:
            position = shared[ARRIVED, c] + shared[LOST_HERE, c]
            if drop > 0.0:
                note_first(net.drops, FIRST_MANAGED, c, step.now)
                net.drops[MANAGED, c] += drop
            lost = Lost(position - came, position, drop, mark, step.now)
            record_loss(c, lost, step.left, net, shared)
        shared[OWED, c] -= drop
        shared[OWED_MARKS, c] -= mark
        owed += shared[OWED, c] + shared[OWED_MARKS, c]
    link.owed = owed
    if dropped > 0.0:
        take_from_arrivals(first, end, shared)
        for c in range(first, end):
            shared[AREA, c] += shared[NOW, c]  # it was never counted as waiting
    return dropped


@compiled
def ask(link: Any, manager: Any, amount: float, step: Any, sharing: Any) -> None:
    """Show a manager a step in which ``amount`` comes, or leaves."""
    link.seen[0] = step.now
    link.seen[1] = step.h
    link.seen[2] = managed_backlog(link, sharing.bands)
    link.seen[3] = amount
    link.seen[4] = link.pace / step.h
    link.seen[5] = head_delay(link, step.h, sharing.bands, sharing.order)
    link.seen[6] = next_random(sharing.seed)
    call_manager(manager, link)


@compiled
def note_mark(c: int, left: float, mark: float, step: Any, sharing: Any) -> None:
    """Note a mark in what left a queue in this step; where losses wait in the queue it is joined to the last."""
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
    """Let a link's manager mark what left in a step, as far as it can be marked."""
    bands, shared, seed = sharing.bands, sharing.shared, sharing.seed
    first, end = bands[link.first_managed].first, bands[link.end_managed - 1].end
    sent, before = shared[SENT], shared[BEFORE]
    amount = sum_of(first, end, sent) - sum_of(first, end, before)
    ask(link, manager, amount, step, sharing)
    if amount <= 0.0:
        return
    every = link.mark == amount
    whole = not every and link.fractional == 0
    link.due_marks = min(link.limit + amount, link.due_marks + link.mark) if whole else 0.0
    while link.due_marks >= 1.0:
        c = draw_victim(amount, first, end, sent, before, seed)
        if shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] += 1.0
        link.due_marks -= 1.0
    for c in range(first, end):
        gone = max(0.0, sent[c] - before[c])
        if link.fractional == 1 and shared[MARKABLE, c] == 1.0:
            shared[OWED_MARKS, c] += link.mark * (gone / amount)
        mark = gone if every and shared[MARKABLE, c] == 1.0 else min(gone, shared[OWED_MARKS, c])
        if mark > 0.0:
            note_mark(c, gone, mark, step, sharing)
        shared[OWED_MARKS, c] = 0.0 if every else shared[OWED_MARKS, c] - mark


@compiled
def manage(link: Any, manager: Any, step: Any, sharing: Any) -> float:
    """Let a link's manager drop and mark in a step; return how many packets it drops.

    It sees all queues of the link, or those of one class.
    """
    bands, shared = sharing.bands, sharing.shared
    first, end = bands[link.first_managed].first, bands[link.end_managed - 1].end
    if link.end_managed - link.first_managed < link.end_band - link.first_band:
        link.arrivals = sum_of(first, end, shared[ARRIVED]) - sum_of(first, end, shared[PREVIOUS])
    ask(link, manager, link.arrivals, step, sharing)
    if link.arrivals <= 0.0:
        return 0.0
    if link.drop == link.arrivals or link.mark == link.arrivals:
        take_all(link, first, end, shared)
    else:  # a packet that is more than came is owed by what comes next; never more than there is room for
        most = link.limit + link.arrivals
        link.due = min(most, link.due + link.drop)
        link.due_marks = min(most, link.due_marks + link.mark)
        draw_victims(link, first, end, shared, sharing.seed)
    if link.owed > 0.0:
        return update_manager(link, first, end, step, sharing)
    return 0.0
