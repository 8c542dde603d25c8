"""Ports without lanes: the path of a packet up to the next port with a calendar queue."""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.drop_causes import AT_RANDOM, BUFFER_FULL, BY_MANAGER
from hopflow.kernels.marks import compiled, inlined, prefetch

from ..calendar_queue import CROWDED, FAULT, TRACED, push, release
from ..layout import CLASSES, LOSES, OF_RATE, SENDER, int64
from ..queues.buffers import enter_bytes, free_bytes, is_full, queue_bytes, record_bytes, record_peak
from ..queues.early import admit_early
from ..queues.managers import is_markable
from ..random_numbers import uniform
from ..tcp.receivers import receive_data
from ..tcp.timers import SAMPLE_END, SAMPLE_ROW, SAMPLE_START

__all__ = [
    "admit",
    "advance_packet",
    "count_starts",
    "count_waiting",
    "departs_first",
    "detect_early",
    "drop",
    "enter_ring",
    "keep_packet",
]

FIFO, EARLY, LANES, INTERFACE = 0, 1, 2, 3  # kinds of ports
EARLIEST, LATEST = 1.0 + 2.0**-48, 1.0 - 2.0**-48
"""Of the start and of the end of a sample: times from and before them are in the sample whatever was rounded."""
UNDER_WAY = 1 << 31
"""In place of a calendar queue that a packet has left, from its second hop on: a number that no port has."""


@compiled
def keep_packet(world: Any, p: int, e: int, came: float, sent: float, longer: float, dropped: float) -> None:
    """Write packet e as it leaves port p's queue to ``trace`` (NaN: not sent, or not dropped); CROWDED at half full.

    Its transmission takes ``longer`` than at the rate of the link, in s.
    """
    net, senders, records = world
    counters = net.counters
    trace = records.trace
    n = counters[TRACED]
    if 2 * n >= len(trace):
        counters[CROWDED] = 1
    if n == len(trace):
        counters[FAULT] = 1
        return
    counters[TRACED] = n + 1
    it = net.packet[e]
    row = trace[n]
    row.arrived = came
    row.sent = sent
    row.longer = longer
    row.dropped = dropped
    row.port = p
    row.flow = it.flow
    row.number = it.number
    row.size = it.size
    row.ack = 1 if it.hop > senders.flow[it.flow].turn else 0
    row.marked = it.marked
    for k in range(2 * (it.size - 1) if it.size < OF_RATE else 0):
        row.blocks[k] = net.block[e, k]


@compiled
def drop(world: Any, p: int, e: int, came: float, time: float, cause: int) -> None:
    """Drop packet e, which came to port p at ``came``, at ``time``, s: record it by sample and cause; free its row."""
    net, senders, records = world
    it = net.packet[e]
    s = senders.flow[it.flow]
    if net.port[p].traced == 1:
        keep_packet(world, p, e, came, math.nan, 0.0, time)
    rows = len(records.lost) - 1
    row = min(int(time * records.scale), rows)
    records.lost[row, it.hop] += 1
    if row < rows:
        records.causes[it.hop, cause] += 1
        if records.causes[it.hop, cause] == 1 or time < records.first_drops[it.hop, cause]:
            records.first_drops[it.hop, cause] = time
    if row < rows and it.hop < s.turn and not s.first_loss <= time:
        s.first_loss = time
    release(net, e)


@inlined
def detect_early(net: Any, senders: Any, e: int, p: int, queued: int, idle: float) -> int:
    """Update RED's average at port p and return its decision on packet e: 0 to drop it, 2 if it is marked now, else 1.

    ``idle``: as of `admit_early`.
    """
    port = net.port[p]
    waiting = float(queued) if port.unit == 0.0 else port.bytes
    verdict = admit_early(net, p, queued, waiting, idle, net.sizes[net.packet[e].size])
    if verdict == 2:
        if not is_markable(net, senders, e):
            return 0
        net.packet[e].marked = 1
    return verdict


@inlined
def departs_first(net: Any, senders: Any, e: int, spent: float) -> bool:
    """Return whether a transmission of ``spent`` s that ends when packet e arrives is processed before the arrival.

    Simultaneous events are processed in the order in which they were scheduled: the end of a transmission when it
    begins, an arrival when the transmission on the link before begins. A packet that answers an ACK was scheduled with
    the ACK. Packets of senders with clocks arrive before the end.
    """
    it = net.packet[e]
    s = senders.flow[it.flow]
    h = int64(it.hop)
    if h == s.way and s.recovery < 0:
        return False
    before = h - 1
    size = int64(it.size)
    if h == s.way:
        before = int64(s.end) - 1
        size = 1
    elif net.hop[before].port < 0:  # an ACK: its receiver answers data
        before -= 1
        size = 0
    if net.hop[before].port < 0:
        return False
    return bool(spent > net.times[net.hop[before].port * CLASSES + size].passage)


@inlined
def count_waiting(net: Any, senders: Any, p: int, e: int, time: float) -> int:
    """Return how many packets wait at port p, without lanes, when packet e arrives; forget starts before that.

    The start of the last one's transmission stands in ``begun``, those before it in the ring of start times.
    """
    port = net.port[p]
    if port.begun < time:
        return 0
    if port.begun == time and departs_first(net, senders, e, port.begun - port.ahead):
        return 0
    n = port.first
    before = port.base
    while n < port.last and net.ring[port.ring + (n & port.ring_mask)] < time:
        before = net.ring[port.ring + (n & port.ring_mask)]
        n += 1
    if (
        n < port.last
        and net.ring[port.ring + (n & port.ring_mask)] == time
        and departs_first(net, senders, e, time - before)
    ):
        before = time
        n += 1
    port.base = before
    port.first = n
    return port.last - n + 1


@inlined
def admit(net: Any, senders: Any, p: int, e: int, time: float) -> int:
    """Decide on packet e at port p without lanes: loss, RED, room; return how many wait before it; -1 - cause: drop."""
    port = net.port[p]
    f = int64(net.packet[e].flow)
    if (
        port.plain != 1
        and port.effects & LOSES != 0
        and net.packet[e].hop < senders.flow[f].turn
        and uniform(net.stream, p) < net.fault[p].loss
    ):
        return -1 - AT_RANDOM
    first = port.first
    queued = count_waiting(net, senders, p, e, time)
    ended = port.free < time
    if port.free == time:
        ended = departs_first(net, senders, e, port.spent)
    if port.plain != 1:
        if port.unit > 0.0:
            free_bytes(net, p, first, queued)
        if port.kind == EARLY:
            idle = time - max(0.0, port.free) if ended else -1.0
            if detect_early(net, senders, e, p, queued, idle) == 0:
                return -1 - BY_MANAGER
        if port.unit > 0.0:
            return queued if ended or not is_full(port, queue_bytes(net, p, e)) else -1 - BUFFER_FULL
    return queued if ended or queued < port.room else -1 - BUFFER_FULL


@inlined
def enter_ring(net: Any, p: int, queued: int) -> None:
    """Queue the arriving packet at port p, without lanes, behind ``queued`` others."""
    port = net.port[p]
    if queued > 0:
        if port.last == port.first:
            port.base = port.ahead
        net.ring[port.ring + (port.last & port.ring_mask)] = port.begun
        port.last += 1
        inside = port.last - port.first
        if inside > port.alarm:
            net.counters[CROWDED] = 1
            full = port.ring_mask + 1 if port.unit == 0.0 else port.ring_mask  # see `enter_bytes`
            if inside > full:
                net.counters[FAULT] = 1
    else:
        port.first = 0
        port.last = 0


@inlined
def count_starts(started: Any, row: int, first: int, past: int) -> None:
    """Add one start at hops ``first`` to ``past`` - 1 in sample ``row`` to ``started``, which has differences by hop.

    ``started`` has the changes of the counts from hop to hop.
    """
    if past > first:
        started[row, first] += 1
        started[row, past] -= 1


# In one piece: with what enters a queue and what ends a route in functions of their own, also inlined, the loop took
# 1.02 times as long (takano2006/4, dumbbell), with NewReno's permutation 1.04 to 1.1.
@inlined
def advance_packet(world: Any, e: int, time: float, key: int, at: int) -> None:
    """Advance packet e from queue ``at`` through ports without lanes, until it enters a queue, is dropped or ends.

    ``at`` is the port whose calendar queue it has left, or the number of the senders; ARRIVED at a
    receiver that delays ACKs, which has a calendar queue as senders do; DUE for a delayed ACK.
    """
    net, senders, records = world
    started = records.started
    scale = records.scale
    it = net.packet[e]
    rows = len(records.lost) - 1
    h = int64(it.hop)
    size = int64(it.size)
    first = h  # of the hops that are not counted yet: in the sample ``row``, which lasts until ``until``
    row = int64(senders.clock[SAMPLE_ROW])
    until = senders.clock[SAMPLE_END] if time >= senders.clock[SAMPLE_START] else -math.inf
    while True:
        p = int64(net.hop[h].port)
        if p < 0:
            count_starts(started, row, first, h)
            it.hop = h
            if p == SENDER:
                push(net, e, int64(net.hop[h].queue), time, key)
                prefetch(net.sent_at, e)
                return
            h = int64(senders.flow[it.flow].turn)  # of a path that was lent, too
            it.hop = h
            if not receive_data(world, e, time, key, at):
                return
            h += 1
            first = h
            size = int64(it.size)
            continue
        queue = int64(net.hop[h].queue)
        if queue >= 0 and p != at:
            count_starts(started, row, first, h)
            it.hop = h
            push(net, e, queue, time, key)
            return
        at = UNDER_WAY
        port = net.port[p]
        busy = port.free >= time
        start = max(time, port.free)
        arrived = row  # the sample of the arrival, and ``row`` that of the start; almost always the same
        if start >= until:
            count_starts(started, row, first, h)
            first = h
            arrived = min(int(time * scale), rows)
            row = min(int(start * scale), rows)
            until = (row + 1) * records.sample * LATEST if row < rows else math.inf
        queued = int64(0)
        if port.plain != 1 or port.begun >= time:  # otherwise nothing waits
            it.hop = h
            queued = admit(net, senders, p, e, time)
            if queued < 0:
                count_starts(started, row, first, h)
                drop(world, p, e, time, time, -1 - queued)
                return
            if port.plain != 1 and port.traced == 1:
                keep_packet(world, p, e, time, start, 0.0, math.nan)
        if busy:
            enter_ring(net, p, queued)
            if row < rows:
                records.waited[h] += start - time
            if arrived < rows:
                port.peak = max(port.peak, queued + 1)
            if row != arrived:
                records.waiting[arrived, p] += 1
                records.waiting[row, p] -= 1
            if port.plain != 1 and port.unit > 0.0:
                taken = queue_bytes(net, p, e)
                enter_bytes(net, p, taken, queued)
                record_bytes(net, records, p, taken, time, start)
                if arrived < rows:
                    record_peak(net, records, p, queued + 1)
            port.ahead = port.begun if port.begun > -math.inf else port.free - port.spent
            port.begun = start
        else:
            port.begun = -math.inf
        spent = net.times[p * CLASSES + size]
        port.spent = spent.transmission
        port.free = start + spent.transmission
        time = start + spent.passage
        h += 1
        key = int64(spent.rank)
