"""Push-out at a full buffer with a queue per flow: drops of the lowest priority first, there from the longest queue.

Queued packets are dropped as well as arrivals, to make room for packets that are served before them. The longest
queues are cut to one length, at their ends.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .loss_records import record_first_drop, record_pushed_out
from .quantum import quantize
from .records import AREA, ARRIVED, FIRST_FULL, LOST_HERE

__all__ = ["push_out"]


@compiled
def common_length(first: int, end: int, room: float, bands: Any) -> float:
    """Return the length, packets, to which bands, FIFOs, ``first`` .. ``end`` - 1 are cut so that all fit ``room``."""
    length = -1.0
    longer = 0.0
    while longer > length:
        length = max(longer, 0.0)
        left = room
        n = 0
        for b in range(first, end):
            waits = bands[b].arrivals - bands[b].served
            if waits > length:
                n += 1
            else:
                left -= waits
        longer = left / n if n > 0 else length
    return length


@inlined
def drop_end(b: int, amount: float, before_full: float, step: Any, sharing: Any) -> None:
    """Drop ``amount`` packets from the end of band b, one flow's queue, full after part ``before_full`` of the step."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    c = band.first
    when = step.now + before_full * step.h
    record_first_drop(sharing.net.drops, FIRST_FULL, c, when)
    record_pushed_out(c, band.arrivals - band.served, amount, when, step, sharing)
    shared[ARRIVED, c] -= amount
    shared[LOST_HERE, c] += amount
    shared[AREA, c] -= amount
    band.arrivals -= amount
    mask = order.rows.shape[0] - 1
    for row in range(band.head, band.tail):
        index = row & mask
        order.total[index, b] = min(order.total[index, b], band.arrivals)
        order.rows[index, c] = min(order.rows[index, c], shared[ARRIVED, c])


@compiled
def push_out(link: Any, excess: float, before_full: float, step: Any, sharing: Any) -> None:
    """Drop ``excess`` queued packets of a link, highest rank, longest queues first; full after part ``before_full``."""
    bands = sharing.bands
    first = link.end_band
    while excess > 0.0 and first > link.first_pooled:
        end = first
        waits = 0.0
        while first > link.first_pooled and bands[first - 1].rank == bands[end - 1].rank:
            first -= 1
            waits += bands[first].arrivals - bands[first].served
        amount = min(excess, waits)
        excess -= amount
        length = common_length(first, end, waits - amount, bands)
        for b in range(first, end):
            backlog = bands[b].arrivals - bands[b].served
            if backlog > length and amount > 0.0:
                over = min(min(backlog, amount), quantize(backlog - length, step.quantum) + step.quantum)
                drop_end(b, over, before_full, step, sharing)
                amount -= over
