"""Per-class pauses (PFC): backlogs by class and ingress, and drops beyond their headroom.

Backlogs are counted at the end of a step, and decide on the pauses of the next one (`pause`).
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled

from .overflow import drop_from_range, part_before_full
from .pause import backlog_of_other_outputs
from .records import ARRIVED, SENT, Excess

__all__ = ["limit_ingress"]


@compiled
def count_excess(n: int, amount: float, pauses: Any) -> None:
    """Add ``amount`` packets, dropped for lack of room in row n of ``pauses``, to the excess of the row that asks.

    A larger room would also lengthen the pause. The largest sum of a pause is therefore a sufficient increase of the
    room for all arrivals.
    """
    asking = n
    while pauses[asking].high == math.inf and pauses[asking].also != n:
        asking = pauses[asking].also
    row = pauses[asking]
    row.excess += amount
    row.most_excess = max(row.most_excess, row.excess)


@compiled
def limit_ingress(link: Any, step: Any, sharing: Any) -> None:
    """Update a link's backlogs by class and ingress (PFC), and drop arrivals of the step beyond their headroom."""
    pauses, shared = sharing.pauses, sharing.shared
    for n in range(link.first_ingress, link.end_ingress):
        row = pauses[n]
        waits = 0.0
        for c in range(row.first, row.end):
            waits += shared[ARRIVED, c] - shared[SENT, c]
        excess = waits + backlog_of_other_outputs(n, pauses) - row.room
        if excess > 0.0:
            over = Excess(excess, -1.0, part_before_full(excess, waits - row.waits))
            amount = drop_from_range(row.held, row.first, row.end, over, step, sharing)
            waits -= amount
            link.total -= amount
            count_excess(n, amount, pauses)
        row.waits = waits
