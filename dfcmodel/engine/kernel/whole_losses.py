"""Drops of whole packets at a full FIFO queue, of flows drawn in proportion to their arrivals.

A packet belongs to one flow, so that an overflow of two packets hits at most two flows, and the flows
of an ensemble lose packets at different times. A flow that was drawn loses its arrivals until a packet is
complete, if necessary in later overflows.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .records import NOW, OWED, OWED_MARKS

__all__ = ["draw_losses"]


@inlined
def draw_flow(link: Any, first: int, end: int, total: float, arrivals: Any) -> int:
    """Return a queue of ``first`` .. ``end`` - 1 drawn by ``arrivals``, sum ``total`` > 0; changes ``loss_seed``."""
    link.loss_seed = 48271 * link.loss_seed % 2147483647  # Park and Miller's generator
    at = total * (link.loss_seed / 2147483647.0)
    drawn = first
    for c in range(first, end):
        if arrivals[c] > 0.0:
            drawn = c
            at -= arrivals[c]
            if at < 0.0:
                break
    return drawn


@compiled
def draw_losses(link: Any, first: int, end: int, amount: float, shared: Any) -> float:
    """Reduce arrivals ``now`` at queues ``first`` .. ``end`` - 1 to lost whole packets, up to ``amount``; return it.

    ``owed`` holds the remaining losses of packets that were drawn earlier, by queue; they come first.
    """
    arrivals, owed, lost = shared[NOW], shared[OWED], shared[OWED_MARKS]
    left = amount
    total = 0.0
    for c in range(first, end):
        lost[c] = min(min(arrivals[c], owed[c]), left)
        owed[c] -= lost[c]
        arrivals[c] -= lost[c]
        left -= lost[c]
        total += arrivals[c]
    while left > 0.0 and total > 0.0:
        c = draw_flow(link, first, end, total, arrivals)
        drop = min(min(arrivals[c], 1.0), left)
        owed[c] += 1.0 - drop
        lost[c] += drop
        arrivals[c] -= drop
        total -= drop
        left -= drop
    for c in range(first, end):
        arrivals[c] = lost[c]
        lost[c] = 0.0
    return amount - left
