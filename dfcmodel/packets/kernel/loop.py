"""The loop over windows of time.

Packets and messages that a unit sends in a window reach itself and the units before it in the order
only after the window. Each unit can therefore process all its arrivals of the window at once.
"""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .boxes import FAULT, OUT, SWITCHED, least_time, release, take
from .jit import entry, inlined
from .lanes import PAUSE, RESUME, enter_lane, leave_lane, overflow, watch
from .ports import LANES, drop, travel
from .senders import receive
from .sources import look_at_timers, wake
from .timers import CHECK, END, NOW, NS2

__all__ = ["handle", "look", "run", "turn_of"]

EMPTY_WINDOWS = 8
"""Number of consecutive windows without events after which the loop skips to the next event."""


@inlined
def handle(
    element, unit, slot, flow, hop, events, ring, bits, known, noted, block, transmission, passage,
    sizes, early, stream, out, clock, tally, delivered, transit, waiting, lost, scale, u, now, end,
):  # fmt: skip
    """Process the arrivals of a window at the senders, or at a port without lanes."""
    senders = len(unit) - 1
    inverse = unit[u].inverse
    mask = unit[u].mask
    at = unit[u].at
    for b in range(int(now * inverse), int(end * inverse) + 1):
        place = at + (b & mask)
        e = np.int64(slot[place, 0])
        while e >= 0 and element[e].time < end:
            slot[place, 0] = element[e].next
            unit[u].count -= 1
            time = element[e].time
            key = np.int64(element[e].key)
            f = np.int64(element[e].flow)
            packets = 1
            if u == senders:
                clock[NOW] = time
                tally[OUT] = 0
                if key >= senders:
                    wake(
                        element, unit, slot, flow, events, bits, noted, clock, tally, stream, out, f
                    )
                else:
                    receive(
                        element, unit, slot, flow, events, bits, noted, block, clock, tally, stream,
                        out, f, e,
                    )  # fmt: skip
                release(element, tally, e)
                packets = tally[OUT]
            for i in range(packets):
                if u == senders:
                    e = take(element, tally)
                    it = element[e]
                    it.flow = f
                    it.number = out[i]
                    it.sent = time
                    it.hop = 0
                    it.marked = 0
                    it.size = (
                        1
                        if clock[NS2] == 1.0 and out[i] == 0 and flow[f].end > flow[f].turn + 1
                        else 0
                    )
                    flow[f].emitted += 1
                travel(
                    element, unit, slot, flow, hop, ring, bits, known, block, transmission, passage,
                    sizes, early, stream, delivered, transit, waiting, lost, tally, scale, e, time,
                    key, u,
                )  # fmt: skip
            e = np.int64(slot[place, 0])


@inlined
def turn_of(
    element, unit, slot, flow, hop, lane, feeder, ring, bits, known, block, transmission, passage,
    sizes, early, stream, tally, delivered, transit, waiting, lost, switches, scale, u, now, end,
):  # fmt: skip
    """Process a window at a port with lanes: departures, arrivals, messages; return if any."""
    port = unit[u]
    rows = len(transit) - 1
    b = int(now * port.inverse)
    past = int(end * port.inverse)
    did = False
    while True:
        e = -1
        while port.count > 0 and b <= past:
            e = np.int64(slot[port.at + (b & port.mask), 0])
            if e >= 0 and element[e].time < end:
                break
            e = -1
            b += 1
        sent = -1
        time = element[e].time if e >= 0 else end
        came = time
        queued = False
        if port.waiting > 0 and port.paused == 0 and port.free < time:
            time = port.free
            queued = True
        elif e < 0:
            return did
        else:
            slot[port.at + (b & port.mask), 0] = element[e].next
            port.count -= 1
            if element[e].number <= RESUME + 1 and element[e].number >= RESUME:
                port.paused += 1 if element[e].number == PAUSE else -1
                release(element, tally, e)
                queued = port.waiting > 0 and port.paused == 0 and port.free < time
            elif port.free < time and port.waiting == 0 and port.paused == 0:
                sent = e
            else:
                h = flow[element[e].flow].way + element[e].hop
                row = min(int(time * scale), rows)
                if port.by_turns == 0 and port.waiting >= port.room and port.free >= time:
                    drop(element, flow, lost, e, h, row, time)
                    release(element, tally, e)
                else:
                    enter_lane(element, unit, lane, u, hop[h].lane, e, sizes[0])
                    if port.waiting > port.room and port.by_turns == 1:
                        overflow(
                            element, unit, flow, hop, lane, waiting, lost, tally, u, time, scale,
                            rows,
                        )  # fmt: skip
                    if row < rows:
                        port.peak = max(port.peak, port.waiting)
                    watch(element, unit, slot, feeder, tally, switches, u, time)
        did = True
        if queued:
            sent = leave_lane(element, unit, lane, sizes, u)
            came = element[sent].time
            watch(element, unit, slot, feeder, tally, switches, u, time)
        if sent >= 0:
            it = element[sent]
            h = flow[it.flow].way + it.hop
            first = min(int(came * scale), rows)
            row = min(int(time * scale), rows)
            if first != row:
                waiting[first, u] += 1
                waiting[row, u] -= 1
            if row < rows:
                hop[h].carried += 1
                hop[h].waited += time - came
                if it.hop < flow[it.flow].turn:
                    transit[row, it.flow] += port.delay
            port.free = time + transmission[u, it.size]
            it.hop += 1
            travel(
                element, unit, slot, flow, hop, ring, bits, known, block, transmission, passage,
                sizes, early, stream, delivered, transit, waiting, lost, tally, scale, sent,
                time + passage[u, it.size], port.rank, len(unit) - 1,
            )  # fmt: skip


@inlined
def look(flow, events, window, round_trip, acked, n):
    """Record the state of the senders at the end of sample n."""
    for f in range(len(flow)):
        if flow[f].recovery != 4:
            window[n, f] = flow[f].cwnd
            acked[n, f] = flow[f].acked
            round_trip[n, f] = flow[f].rtt if flow[f].rtt > 0.0 else math.nan


@entry
def run(
    events, element, unit, slot, flow, hop, lane, feeder, ring, bits, known, noted, block,
    transmission, passage, sizes, early, order, stream, out, clock, tally, window, round_trip,
    acked, delivered, transit, waiting, lost, switches, ahead, scale, sample, first, samples,
):  # fmt: skip
    """Run from sample ``first``; return the number of completed samples, smaller after a fault.

    It also returns, to be called again, at the end of a sample after which half of ``switches`` is full.
    """
    now = first * sample
    n = first
    idle = 0
    while True:
        sample_end = (n + 1) * sample
        end = min(now + ahead, sample_end)
        clock[END] = end
        if clock[CHECK] < end:
            look_at_timers(element, unit, slot, flow, clock, tally, now)
        idle += 1
        for k in range(len(order)):
            u = order[k]
            if unit[u].kind == LANES:
                if (unit[u].waiting > 0 or unit[u].count > 0) and turn_of(
                    element, unit, slot, flow, hop, lane, feeder, ring, bits, known, block,
                    transmission, passage, sizes, early, stream, tally, delivered, transit,
                    waiting, lost, switches, scale, u, now, end,
                ):  # fmt: skip
                    idle = 0
            elif unit[u].count > 0:
                before = unit[u].count
                handle(
                    element, unit, slot, flow, hop, events, ring, bits, known, noted, block,
                    transmission, passage, sizes, early, stream, out, clock, tally, delivered,
                    transit, waiting, lost, scale, u, now, end,
                )  # fmt: skip
                if unit[u].count != before:
                    idle = 0
        if tally[FAULT] != 0:
            return n
        now = end
        if end == sample_end:
            look(flow, events, window, round_trip, acked, n)
            n += 1
            if n == samples or 2 * tally[SWITCHED] > len(switches):
                return n
        elif idle > EMPTY_WINDOWS:
            now = least_time(element, unit, slot, now, min(sample_end, max(end, clock[CHECK])))
            idle = 0
