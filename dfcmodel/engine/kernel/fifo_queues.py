"""FIFO queues of several flows: rows by time, one head for all flows.

A row holds what has come from each flow up to a step. How far the queue has been served is one number,
`band.served`; its place in the sums of the rows is the head, and what each flow has sent is its own
curve there, rounded down to the quantum (of one flow or two: exactly what was served). The curves are
cumulative, so that rounding never adds up.
Loops over the flows are over neighbours in memory and have no branches: they are vectorized. Where a queue
has two flows callers say so (``first + TWO``): the loops are gone then, which takes a fifth off a dumbbell of two.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined, summing

from .quantum import quantize
from .records import AREA, ARRIVED, LOST_HERE, NOW, ONE, PREVIOUS, SENT, TWO

__all__ = ["copy", "gather_arrivals", "serve_band", "sum_of"]


@summing
def gather_arrivals(first: int, end: int, here: Any, origin: Any, shared: Any) -> float:
    """Set what has arrived at queues ``first`` .. ``end`` - 1 and was not dropped, now and before; return the sum."""
    lost, arrived, previous = shared[LOST_HERE], shared[ARRIVED], shared[PREVIOUS]
    total = 0.0
    for c in range(first, end):
        came = here[origin[c]] - lost[c]
        previous[c] = arrived[c]
        arrived[c] = came
        total += came
    return total


@summing
def sum_of(first: int, end: int, amounts: Any) -> float:
    """Return the sum of the amounts of some queues, exact in any order."""
    total = 0.0
    for c in range(first, end):
        total += amounts[c]
    return total


@inlined
def append_arrivals(b: int, first: int, end: int, sharing: Any) -> None:
    """Append this step's row to the order of a band; a full ring joins rows."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    mask = order.rows.shape[0] - 1
    if band.tail == band.head:  # nothing waited: what has been sent is where the order begins
        band.head = 0
        band.tail = 1
        order.total[0, b] = sum_of(first, end, shared[SENT])
        copy(first, end, shared[SENT], order.rows[0])
    if band.tail - band.head <= mask:
        band.tail += 1
    row = (band.tail - 1) & mask
    order.total[row, b] = band.arrivals
    copy(first, end, shared[ARRIVED], order.rows[row])


@inlined
def copy(first: int, end: int, values: Any, row: Any) -> None:
    """Copy the values of some queues."""
    for c in range(first, end):
        row[c] = values[c]


@inlined
def find_head(band: Any, b: int, order: Any) -> float:
    """Move the head to the last row that is wholly served; return the part served of the next one."""
    mask = order.rows.shape[0] - 1
    head = band.head
    while head < band.tail - 1 and order.total[(head + 1) & mask, b] <= band.served:
        head += 1
    band.head = head
    if head == band.tail - 1:
        return 0.0
    before, after = order.total[head & mask, b], order.total[(head + 1) & mask, b]
    return max(0.0, (band.served - before) / (after - before))


@inlined
def divide_exactly(first: int, served: float, high: Any, now: Any) -> None:
    """Let what two flows have sent add up to what was served: the second gets what rounding left."""
    second = first + ONE
    now[second] = min(served - now[first], high[second])
    now[first] = served - now[second]


@inlined
def curve_at_head(band: Any, first: int, end: int, part: float, quantum: float, sharing: Any) -> None:
    """Set ``now`` to the curves between the rows at the head of a band, a part of the way."""
    rows, now = sharing.order.rows, sharing.shared[NOW]
    mask = rows.shape[0] - 1
    low = rows[band.head & mask]
    high = rows[(band.head + 1) & mask] if part > 0.0 else low
    for c in range(first, end):
        now[c] = low[c] + quantize(part * (high[c] - low[c]), quantum)
    if end - first == TWO:
        divide_exactly(first, band.served, high, now)


@inlined
def put_on_wire(link: Any, first: int, end: int, now: Any, step: Any, sharing: Any) -> None:
    """Send what has left: a part of this step's departures arrives after the link's lag, the rest a step later."""
    before, wire = sharing.shared[SENT], sharing.net.wire
    there = wire[(step.k + link.lag) & (wire.shape[0] - 1)]
    weight, quantum = link.weight, step.quantum
    if weight == 1.0:
        for c in range(first, end):
            there[c] = before[c] = now[c]
    else:
        for c in range(first, end):
            sent = now[c]
            there[c] = before[c] + quantize(weight * (sent - before[c]), quantum)
            before[c] = sent


@inlined
def add_backlog(first: int, end: int, arrived: Any, sent: Any, area: Any) -> None:
    """Add what waits to its sum over time."""
    for c in range(first, end):
        area[c] += arrived[c] - sent[c]


@inlined
def put_apart(first: int, end: int, now: Any, step: Any, sharing: Any) -> None:
    """Do what `put_on_wire` does where the lags of the flows differ."""
    before, queues, wire = sharing.shared[SENT], sharing.net.queues, sharing.net.wire
    k, quantum = step.k, step.quantum
    for c in range(first, end):
        queue = queues[c]
        there = (k + queue.lag) & (wire.shape[0] - 1)
        wire[there, c] = before[c] + quantize(queue.weight * (now[c] - before[c]), quantum)
        before[c] = now[c]


@inlined
def leave(link: Any, first: int, end: int, now: Any, step: Any, sharing: Any) -> None:
    """Put on its way what has left a band up to now."""
    if link.lag < 0:
        put_apart(first, end, now, step, sharing)
    else:
        put_on_wire(link, first, end, now, step, sharing)


@inlined
def depart(link: Any, b: int, first: int, end: int, quantum: float, sharing: Any) -> None:
    """Set ``now`` to what a band has sent when it is served at its pace, first come first served."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    band.served = min(band.served + band.pace, band.arrivals)
    if end - first == ONE:
        shared[NOW, first] = band.served
    if end - first > ONE or link.manager >= 0:
        part = find_head(band, b, order)
    if end - first > ONE:
        curve_at_head(band, first, end, part, quantum, sharing)


@inlined
def serve_band(link: Any, b: int, first: int, end: int, step: Any, sharing: Any) -> None:
    """Let a band take in and send what it does in a step."""
    band, shared = sharing.bands[b], sharing.shared
    column = NOW
    if band.tail == band.head and band.arrivals <= band.served + band.pace:  # all may pass
        band.served = band.arrivals
        column = ARRIVED
    else:
        append_arrivals(b, first, end, sharing)
        depart(link, b, first, end, step.quantum, sharing)
    leave(link, first, end, shared[column], step, sharing)
    if column == NOW:
        add_backlog(first, end, shared[ARRIVED], shared[SENT], shared[AREA])
        if band.served == band.arrivals:
            band.head = 0
            band.tail = 0
