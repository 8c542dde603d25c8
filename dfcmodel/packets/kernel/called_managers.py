"""Queue managers that are called by address."""

from __future__ import annotations

from typing import Any, NamedTuple

from hopflow.kernels.marks import call_manager, compiled

from .random_numbers import uniform

__all__ = ["ACCEPT", "DROP", "MARK", "Backlog", "ask"]

DROP, ACCEPT, MARK = 0, 1, 2


class Backlog(NamedTuple):
    """Queue as its manager sees it: packets waiting, buffer + 1 in packets, capacity, packets/s, head's delay, s."""

    waiting: float  # packets
    most: float  # for which there is room, and one more
    capacity: float  # packets/s
    delay: float  # of the packet at the head so far, s


@compiled
def ask(net: Any, p: int, now: float, backlog: Any) -> int:
    """Call port p's compiled manager for an arrival; return ACCEPT, MARK or DROP; sums up fractions, draws a number."""
    m = net.called[p]
    m.seen[0] = now
    m.seen[1] = now - m.last
    m.seen[2] = backlog.waiting
    m.seen[3] = 1.0
    m.seen[4] = backlog.capacity
    m.seen[5] = backlog.delay
    m.seen[6] = uniform(net.stream, p)
    m.last = now
    call_manager(net.managers[m.kind], m)
    if m.drop == 1.0 or m.mark == 1.0:
        m.due = 0.0
        m.due_marks = 0.0
        return DROP if m.drop == 1.0 else MARK
    m.due = min(backlog.most, m.due + m.drop)
    m.due_marks = min(backlog.most, m.due_marks + m.mark)
    if m.due >= 1.0:
        m.due -= 1.0
        return DROP
    if m.due_marks >= 1.0:
        m.due_marks -= 1.0
        return MARK
    return ACCEPT
