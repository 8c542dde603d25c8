"""Per-class pauses (PFC): what waits of each class and ingress, and what exceeds its room.

What waits is counted at the end of a step, for the pauses of the next one (`pause`).
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled

from .overflow import drop_from_range, part_that_fits
from .pause import waiting_elsewhere
from .records import ARRIVED, SENT, Excess

__all__ = ["limit_ingress"]


@compiled
def count_excess(n: int, amount: float, pauses: Any) -> None:
    """Add what row n had no room for to the row that asks for its pause.

    With more room the pause would last longer: the largest sum is how much more would have been enough for all
    arrivals.
    """
    asking = n
    while pauses[asking].high == math.inf and pauses[asking].also != n:
        asking = pauses[asking].also
    row = pauses[asking]
    row.excess += amount
    row.most_excess = max(row.most_excess, row.excess)


@compiled
def limit_ingress(link: Any, step: Any, sharing: Any) -> None:
    """Count what waits at a link by ingress; drop from the arrivals of a step what exceeds the rooms."""
    pauses, shared = sharing.pauses, sharing.shared
    for n in range(link.first_ingress, link.end_ingress):
        row = pauses[n]
        waits = 0.0
        for c in range(row.first, row.end):
            waits += shared[ARRIVED, c] - shared[SENT, c]
        excess = waits + waiting_elsewhere(n, pauses) - row.room
        if excess > 0.0:
            over = Excess(excess, -1.0, part_that_fits(excess, waits - row.waits))
            amount = drop_from_range(row.held, row.first, row.end, over, step, sharing)
            waits -= amount
            link.total -= amount
            count_excess(n, amount, pauses)
        row.waits = waits
