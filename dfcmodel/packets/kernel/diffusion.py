"""Diffusion-type flow control (takano2006): a lane per flow, each with a rate that feedback sets.

A packet leaves its lane for a credit of 1, which grows at the lane's rate; an empty lane has a credit of 1 at
most. The law itself is that of `dfcmodel.engine.kernel.law`, which this package cannot import.
"""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .boxes import push
from .jit import compiled, inlined

__all__ = [
    "LISTEN",
    "REPORTS",
    "TELL",
    "adjust",
    "begin_of",
    "diffusive_rate",
    "enter_rated",
    "exchange",
    "largest_credit",
    "leave_rated",
    "listen",
    "proportional_share",
    "read_count",
    "ready_at",
    "settle",
    "take_rated",
    "tell",
    "want",
]

TELL, LISTEN = -6, -7  # numbers of elements: the clock of a node, the arrival of its feedback
REPORTS = (
    1 << 22
)  # smallest key of reports after `pauses.RENEWALS`: at equal times feedback arrives before


@inlined
def diffusive_rate(intensity, told_rate, gain, told_backlog, backlog):
    """Return alpha r - D/d (n' - n), takano2006, eq. (2)."""
    return intensity * told_rate - gain * (told_backlog - backlog)


@inlined
def proportional_share(capacity, wanted):
    """Return the part of what flows want that each gets of a link, takano2006, eq. (13)."""
    return capacity / wanted if wanted > capacity else 1.0


@inlined
def ready_at(credit, rate, time):
    """Return when a packet may leave for a credit of some time."""
    if credit >= 1.0:
        return time
    return time + (1.0 - credit) / rate if rate > 0.0 else math.inf


@inlined
def settle(lane, diffusive, c, time):
    """Add to the credit of a lane what has grown, and say when its next packet may leave."""
    d = diffusive[c]
    credit = d.credit + (time - d.settled) * d.rate
    if lane[c].count == 0:
        credit = min(credit, 1.0)
    d.credit = credit
    d.settled = time
    d.ready = ready_at(credit, d.rate, time)


@inlined
def read_count(lane, diffusive, c, time):
    """Update the number of packets that the law reads: as they are, or their average since it was last read."""
    d = diffusive[c]
    n = float(lane[c].count)
    if d.smoothing > 0.0:
        elapsed = time - d.counted_at
        n = d.counted + (n - d.counted) * (elapsed / (d.smoothing + elapsed))
        d.counted_at = time
    d.counted = n


@inlined
def want(unit, lane, diffusive, p, nominal, time):
    """Set what the active lanes of a port would send alone; return the part of it that each gets.

    The nominal rates, which nodes report, are those with alpha = 1 (eq. 5).
    """
    port = unit[p]
    total = 0.0
    for c in range(port.lane, port.lane + port.lanes):
        d = diffusive[c]
        d.wanted = 0.0
        if d.active == 1:
            intensity = 1.0 if nominal else d.intensity
            read_count(lane, diffusive, c, time)
            own = d.counted if d.counts == 1 else 0.0
            wanted = diffusive_rate(intensity, d.told_rate, d.gain, d.told_backlog, own)
            d.wanted = max(0.0, wanted)
            total += d.wanted
    return proportional_share(diffusive[port.lane].capacity, total)


@compiled
def adjust(unit, lane, diffusive, p, time):
    """Set the rates of the lanes of a port."""
    port = unit[p]
    part = want(unit, lane, diffusive, p, False, time)
    for c in range(port.lane, port.lane + port.lanes):
        settle(lane, diffusive, c, time)
        diffusive[c].rate = part * diffusive[c].wanted
        settle(lane, diffusive, c, time)


@inlined
def tell(element, unit, lane, diffusive, feedback, p, e):
    """Report the nominal rates and the packets of the lanes of a port to those lanes that feed them."""
    part = want(unit, lane, diffusive, p, True, element[e].time)
    for k in range(element[e].hop, element[e].flow):
        d = diffusive[feedback[k, 0]]
        rate = part * d.wanted if d.active == 1 else math.nan
        to = diffusive[feedback[k, 1]]
        if element[e].marked == 0:
            to.rate_0 = rate
            to.backlog_0 = d.counted
        else:
            to.rate_1 = rate
            to.backlog_1 = d.counted


@inlined
def listen(element, unit, lane, diffusive, feedback, p, e):
    """Receive what was reported to the lanes of a port, and set their rates."""
    for k in range(element[e].hop, element[e].flow):
        d = diffusive[feedback[k, 1]]
        rate = d.rate_0 if element[e].marked == 0 else d.rate_1
        if rate >= 0.0:  # of an inactive flow nothing is reported
            d.told_rate = rate
            d.told_backlog = d.backlog_0 if element[e].marked == 0 else d.backlog_1
    adjust(unit, lane, diffusive, p, element[e].time)


@compiled
def exchange(element, sent_at, unit, slot, lane, diffusive, feedback, p, e):
    """Process feedback that port p reports or receives; the next follows after a period.

    A report takes a period to arrive, which stands in ``sent_at``: of two places the one is written while the other is read.
    """
    if element[e].number == TELL:
        tell(element, unit, lane, diffusive, feedback, p, e)
    else:
        listen(element, unit, lane, diffusive, feedback, p, e)
    it = element[e]
    it.marked = 1 - it.marked
    push(element, unit, slot, e, p, it.time + sent_at[e], it.key)


@inlined
def begin_of(unit, lane, diffusive, p):
    """Return when the next packet of a port leaves unless something happens before."""
    port = unit[p]
    least = math.inf
    for c in range(port.lane, port.lane + port.lanes):
        if lane[c].count > 0:
            least = min(least, diffusive[c].ready)
    return max(port.free, least)


@inlined
def enter_rated(element, unit, lane, diffusive, sizes, p, c, e):
    """Append a packet to a lane that has a rate; the first one of a flow makes it active."""
    time = element[e].time
    it = lane[c]
    element[e].next = -1
    if it.count == 0:
        settle(lane, diffusive, c, time)
        it.head = e
    else:
        element[it.tail].next = e
    it.tail = e
    it.count += 1
    unit[p].waiting += 1
    unit[p].bytes += sizes[element[e].size]
    if diffusive[c].active == 0:
        diffusive[c].active = 1
        adjust(unit, lane, diffusive, p, time)


@inlined
def largest_credit(unit, lane, diffusive, p, time):
    """Return the lane with the largest credit of those from which a packet may leave, at ties the first."""
    port = unit[p]
    found = -1
    most = 0.0
    for c in range(port.lane, port.lane + port.lanes):
        d = diffusive[c]
        if lane[c].count > 0 and d.ready <= time:
            credit = d.credit + (time - d.settled) * d.rate
            if found < 0 or credit > most:
                most = credit
                found = c
    return found


@inlined
def take_rated(element, unit, lane, diffusive, sizes, p, c, time):
    """Remove the first packet from a lane of a port and return it.

    When the next one may leave is not said where there is none: that is known when it comes.
    """
    it = lane[c]
    e = np.int64(it.head)
    it.head = element[e].next
    it.count -= 1
    d = diffusive[c]
    credit = d.credit + ((time - d.settled) * d.rate - 1.0)
    d.settled = time
    if it.count > 0:
        d.ready = ready_at(credit, d.rate, time)
    else:
        credit = min(credit, 1.0)
    d.credit = credit
    unit[p].waiting -= 1
    unit[p].bytes -= sizes[element[e].size]
    return e


@inlined
def leave_rated(element, unit, lane, diffusive, sizes, p, time):
    """Remove the next packet from the lanes of a port and return it."""
    c = largest_credit(unit, lane, diffusive, p, time)
    return take_rated(element, unit, lane, diffusive, sizes, p, c, time)
