"""Ports without lanes: the path of a packet up to the next unit with a calendar queue."""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .boxes import CROWDED, FAULT, TRACED, push, release
from .early import admit_early
from .emission import UNMARKABLE
from .jit import compiled, inlined, prefetch
from .layout import CLASSES, SENDER
from .random_numbers import uniform
from .receivers import receive_data

__all__ = [
    "admit",
    "count_starts",
    "count_waiting",
    "departs_first",
    "detect_early",
    "drop",
    "enter_ring",
    "is_markable",
    "is_scalable",
    "keep_packet",
    "travel",
]

BLIND = 4
FIFO, EARLY, LANES = 0, 1, 2  # kinds of units
LATEST = (
    1.0 - 2.0**-48
)  # of the end of a sample: times before it are in the sample whatever was rounded


@compiled
def keep_packet(element, flow, block, trace, tally, p, e, came, sent, dropped):
    """Write a row of ``trace``; the run returns at the end of the window once half of them are in use."""
    n = tally[TRACED]
    if 2 * n >= len(trace):
        tally[CROWDED] = 1
    if n == len(trace):
        tally[FAULT] = 1
        return
    tally[TRACED] = n + 1
    it = element[e]
    row = trace[n]
    row.arrived = came
    row.sent = sent
    row.dropped = dropped
    row.port = p
    row.flow = it.flow
    row.number = it.number
    row.size = it.size
    row.ack = 1 if it.hop > flow[it.flow].turn else 0
    row.marked = it.marked
    for k in range(2 * (it.size - 1)):
        row.blocks[k] = block[e, k]


@inlined
def drop(element, unit, flow, block, trace, lost, tally, p, e, came, row, time):
    """Drop a packet that came to a port at time ``came``, and record it."""
    it = element[e]
    s = flow[it.flow]
    if unit[p].traced == 1:
        keep_packet(element, flow, block, trace, tally, p, e, came, math.nan, time)
    lost[row, it.hop] += 1
    if row < len(lost) - 1 and it.hop < s.turn and not s.first_loss <= time:
        s.first_loss = time
    release(element, tally, e)


@inlined
def is_markable(flow, element, e):
    """Return whether a packet may be marked instead of dropped (RFC 3168, ECT)."""
    it = element[e]
    s = flow[it.flow]
    return it.hop < s.turn and s.recovery != BLIND and it.ecn & UNMARKABLE == 0


@inlined
def is_scalable(flow, element, e):
    """Return whether a packet carries ECT(1): its sender answers each mark (RFC 9331)."""
    s = flow[element[e].flow]
    return element[e].hop < s.turn and s.accurate == 1


@inlined
def detect_early(element, unit, flow, sizes, early, stream, e, p, queued, ended, time):
    """Return the decision of RED on a packet at a port without lanes: 0 for a drop."""
    idle = -1.0
    if ended:
        idle = time - max(0.0, unit[p].free)
    listens = is_markable(flow, element, e)
    verdict = admit_early(early, stream, p, queued, idle, sizes[element[e].size], listens)
    if verdict == 2:
        element[e].marked = 1
    return verdict


@inlined
def departs_first(element, flow, hop, times, e, h, spent):
    """Return whether a transmission of ``spent`` s that ends as packet e arrives at hop h is processed first.

    Simultaneous events are processed in the order in which they were scheduled: the end of a transmission and the
    arrival at the next port when the transmission begins. A packet that answers an ACK arrives when the ACK does. The
    packets of senders with clocks arrive before the end.
    """
    it = element[e]
    s = flow[it.flow]
    g = h - 1
    size = np.int64(it.size)
    if h == s.way and s.recovery >= BLIND:  # its sender has a clock
        return False
    if h == s.way:
        g = np.int64(s.end) - 1
        size = 1
    elif hop[g].port < 0:
        g -= 1
        size = 0
    if hop[g].port < 0:
        return False
    return spent > times[hop[g].port * CLASSES + size].passage


@inlined
def count_waiting(element, unit, flow, hop, ring, times, p, e, h, time):
    """Return the packets that wait at a port without lanes when packet e arrives.

    The start of the last one's transmission stands in ``begun``, those before it in the ring of start times.
    """
    port = unit[p]
    if port.begun < time:
        return 0
    if port.begun == time and departs_first(
        element, flow, hop, times, e, h, port.begun - port.ahead
    ):
        return 0
    n = port.first
    before = port.base
    while n < port.last and ring[port.ring + (n & port.ring_mask)] < time:
        before = ring[port.ring + (n & port.ring_mask)]
        n += 1
    port.base = before
    if n < port.last and ring[port.ring + (n & port.ring_mask)] == time:
        if departs_first(element, flow, hop, times, e, h, time - before):
            port.base = time
            n += 1
    port.first = n
    return port.last - n + 1


@inlined
def admit(element, unit, flow, hop, ring, times, sizes, early, stream, p, e, h, time):
    """Return how many wait before a packet that arrives at a port without lanes; -1: it is dropped."""
    port = unit[p]
    f = np.int64(element[e].flow)
    if port.loss > 0.0 and element[e].hop < flow[f].turn and uniform(stream, p) < port.loss:
        return -1
    queued = count_waiting(element, unit, flow, hop, ring, times, p, e, h, time)
    ended = port.free < time
    if port.free == time:
        ended = departs_first(element, flow, hop, times, e, h, port.spent)
    if (
        port.kind == EARLY
        and detect_early(element, unit, flow, sizes, early, stream, e, p, queued, ended, time) == 0
    ):
        return -1
    return queued if ended or queued < port.room else -1


@inlined
def enter_ring(unit, ring, waited, waiting, tally, scale, rows, h, p, queued, time):
    """Queue a packet at a port without lanes behind ``queued`` ones that wait."""
    port = unit[p]
    start = port.free
    if queued > 0:
        if port.last == port.first:
            port.base = port.ahead
        ring[port.ring + (port.last & port.ring_mask)] = port.begun
        port.last += 1
        inside = port.last - port.first
        if inside > port.alarm:
            tally[CROWDED] = 1
            if inside > port.ring_mask + 1:
                tally[FAULT] = 1
    else:
        port.first = 0
        port.last = 0
    row = min(int(time * scale), rows)
    if row < rows:
        port.peak = max(port.peak, queued + 1)
    later = min(int(start * scale), rows)
    if later < rows:
        waited[h] += start - time
    if later != row:
        waiting[row, p] += 1
        waiting[later, p] -= 1


@inlined
def count_starts(started, row, first, past):
    """Count a packet that started its transmission, in a sample, at the hops from ``first`` to before ``past``.

    ``started`` has the changes of the counts from hop to hop.
    """
    if past > first:
        started[row, first] += 1
        started[row, past] -= 1


# In one piece of 73 lines: with what enters a queue and what ends a route in functions of their own (58 lines),
# also inlined, the loop takes 1.02 times as long (takano2006/4, dumbbell), with NewReno's permutation 1.04 to 1.1.
@inlined
def travel(
    element, sent_at, unit, slot, flow, hop, ring, bits, known, block, trace, times, sizes, early,
    stream, clock, delivered, started, waited, waiting, lost, tally, scale, e, time, key, at,
):  # fmt: skip
    """Advance an arriving element hop by hop until a calendar queue, a lane, or its end.

    ``at`` is the port whose calendar queue it has left, or the number of the senders; ARRIVED at a
    receiver that delays ACKs, which share the calendar queue of the senders; DUE for a delayed ACK.
    """
    it = element[e]
    rows = len(lost) - 1
    h = np.int64(it.hop)
    size = np.int64(it.size)
    first = h  # of the hops that are not counted yet: in the sample ``row``, which lasts until ``until``
    row = np.int64(0)
    until = -math.inf
    while True:
        p = np.int64(hop[h].port)
        if p < 0:
            count_starts(started, row, first, h)
            it.hop = h
            if p == SENDER:
                push(element, unit, slot, e, len(unit) - 1, time, key)
                prefetch(sent_at, e)
                return
            if not receive_data(
                element, unit, slot, flow, bits, known, block, clock, delivered, tally, scale, e,
                time, key, rows, at,
            ):  # fmt: skip
                return
            h += 1
            first = h
            size = np.int64(it.size)
            continue
        if hop[h].inline == 0 and p != at:
            count_starts(started, row, first, h)
            it.hop = h
            push(element, unit, slot, e, p, time, key)
            return
        at = len(unit) - 1
        port = unit[p]
        busy = port.free >= time
        start = max(time, port.free)
        if port.plain == 1 and port.begun < time and start < until:  # nothing else waits
            if row < rows:
                waited[h] += start - time
                port.peak = max(np.int64(port.peak), np.int64(busy))
            port.first = 0
            port.last = 0
        else:
            it.hop = h
            queued = admit(
                element, unit, flow, hop, ring, times, sizes, early, stream, p, e, h, time
            )
            if queued < 0:
                count_starts(started, row, first, h)
                drop(
                    element, unit, flow, block, trace, lost, tally, p, e, time,
                    min(int(time * scale), rows), time,
                )  # fmt: skip
                return
            if port.traced == 1:
                keep_packet(element, flow, block, trace, tally, p, e, time, start, math.nan)
            if busy:
                enter_ring(unit, ring, waited, waiting, tally, scale, rows, h, p, queued, time)
            later = min(int(start * scale), rows)
            if later != row or until < 0.0:
                count_starts(started, row, first, h)
                first = h
                row = later
                until = (row + 1) / scale * LATEST if row < rows else math.inf
        if busy:
            port.ahead = port.begun if port.begun > -math.inf else port.free - port.spent
        port.begun = start if busy else -math.inf
        spent = times[p * CLASSES + size]
        port.spent = spent.transmission
        port.free = start + spent.transmission
        time = start + spent.passage
        h += 1
        key = np.int64(port.rank)
