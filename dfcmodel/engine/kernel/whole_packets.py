"""What a full FIFO queue drops of senders of whole packets: whole ones, of those that begin to come.

A packet that finds the buffer full is dropped; which of those that begin to come in a step do is drawn. What comes
of such a packet in later steps is dropped then.
"""

from __future__ import annotations

import math
from typing import Any

from .jit import compiled, inlined
from .loss_records import record_loss
from .overflow import part_that_fits, take_from_arrivals
from .quantum import TINY
from .records import AREA, BEGUN, END, LOST_HERE, NOW, OWED, PREVIOUS

__all__ = ["drop_whole"]


@inlined
def draw_flow(link: Any, total: float, begun: Any) -> int:
    """Return a queue drawn in proportion to the packets that begin to come to each, in all ``total`` > 0."""
    link.loss_seed = 48271 * link.loss_seed % 2147483647  # Park and Miller's generator
    at = total * (link.loss_seed / 2147483647.0)
    drawn = link.first
    for c in range(link.first, link.end):
        if begun[c] > 0.0:
            drawn = c
            at -= begun[c]
            if at < 0.0:
                break
    return drawn


@inlined
def drop_rests(link: Any, here: Any, now: float, left: int, net: Any, shared: Any) -> float:
    """Set ``now`` to what comes of packets that are being dropped, count those that begin; return the sum."""
    dropped = 0.0
    link.owed = 0.0
    for c in range(link.first, link.end):
        begin, end = shared[PREVIOUS, c] + shared[LOST_HERE, c], here[net.origin[c]]
        rest = min(shared[OWED, c], end - begin)
        if rest > 0.0:
            record_loss(c, begin, begin + rest, rest, 0.0, now, left, net, shared)
            shared[OWED, c] -= rest
        shared[NOW, c] = rest
        shared[END, c] = end
        shared[BEGUN, c] = math.ceil(end - TINY) - math.ceil(begin - TINY)
        dropped += rest
        link.owed += shared[OWED, c]
    return dropped


@compiled
def drop_whole(
    link: Any, band: Any, k: int, now: float, h: float, left: int, net: Any, shared: Any
) -> float:
    """Drop whole packets of what comes to a link in step k, as far as its buffer is exceeded; return how much."""
    if link.owed == 0.0 and link.total - band.served - link.pace <= link.limit:
        return 0.0
    here = net.wire[k & (net.wire.shape[0] - 1)]
    dropped = drop_rests(link, here, now, left, net, shared)
    excess = link.total - dropped - band.served - link.pace - link.limit
    when = now + h * part_that_fits(excess, link.arrivals - link.pace)
    begun = 0.0
    for c in range(link.first, link.end):
        begun += shared[BEGUN, c]
    while excess > 0.0 and begun > 0.0:
        c = draw_flow(link, begun, shared[BEGUN])
        end = shared[END, c]
        part = end - (math.ceil(end - TINY) - 1.0)
        shared[END, c] = end - part
        shared[BEGUN, c] -= 1.0
        begun -= 1.0
        shared[NOW, c] += part
        shared[OWED, c] += max(0.0, 1.0 - part)
        link.owed += max(0.0, 1.0 - part)
        dropped += part
        excess -= part
    for c in range(link.first, link.end):
        end = here[net.origin[c]]
        if end > shared[END, c]:
            lost = end - shared[END, c]
            record_loss(c, shared[END, c], end, lost, 0.0, when, left, net, shared)
        shared[AREA, c] += shared[NOW, c]  # it was never counted as waiting
    take_from_arrivals(link.first, link.end, shared)
    return dropped
