"""Links whose flows share what they send: FIFO, fair shares, priorities, a FIFO queue per input."""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .quantum import quantize
from .random_early import drop_early
from .records import FAIR_SHARES, PER_INPUT, RANDOM_EARLY

__all__ = ["serve_shared"]


@compiled
def divide(queues: Any, first: int, end: int, amount: float, quantum: float) -> float:
    """Divide ``amount`` among queues: equal parts, none above its demand; return what is left.

    Max-min fairness; what each gets is its ``allocation``.
    """
    unsatisfied = 0
    for c in range(first, end):
        queues[c].allocation = 0.0
        if queues[c].demand > 0.0:
            unsatisfied += 1
    while unsatisfied > 0 and amount > 0.0:
        part = quantize(amount / unsatisfied, quantum)
        if part == 0.0:
            for c in range(first, end):
                more = min(amount, queues[c].demand - queues[c].allocation)
                queues[c].allocation += more
                amount -= more
            return amount
        unsatisfied = 0
        for c in range(first, end):
            queue = queues[c]
            if queue.allocation < queue.demand:
                more = min(part, queue.demand - queue.allocation)
                queue.allocation += more
                amount -= more
                if queue.allocation < queue.demand:
                    unsatisfied += 1
    return amount


@compiled
def serve_bands(link: Any, bands: Any, queues: Any, quantum: float) -> None:
    """Serve the bands of a link one after the other, the flows of each in fair shares."""
    left = link.pace
    for n in range(link.first_band, link.end_band):
        band = bands[n]
        for c in range(band.first, band.end):
            queues[c].demand -= queues[c].sent
        left = divide(queues, band.first, band.end, left, quantum)
        for c in range(band.first, band.end):
            queues[c].demand += queues[c].sent
            queues[c].sent += queues[c].allocation


@inlined
def append_arrivals(band: Any, b: int, queues: Any, arrived: Any, in_all: Any, total: float) -> int:
    """Append what has arrived at a FIFO queue to its order; return the place of the entry."""
    mask = arrived.shape[0] - 1
    if band.tail == 0:  # what waits has come in this step
        band.tail = 1
        in_all[0, b] = 0.0
        for c in range(band.first, band.end):
            arrived[0, c] = queues[c].sent
            in_all[0, b] += queues[c].sent
    if band.tail - band.head <= mask:
        band.tail += 1
    last = (band.tail - 1) & mask
    in_all[last, b] = total
    for c in range(band.first, band.end):
        arrived[last, c] = queues[c].demand
    return mask


@compiled
def serve_in_order(
    band: Any, b: int, arrivals: float, total: float, quantum: float, queues: Any, service: Any
) -> None:
    """Let a FIFO queue of several flows have sent ``total`` of its ``arrivals``, first come first served.

    ``service.arrived[n, c]`` is what had arrived at queue c at entry n of the order, one per step. The
    head is the entry up to which all is served; inside the next one flows are served in proportion.
    """
    arrived, in_all = service.arrived, service.arrived_total
    mask = append_arrivals(band, b, queues, arrived, in_all, arrivals)
    head = band.head
    while in_all[(head + 1) & mask, b] <= total:
        head += 1
    band.head = head
    low, high = arrived[head & mask], arrived[(head + 1) & mask]
    before, after = in_all[head & mask, b], in_all[(head + 1) & mask, b]
    rest = total
    for c in range(band.first, band.end):
        queues[c].sent = max(queues[c].sent, low[c])
        rest -= queues[c].sent
    part = (total - before) / (after - before)
    for c in range(band.first, band.end):
        goal = low[c] + quantize(part * (high[c] - low[c]), quantum)
        more = max(0.0, min(rest, goal - queues[c].sent))
        queues[c].sent += more
        rest -= more
    if rest > 0.0:  # what rounding left
        for c in range(band.first, band.end):
            more = max(0.0, min(rest, high[c] - queues[c].sent))
            queues[c].sent += more
            rest -= more


@inlined
def serve_fifo(
    band: Any, b: int, arrivals: float, total: float, quantum: float, queues: Any, service: Any
) -> None:
    """Let a FIFO queue have sent ``total`` packets, or all if fewer arrived."""
    if arrivals <= total:
        for c in range(band.first, band.end):
            queues[c].sent = queues[c].demand
        band.head = 0
        band.tail = 0
    elif band.end == band.first + 1:
        queues[band.first].sent = total
    else:
        serve_in_order(band, b, arrivals, total, quantum, queues, service)


@compiled
def serve_inputs(link: Any, queues: Any, service: Any, quantum: float) -> None:
    """Serve the FIFO queue of each input at its rate (DFC per input)."""
    for b in range(link.first_band, link.end_band):
        band = service.bands[b]
        arrivals = 0.0
        departures = 0.0
        for c in range(band.first, band.end):
            arrivals += queues[c].demand
            departures += queues[c].sent
        departures += queues[band.first].service
        serve_fifo(band, b, arrivals, departures, quantum, queues, service)


@inlined
def finish_step(k: int, link: Any, net: Any) -> float:
    """Send what a link's queues send in step k on its way; return the longest backlog of a buffer."""
    queues, wire = net.queues, net.wire
    mask = wire.shape[0] - 1
    total = 0.0
    longest = 0.0
    for c in range(link.first, link.end):
        queue = queues[c]
        wire[(k + queue.lag) & mask, c] = queue.sent
        queue.backlog = queue.demand - queue.sent
        queue.area += queue.backlog
        total += queue.backlog
        longest = max(longest, queue.backlog)
    link.backlog = total
    return total if link.shared == 1 else longest


@inlined
def serve_shared(
    i: int, k: int, now: float, left: int, n_overflowing: int, quantum: float, net: Any, service: Any
) -> int:
    """Serve the queues of link i, ``left`` steps before the next record; return how many links overflow."""
    link, queues = net.links[i], net.queues
    here = net.wire[k & (net.wire.shape[0] - 1)]
    arrivals = 0.0
    fresh = 0.0
    departures = 0.0
    for c in range(link.first, link.end):
        queue = queues[c]
        queue.demand = here[queue.origin] - queue.lost
        fresh += queue.demand - queue.sent - queue.backlog
        arrivals += queue.demand
        departures += queue.sent
    if link.kind == RANDOM_EARLY:
        arrivals -= drop_early(link, fresh, now, left, quantum, net, service.seed)
    if link.kind == FAIR_SHARES:
        serve_bands(link, service.bands, queues, quantum)
    elif link.kind == PER_INPUT:
        serve_inputs(link, queues, service, quantum)
    else:
        band = service.bands[link.first_band]
        total = departures + link.pace
        serve_fifo(band, link.first_band, arrivals, total, quantum, queues, service)
    longest = finish_step(k, link, net)
    if longest > link.peak:
        link.peak = min(longest, link.limit)
    if longest > link.limit:
        service.overflowing[n_overflowing] = i
        n_overflowing += 1
    return n_overflowing
