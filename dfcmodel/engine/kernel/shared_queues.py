"""Links whose flows share the rate: arrivals, early drops, division of the rate, service.

A link has one FIFO queue (a *band*) for all flows, one per flow (fair shares, priorities), one per
input (DFC), or one per class (PFC).
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .fifo_queues import copy, gather_arrivals, serve_band, sum_of
from .ingress import limit_ingress
from .managers import manage, mark_leaving
from .overflow import set_backlog
from .quantum import quantize
from .records import ARRIVED, BEFORE, PER_INPUT, SENT, TWO

__all__ = ["serve_shared"]


@compiled
def divide(link: Any, first: int, end: int, amount: float, quantum: float, bands: Any) -> float:
    """Set paces of bands, FIFOs, ``first`` .. ``end`` - 1 to max-min fair parts of ``amount``; return the remainder.

    Bands get equal parts, limited by their ``demand``; ``pace`` is set to the part of a band.
    """
    unsatisfied = 0
    for b in range(first, end):
        bands[b].pace = 0.0
        if bands[b].demand > 0.0:
            unsatisfied += 1
    while unsatisfied > 0 and amount > 0.0:
        part = quantize(amount / unsatisfied, quantum)
        if part == 0.0:
            part = amount
        unsatisfied = 0
        for b in range(first, end):
            band = bands[b]
            if band.pace < band.demand:
                more = min(min(part, amount), band.demand - band.pace)
                band.pace += more
                amount -= more
                if band.pace < band.demand:
                    unsatisfied += 1
    return amount


@compiled
def set_paces(link: Any, bands: Any, queues: Any, quantum: float) -> None:
    """Set ``pace``, the packets that each band, a FIFO of flows, of a link may send in this step.

    If classes are paused for a part of the step, the link is divided twice. The first division gives the rate
    of a paused class without its pause, which it sends at in the rest of the step. The second division distributes the
    remainder to the others.
    """
    paused = 0.0
    for b in range(link.first_band, link.end_band):
        paused = max(paused, bands[b].stopped)
        if link.kind == PER_INPUT:
            bands[b].pace = queues[bands[b].first].service
    if link.kind == PER_INPUT:
        return
    for division in range(2 if paused > 0.0 else 1):
        for b in range(link.first_band, link.end_band):
            band = bands[b]
            band.demand = band.arrivals - band.served
            if band.stopped > 0.0 and division == 0:
                band.demand = link.pace
            elif band.stopped > 0.0:
                band.demand = min(band.demand, quantize((1.0 - band.stopped) * band.pace, quantum))
        left = link.pace
        first = link.first_band
        while first < link.end_band:  # the lowest rank first
            end = first
            while end < link.end_band and bands[end].rank == bands[first].rank:
                end += 1
            left = divide(link, first, end, left, quantum, bands)
            first = end


@inlined
def sum_bands(link: Any, bands: Any, shared: Any) -> None:
    """Set the arrivals at each band, a FIFO, of a link to the sum over its queues, one per flow."""
    for b in range(link.first_band, link.end_band):
        band = bands[b]
        band.arrivals = sum_of(band.first, band.end, shared[ARRIVED])


@inlined
def set_longest_backlog(link: Any, bands: Any, shared: Any) -> float:
    """Set a link's backlog; return the packets in its shared buffer, or the longest queue of a flow if not shared."""
    set_backlog(link, bands)
    if link.shared == 1 or link.backlog == 0.0:
        return link.pooled
    longest = 0.0
    for c in range(link.first, link.end):
        longest = max(longest, shared[ARRIVED, c] - shared[SENT, c])
    return longest


@inlined
def update_arrivals(link: Any, first: int, end: int, from_wire: Any, net: Any, shared: Any) -> float:
    """Update cumulative arrivals at queues ``first`` .. ``end`` - 1 of a link from ``from_wire``; return the sum."""
    if link.shared == 0 or link.late == 1:
        copy(first, end, shared[SENT], shared[BEFORE])
    return gather_arrivals(first, end, from_wire, net.origin, shared)


@inlined
def serve_shared(i: int, n_overflowing: int, service: Any, step: Any, sharing: Any) -> int:
    """Serve the queues of link i for a step; list it if it overflows; return ``n_overflowing``, plus 1 in this case."""
    net, shared, bands = sharing.net, sharing.shared, sharing.bands
    link = net.links[i]
    from_wire = net.wire[step.k & (net.wire.shape[0] - 1)]
    waited = link.pooled
    if link.end - link.first == TWO:
        arrivals = update_arrivals(link, link.first, link.first + TWO, from_wire, net, shared)
    else:
        arrivals = update_arrivals(link, link.first, link.end, from_wire, net, shared)
    link.arrivals = arrivals - link.total
    link.total = arrivals
    if link.manager >= 0 and link.late == 0:
        link.total -= manage(link, service.managers[link.manager], step, sharing)
    if link.end_band == link.first_band + 1:
        band = bands[link.first_band]
        band.arrivals = link.total
        band.pace = net.queues[link.first].service if link.kind == PER_INPUT else link.pace
    else:
        sum_bands(link, bands, shared)
        set_paces(link, bands, net.queues, step.quantum)
    for b in range(link.first_band, link.end_band):
        band = bands[b]
        if band.end - band.first == TWO:
            serve_band(link, b, band.first, band.first + TWO, step, sharing)
        else:
            serve_band(link, b, band.first, band.end, step, sharing)
    if link.manager >= 0 and link.late == 1:
        mark_leaving(link, service.managers[link.manager], step, sharing)
    if link.end_ingress > link.first_ingress:
        limit_ingress(link, step, sharing)
    longest = set_longest_backlog(link, bands, shared)
    link.growth = link.pooled - waited
    if link.backlog - link.pooled + longest > link.peak:
        held = link.backlog - link.pooled  # in rooms of their own
        link.peak = held + min(longest, link.limit - link.reserved)
    if longest > link.limit - link.reserved:
        service.overflowing[n_overflowing] = i
        n_overflowing += 1
    return n_overflowing
