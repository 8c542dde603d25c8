"""Ports and receivers: the path of a packet up to the next unit with a calendar queue."""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .boxes import CROWDED, FAULT, OUT, push, release
from .early import admit_early
from .emission import REDUCED, UNMARKABLE
from .jit import inlined
from .random_numbers import uniform
from .timers import ACK_DELAY, NS2, schedule

__all__ = [
    "DUE",
    "answer_late",
    "deliver",
    "detect_early",
    "drop",
    "enter_ring",
    "is_markable",
    "is_scalable",
    "receive_data",
    "report",
    "travel",
]

SACK, BLIND = 3, 4
FIFO, EARLY, LANES = 0, 1, 2  # kinds of units
MOST_BLOCKS = 3
ARRIVED, DUE = -1, -2  # where `travel` begins, besides at ports and senders


@inlined
def drop(element, flow, lost, tally, e, h, row, time):
    """Drop a packet, and record it."""
    s = flow[element[e].flow]
    lost[row, h] += 1
    if row < len(lost) - 1 and element[e].hop < s.turn and not s.first_loss <= time:
        s.first_loss = time
    release(element, tally, e)


@inlined
def deliver(flow, bits, f, number):
    """Deliver a packet to its receiver; return the number of packets now delivered in order."""
    s = flow[f]
    if number > s.seen:
        s.seen = number
    if number == s.came and s.held == 0:
        s.came = number + 1
        return 1
    if number < s.came:
        return 0
    at = s.bits + ((number & s.bit_mask) >> 3)
    bit = 1 << (number & 7)
    if bits[at] & bit == 0:
        bits[at] |= bit
        s.held += 1
    before = s.came
    n = before
    while s.held > 0:
        at = s.bits + ((n & s.bit_mask) >> 3)
        bit = 1 << (n & 7)
        if bits[at] & bit == 0:
            break
        bits[at] ^= bit
        s.held -= 1
        n += 1
    s.came = n
    return n - before


@inlined
def report(flow, bits, known, block, e, f, number):
    """Write up to three SACK blocks of out-of-order packets into an ACK; return their number."""
    s = flow[f]
    last = s.came - 1
    if last >= s.seen:
        s.blocks = 0
        return 0
    left = 0
    right = number + 1
    if number > last:
        if s.blocks > 0 and known[f, 1] == number:
            left = max(known[f, 0], s.came)
        else:
            left = number
            while left - 1 > last and bits[s.bits + (((left - 1) & s.bit_mask) >> 3)] & (
                1 << ((left - 1) & 7)
            ):
                left -= 1
        while right <= s.seen and bits[s.bits + ((right & s.bit_mask) >> 3)] & (1 << (right & 7)):
            right += 1
    else:
        right = s.came
    told = 0
    if number > last:
        block[e, 0] = left
        block[e, 1] = right
        told = 1
    kept = 0
    n = 0
    while n < s.blocks and told < MOST_BLOCKS and known[f, 2 * n + 1] <= s.seen + 1:
        a = known[f, 2 * n]
        b = known[f, 2 * n + 1]
        if not (left <= a and right >= b):
            block[e, 2 * told] = a
            block[e, 2 * told + 1] = b
            told += 1
            known[f, 2 * kept] = a
            known[f, 2 * kept + 1] = b
            kept += 1
        n += 1
    while n < s.blocks:
        known[f, 2 * kept] = known[f, 2 * n]
        known[f, 2 * kept + 1] = known[f, 2 * n + 1]
        kept += 1
        n += 1
    if number > last:
        kept = min(kept, MOST_BLOCKS - 1)
        for k in range(kept, 0, -1):
            known[f, 2 * k] = known[f, 2 * k - 2]
            known[f, 2 * k + 1] = known[f, 2 * k - 1]
        known[f, 0] = left
        known[f, 1] = right
        kept += 1
    s.blocks = kept
    return told


@inlined
def receive_data(
    element, unit, slot, flow, bits, known, block, clock, delivered, tally, scale, e, time, key,
    rows, at,
):  # fmt: skip
    """Deliver a packet to its receiver and turn it into the ACK; return whether that is sent now."""
    it = element[e]
    f = np.int64(it.flow)
    s = flow[f]
    if s.delayed == 1 and at >= 0:
        push(element, unit, slot, e, len(unit) - 1, time, key)
        return False
    if at != DUE:
        s.arrived += 1
        came = 1
        if s.recovery < BLIND:
            came = deliver(flow, bits, f, it.number)
        row = int(time * scale)
        if came > 0 and row < rows:
            delivered[row, f] += came
            s.total += came
            if s.total >= s.size and not s.finished >= 0.0:
                s.finished = time
        if s.recovery == BLIND:
            release(element, tally, e)
            return False
        if it.ecn & REDUCED != 0:  # RFC 3168, 6.1.3: an echo lasts up to a packet with CWR
            s.echo = 0
        if it.marked == 1:
            s.echo = 1
        if s.delayed == 1:
            new = it.number > 0 if clock[NS2] == 1.0 else came > 0
            if new and it.number == s.came - 1 and it.number >= s.seen and s.pending < 0:
                s.pending = e
                s.ack_due = time + clock[ACK_DELAY]
                schedule(element, unit, slot, clock, tally, f, s.ack_due, len(flow) + f)
                return False
            if s.pending >= 0:
                release(element, tally, np.int64(s.pending))
    if s.delayed == 1:
        s.pending = -1
        s.ack_due = math.inf
    if s.accurate == 0:
        it.marked = s.echo
    it.hop += 1
    it.size = 1
    if s.recovery == SACK:
        it.size = 1 + report(flow, bits, known, block, e, f, it.number)
    it.number = s.came - 1
    return True


@inlined
def answer_late(element, flow, tally, out, f, e):
    """Let a packet arrive at a receiver that delays ACKs; list what goes on in ``out``.

    Where every mark is echoed, the delayed ACK is sent before a packet that changes the mark (RFC 8257, 3.2).
    """
    s = flow[f]
    if s.accurate == 1 and s.pending >= 0 and element[s.pending].marked != element[e].marked:
        out[0, 0] = -1 - s.pending
        out[0, 1] = DUE
        tally[OUT] = 1
    out[tally[OUT], 0] = -1 - e
    out[tally[OUT], 1] = ARRIVED
    tally[OUT] += 1


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
def detect_early(element, unit, flow, sizes, early, stream, e, p, n, time):
    """Return the decision of RED on a packet at a port without lanes: 0 for a drop."""
    port = unit[p]
    idle = -1.0
    queued = port.last - n
    if port.free < time:
        idle = time - max(0.0, port.free)
        queued = 0
    listens = is_markable(flow, element, e)
    verdict = admit_early(early, stream, p, queued, idle, sizes[element[e].size], listens)
    if verdict == 2:
        element[e].marked = 1
    return verdict


@inlined
def enter_ring(unit, hop, ring, waiting, tally, scale, rows, h, p, n, time, row):
    """Queue a packet at a port without lanes; return the sample in which its transmission starts."""
    port = unit[p]
    start = port.free
    ring[port.ring + (port.last & port.ring_mask)] = start
    port.last += 1
    queued = port.last - n
    if queued > port.alarm:
        tally[CROWDED] = 1
        if queued > port.ring_mask + 1:
            tally[FAULT] = 1
    if row < rows:
        port.peak = max(port.peak, queued)
    later = min(int(start * scale), rows)
    if later < rows:
        hop[h].waited += start - time
    if later != row:
        waiting[row, p] += 1
        waiting[later, p] -= 1
    return later


@inlined
def travel(
    element, unit, slot, flow, hop, ring, bits, known, block, transmission, passage,
    sizes, early, stream, clock, delivered, transit, waiting, lost, tally, scale, e, time, key, at,
):  # fmt: skip
    """Advance an arriving element hop by hop until a calendar queue, a lane, or its end.

    ``at`` is the port whose calendar queue it has left, or the number of the senders; ARRIVED at a
    receiver that delays ACKs, which share the calendar queue of the senders; DUE for a delayed ACK.
    """
    it = element[e]
    f = np.int64(it.flow)
    s = flow[f]
    rows = len(transit) - 1
    while True:
        if it.hop == s.turn and not receive_data(
            element, unit, slot, flow, bits, known, block, clock, delivered, tally, scale, e, time,
            key, rows, at,
        ):  # fmt: skip
            return
        if it.hop == s.end:
            push(element, unit, slot, e, len(unit) - 1, time, key)
            return
        h = s.way + it.hop
        p = np.int64(hop[h].port)
        if hop[h].inline == 0 and p != at:
            push(element, unit, slot, e, p, time, key)
            return
        at = len(unit) - 1
        port = unit[p]
        start = time
        row = min(int(time * scale), rows)
        if port.loss > 0.0 and it.hop < s.turn and uniform(stream, p) < port.loss:
            drop(element, flow, lost, tally, e, h, row, time)
            return
        n = port.first
        if port.free >= time:
            while n < port.last and ring[port.ring + (n & port.ring_mask)] < time:
                n += 1
            port.first = n
        admitted = 1
        if port.kind == EARLY:
            admitted = detect_early(element, unit, flow, sizes, early, stream, e, p, n, time)
        if port.free >= time or admitted == 0:
            if admitted == 0 or port.last - n >= port.room:
                drop(element, flow, lost, tally, e, h, row, time)
                return
            start = port.free
            row = enter_ring(unit, hop, ring, waiting, tally, scale, rows, h, p, n, time, row)
        else:
            port.first = 0
            port.last = 0
        port.free = start + transmission[p, it.size]
        time = start + passage[p, it.size]
        if row < rows:
            hop[h].carried += 1
            if it.hop < s.turn:
                transit[row, f] += port.counted
        it.hop += 1
        key = port.rank
