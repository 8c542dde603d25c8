"""Random early detection: what is dropped or marked before a buffer is full (Floyd and Jacobson 1993)."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .loss_records import record_drop
from .quantum import quantize

__all__ = ["drop_early"]


@compiled
def next_random(seed: Any) -> float:
    """Return a number between 0 and 1 by the generator of Park and Miller (1988)."""
    seed[0] = 48271 * seed[0] % 2147483647
    return float(seed[0] / 2147483647.0)


@compiled
def drop_probability(link: Any) -> float:
    """Return the probability to drop a packet at the link's average queue."""
    p = 0.0
    if link.average >= link.high:
        p = 1.0
        if link.gentle == 1:
            p = min(1.0, link.max_p + (1.0 - link.max_p) * (link.average / link.high - 1.0))
    elif link.average >= link.low:
        p = link.max_p * (link.average - link.low) / (link.high - link.low)
    return min(1.0, p * link.unit)


@compiled
def draw_victim(link: Any, fresh: float, queues: Any, seed: Any) -> int:
    """Return the queue that the next packet is dropped from: by chance, in proportion to arrivals."""
    victim = link.first
    at = fresh * next_random(seed)
    for c in range(link.first, link.end - 1):
        at -= queues[c].demand - queues[c].sent - queues[c].backlog
        if at > 0.0:
            victim = c + 1
    return victim


@compiled
def drop_early(
    link: Any, fresh: float, when: float, left: int, quantum: float, net: Any, seed: Any
) -> float:
    """Drop or mark whole packets out of ``fresh`` that arrived at a link; return what was dropped.

    An empty queue counts as a step's service of arrivals of none, as ns-2 has it. ``demand`` is what
    arrived at each queue and was not dropped; what is dropped is taken from it.
    """
    queues = net.queues
    arrivals = max(fresh, link.pace) if link.backlog == 0.0 else fresh
    weight = 1.0 - (1.0 - link.weight) ** arrivals
    link.average += weight * (link.backlog * link.unit - link.average)
    p = drop_probability(link)
    if p >= 1.0:
        link.owed = fresh
    elif p > 0.0 and link.owed <= 0.0:
        link.owed += p * fresh
        if link.owed > 0.0:
            link.owed = 1.0
            link.victim = draw_victim(link, fresh, queues, seed)
    dropped = 0.0
    if link.owed <= 0.0:
        return dropped
    for c in range(link.first, link.end):
        queue = queues[c]
        new = queue.demand - queue.sent - queue.backlog
        amount = min(new, quantize(link.owed, quantum))
        if amount <= 0.0 or (p < 1.0 and c != link.victim):
            continue
        link.owed -= amount
        end = queue.demand + queue.lost
        marked = 0.0
        marks = link.ecn == 1 and net.flows[queue.flow].has_window == 1
        if marks and link.average < link.high:  # RFC 3168, 7
            marked = amount
            amount = 0.0
        record_drop(net, c, end - new, end, amount, marked, when, left)
        queue.demand -= amount
        dropped += amount
    if link.owed <= 0.0 or p >= 1.0:  # the next one comes after 1/p to 2/p packets
        link.owed = -1.0 - next_random(seed)
    return dropped
