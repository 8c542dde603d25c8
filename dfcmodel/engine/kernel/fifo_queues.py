"""FIFO queues of several flows: a row of cumulative arrivals per step, one head for all flows.

A row holds the cumulative arrivals of each flow up to a step. The service of the queue is one number,
`band.served`; its position among the sums of the rows is the head. The departures of a flow are its arrival curve
at the head, rounded down to the quantum (with one or two flows they add up exactly to the packets served). The
curves are cumulative, so that rounding errors never add up.
Loops over the flows access neighbours in memory and have no branches, so that they are vectorized. For a queue of
two flows callers pass ``first + TWO``, which unrolls the loops: a dumbbell of two flows then takes a fifth less time.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined, summing

from .quantum import quantize
from .records import AREA, ARRIVED, LOST_HERE, NOW, ONE, PREVIOUS, SENT, TWO

__all__ = ["copy", "gather_arrivals", "serve_band", "sum_of"]


@summing
def gather_arrivals(first: int, end: int, from_wire: Any, origin: Any, shared: Any) -> float:
    """Update accepted arrivals, now and a step ago, of queues ``first`` .. ``end`` - 1; return the former's sum."""
    lost, arrived, previous = shared[LOST_HERE], shared[ARRIVED], shared[PREVIOUS]
    total = 0.0
    for c in range(first, end):
        arrivals = from_wire[origin[c]] - lost[c]
        previous[c] = arrived[c]
        arrived[c] = arrivals
        total += arrivals
    return total


@summing
def sum_of(first: int, end: int, amounts: Any) -> float:
    """Return the sum of ``amounts``, multiples of the quantum, over queues ``first`` .. ``end`` - 1; so it is exact."""
    total = 0.0
    for c in range(first, end):
        total += amounts[c]
    return total


@inlined
def append_arrivals(b: int, first: int, end: int, sharing: Any) -> None:
    """Append arrivals at band b, a FIFO of queues ``first`` .. ``end`` - 1, as a row of totals; full: as the last."""
    band, order, shared = sharing.bands[b], sharing.order, sharing.shared
    mask = order.rows.shape[0] - 1
    if band.tail == band.head:  # the queue was empty: the first row holds the departures
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
    """Copy ``values`` of queues ``first`` .. ``end`` - 1 into ``row``."""
    for c in range(first, end):
        row[c] = values[c]


@inlined
def find_head(band: Any, b: int, order: Any) -> float:
    """Move the head of band b, a FIFO, to the last row served completely; return the part, 0 to 1, of the next row."""
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
    """Correct ``now`` of queue ``first`` + 1, at most to its ``high``, then of ``first``, to the sum ``served``."""
    second = first + ONE
    now[second] = min(served - now[first], high[second])
    now[first] = served - now[second]


@inlined
def curve_at_head(band: Any, first: int, end: int, part: float, quantum: float, sharing: Any) -> None:
    """Set row `NOW` of queues ``first`` .. ``end`` - 1 to cumulative departures, ``part`` of the way from the head."""
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
    """Send queues ``first`` .. ``end`` - 1 up to ``now``, cumulative: part ``link.weight`` a step before the rest."""
    before, wire = sharing.shared[SENT], sharing.net.wire
    to_wire = wire[(step.k + link.lag) & (wire.shape[0] - 1)]
    weight, quantum = link.weight, step.quantum
    if weight == 1.0:
        for c in range(first, end):
            to_wire[c] = before[c] = now[c]
    else:
        for c in range(first, end):
            sent = now[c]
            to_wire[c] = before[c] + quantize(weight * (sent - before[c]), quantum)
            before[c] = sent


@inlined
def add_backlog(first: int, end: int, arrived: Any, sent: Any, area: Any) -> None:
    """Add the backlogs, ``arrived`` - ``sent``, of queues ``first`` .. ``end`` - 1 to ``area``, sums over the steps."""
    for c in range(first, end):
        area[c] += arrived[c] - sent[c]


@inlined
def put_on_wire_by_flow(first: int, end: int, now: Any, step: Any, sharing: Any) -> None:
    """Send queues ``first`` .. ``end`` - 1 up to ``now`` as `put_on_wire` does, with the lag and weight of each."""
    before, queues, wire = sharing.shared[SENT], sharing.net.queues, sharing.net.wire
    k, quantum = step.k, step.quantum
    for c in range(first, end):
        queue = queues[c]
        arrival_row = (k + queue.lag) & (wire.shape[0] - 1)
        wire[arrival_row, c] = before[c] + quantize(queue.weight * (now[c] - before[c]), quantum)
        before[c] = now[c]


@inlined
def send_departures(link: Any, first: int, end: int, now: Any, step: Any, sharing: Any) -> None:
    """Send a band's queues ``first`` .. ``end`` - 1 up to ``now``, cumulative, with common or different lags."""
    if link.lag < 0:
        put_on_wire_by_flow(first, end, now, step, sharing)
    else:
        put_on_wire(link, first, end, now, step, sharing)


@inlined
def set_departures(link: Any, b: int, first: int, end: int, quantum: float, sharing: Any) -> None:
    """Serve band b, a FIFO of queues ``first`` .. ``end`` - 1, at its pace: set ``now`` to cumulative departures."""
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
    """Serve band b, a FIFO of queues ``first`` .. ``end`` - 1: add arrivals, send departures, add up backlogs."""
    band, shared = sharing.bands[b], sharing.shared
    column = NOW
    if band.tail == band.head and band.arrivals <= band.served + band.pace:  # all may pass
        band.served = band.arrivals
        column = ARRIVED
    else:
        append_arrivals(b, first, end, sharing)
        set_departures(link, b, first, end, step.quantum, sharing)
    send_departures(link, first, end, shared[column], step, sharing)
    if column == NOW:
        add_backlog(first, end, shared[ARRIVED], shared[SENT], shared[AREA])
        if band.served == band.arrivals:
            band.head = 0
            band.tail = 0
