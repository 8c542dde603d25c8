"""Which packets a full FIFO queue drops: whole ones, each of a flow drawn in proportion to the arrivals.

A packet belongs to one flow, so that an overflow of two packets spares many flows of three, and flows
of an ensemble lose at different times. A flow that was drawn loses what comes of it until a packet is
complete, in later overflows too.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .records import NOW, OWED, OWED_MARKS

__all__ = ["draw_losses"]


@inlined
def draw_flow(link: Any, first: int, end: int, total: float, came: Any) -> int:
    """Return a queue drawn in proportion to the arrivals at each, in all ``total`` > 0."""
    link.loss_seed = 48271 * link.loss_seed % 2147483647  # Park and Miller's generator
    at = total * (link.loss_seed / 2147483647.0)
    drawn = first
    for c in range(first, end):
        if came[c] > 0.0:
            drawn = c
            at -= came[c]
            if at < 0.0:
                break
    return drawn


@compiled
def draw_losses(link: Any, first: int, end: int, amount: float, shared: Any) -> float:
    """Reduce ``now``, the arrivals of this step, to what is lost of them; return how much that is, ``amount``.

    ``owed`` is what is still to be lost of the packets that were drawn, by queue; it comes first.
    """
    came, owed, lost = shared[NOW], shared[OWED], shared[OWED_MARKS]
    left = amount
    total = 0.0
    for c in range(first, end):
        lost[c] = min(min(came[c], owed[c]), left)
        owed[c] -= lost[c]
        came[c] -= lost[c]
        left -= lost[c]
        total += came[c]
    while left > 0.0 and total > 0.0:
        c = draw_flow(link, first, end, total, came)
        drop = min(min(came[c], 1.0), left)
        owed[c] += 1.0 - drop
        lost[c] += drop
        came[c] -= drop
        total -= drop
        left -= drop
    for c in range(first, end):
        came[c] = lost[c]
        lost[c] = 0.0
    return amount - left
