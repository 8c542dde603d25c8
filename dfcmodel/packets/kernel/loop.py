"""The loop over windows of time.

Packets and messages that a unit sends in a window reach itself and the units before it in the order
only after the window. Each unit can therefore process all its arrivals of the window at once.
"""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .boxes import (
    CROWDED,
    FAULT,
    OUT,
    SWITCHED,
    least_time,
    next_place,
    release,
    retire,
    take,
)
from .coupled import DROP, MARK, coupled_verdict, update_coupled
from .deliveries import remember
from .diffusion import TELL, begin_of, enter_rated, exchange
from .jit import compiled, counting_entry, inlined
from .lanes import BY_CLASS, BY_FLOW, BY_RATE, dequeue, enter_lane, overflow, wait_on
from .layout import CLASSES
from .managers import (
    ALL_LANES,
    CODEL,
    COUPLED,
    PROPORTIONAL,
    SQUARED,
    admit_lane,
    update_probability,
)
from .pauses import ENDS, PAUSE, RENEW, count_class, obey, renew, watch
from .ports import LANES, count_starts, drop, is_markable, is_scalable, keep_packet, travel
from .random_numbers import uniform
from .rated import has_plain_rates, next_arrival, pass_rated
from .receivers import DUE, answer_late
from .senders import receive
from .sources import CONSTANT, RATED, feed_back, look_at_timers, rest, wake
from .timers import CHECK, END, NOW, NS2, WINDOW

__all__ = [
    "act",
    "depart",
    "enqueue",
    "handle",
    "look",
    "new_packet",
    "next_of_switch",
    "run",
    "turn_of",
]

EMPTY_WINDOWS = 8
"""Number of consecutive windows without events after which the loop skips to the next event."""


@inlined
def act(
    element, sent_at, unit, slot, flow, history, events, bits, noted, block, clock, tally, stream,
    out, f, e, key,
):  # fmt: skip
    """Process an event at the ends of flow f; list in ``out`` what they send.

    Rows are numbers and flags of new packets, or -1 less an element and where it goes on from.
    """
    ends = len(unit) - 1
    tally[OUT] = 0
    if key >= ends + len(flow):
        if flow[f].ack_due == clock[NOW]:
            out[0, 0] = -1 - flow[f].pending
            out[0, 1] = DUE
            tally[OUT] = 1
    elif key >= ends:
        wake(element, unit, slot, flow, history, events, bits, noted, clock, tally, stream, out, f)
    elif element[e].hop == flow[f].turn:
        answer_late(element, flow, tally, out, f, e)
        return
    elif flow[f].recovery == RATED:
        feed_back(flow, events, f, clock[NOW], sent_at[e], float(element[e].marked))
    else:
        receive(
            element, sent_at, unit, slot, flow, history, events, bits, noted, block, clock, tally,
            stream, out, f, e,
        )  # fmt: skip
        if flow[f].onoff != CONSTANT:
            rest(element, unit, slot, flow, clock, tally, stream, f)
    release(element, tally, e)


@inlined
def new_packet(element, sent_at, flow, clock, tally, f, number, flags):
    """Return the element of a packet that enters the network."""
    e = take(element, tally)
    it = element[e]
    it.flow = f
    it.number = number
    it.ecn = flags
    it.hop = flow[f].way
    sent_at[e] = clock[NOW]
    it.marked = 0
    it.size = 0
    if clock[NS2] == 1.0 and number == 0 and flow[f].end > flow[f].turn + 1:
        it.size = 1
    flow[f].emitted += 1
    return e


@inlined
def handle(
    element, sent_at, unit, slot, flow, history, hop, events, ring, bits, known, noted, block, trace,
    times, sizes, early, stream, out, clock, tally, delivered, started, waited, waiting, lost, scale,
    u, now, end,
):  # fmt: skip
    """Process the arrivals of a window at the ends of the flows, or at a port without lanes."""
    senders = len(unit) - 1
    inverse = unit[u].inverse
    mask = unit[u].mask
    at = unit[u].at
    for b in range(int(now * inverse), int(end * inverse) + 1):
        place = at + (b & mask)
        e = np.int64(slot[place].head)
        while e >= 0 and element[e].time < end:
            slot[place].head = element[e].next
            unit[u].count -= 1
            time = element[e].time
            key = np.int64(element[e].key)
            f = np.int64(element[e].flow)
            packets = 1
            if u == senders:
                clock[NOW] = time
                act(
                    element, sent_at, unit, slot, flow, history, events, bits, noted, block, clock,
                    tally, stream, out, f, e, key,
                )  # fmt: skip
                packets = tally[OUT]
            for i in range(packets):
                begin = u
                if u == senders:
                    number = np.int64(out[i, 0])
                    flags = np.int64(out[i, 1])
                    if number >= 0:
                        e = new_packet(element, sent_at, flow, clock, tally, f, number, flags)
                        if flow[f].samples == 1:
                            remember(flow, history, clock, f, number)
                    else:
                        e = -1 - number
                        begin = flags
                travel(
                    element, sent_at, unit, slot, flow, hop, ring, bits, known, block, trace, times,
                    sizes, early, stream, clock, delivered, started, waited, waiting, lost, tally,
                    scale, e, time, key, begin,
                )  # fmt: skip
            e = np.int64(slot[place].head)


@inlined
def enqueue(
    managers, element, unit, slot, flow, hop, lane, diffusive, feeder, block, trace, sizes, early,
    control, called, stream, tally, waiting, lost, switches, scale, rows, u, e,
):  # fmt: skip
    """Drop or queue an arriving packet at a port with lanes; return whether it is sent at once."""
    port = unit[u]
    it = element[e]
    time = it.time
    h = np.int64(it.hop)
    lose = port.loss > 0.0 and it.hop < flow[it.flow].turn and uniform(stream, u) < port.loss
    c = np.int64(hop[h].lane)
    if not lose and port.manager != 0 and (port.managed == ALL_LANES or port.managed == c):
        lose = not admit_lane(
            managers, element, unit, lane, early, control, called, stream, u, e, time,
            is_markable(flow, element, e), is_scalable(flow, element, e), sizes[it.size],
        )  # fmt: skip
    busy = port.free >= time or port.paused > 0
    if port.by_turns == BY_CLASS:
        busy = busy or lane[c].paused > 0
        one = feeder[hop[h].ingress]
        full = (busy or port.waiting > 0) and float(one.count + 1) > one.room
    else:
        waits = port.by_turns == BY_RATE or (port.by_turns == 0 and busy)
        full = waits and port.waiting >= port.room
    if lose or full:
        row = min(int(time * scale), rows)
        drop(element, unit, flow, block, trace, lost, tally, u, e, time, row, time)
        return False
    if port.waiting == 0 and not busy and port.by_turns != BY_RATE:
        if port.manager == CODEL:  # a packet that does not wait is below the target
            control[u].deadline = 0.0
            control[u].dropping = 0
        elif port.manager == COUPLED:
            verdict = coupled_verdict(
                control, stream, u, is_scalable(flow, element, e), is_markable(flow, element, e),
                0.0, 0.0, sizes[0],
            )  # fmt: skip
            if verdict == DROP:
                row = min(int(time * scale), rows)
                drop(element, unit, flow, block, trace, lost, tally, u, e, time, row, time)
                return False
            if verdict == MARK:
                it.marked = 1
        return True
    if port.by_turns == BY_RATE:
        enter_rated(element, unit, lane, diffusive, sizes, u, c, e)
    else:
        enter_lane(element, unit, lane, u, c, e, sizes)
    if port.by_turns == BY_CLASS:
        count_class(element, unit, slot, flow, hop, feeder, tally, switches, u, e, 1, time)
    elif port.waiting > port.room and port.by_turns == BY_FLOW:
        overflow(
            element, unit, flow, lane, block, trace, sizes, waiting, lost, tally, u, time, scale, rows
        )  # fmt: skip
    if int(time * scale) < rows:
        port.peak = max(port.peak, port.waiting + port.held)
    watch(element, unit, slot, feeder, tally, switches, u, time)
    return False


@inlined
def depart(
    element, unit, flow, block, trace, times, started, waited, waiting, tally, scale, rows, u, e, came,
    time,
):  # fmt: skip
    """Start the transmission of a packet that came to a port with lanes at time ``came``."""
    it = element[e]
    if unit[u].traced == 1:
        keep_packet(element, flow, block, trace, tally, u, e, came, time, math.nan)
    h = np.int64(it.hop)
    first = min(int(came * scale), rows)
    row = min(int(time * scale), rows)
    if first != row:
        waiting[first, u] += 1
        waiting[row, u] -= 1
    if row < rows:
        waited[h] += time - came
        count_starts(started, row, h, h + 1)
    unit[u].free = time + times[u * CLASSES + it.size].transmission
    it.hop = h + 1


@inlined
def turn_of(
    managers, element, sent_at, unit, slot, flow, hop, lane, diffusive, feeder, feedback, ring, bits,
    known, block, trace, times, sizes, early, control, called, stream, clock, tally, delivered, started,
    waited, waiting, lost, switches, scale, u, now, end, once,
):  # fmt: skip
    """Process a window at a port with lanes: departures, arrivals, messages; return if any. ``once``: one of them."""
    port = unit[u]
    rows = len(lost) - 1
    b = int(now * port.inverse)
    past = int(end * port.inverse)
    did = False
    while True:
        if has_plain_rates(port) and not once:
            b, passed = pass_rated(
                element, unit, slot, hop, lane, diffusive, times, sizes, started, waited, waiting, scale,
                rows, u, b, past, end,
            )  # fmt: skip
            did = did or passed
        b, e = next_arrival(element, slot, port, b, past, end)
        time = element[e].time if e >= 0 else end
        queued = port.waiting > 0 and port.paused == 0 and port.free < time
        begin = port.free
        if queued and port.by_turns == BY_RATE:
            begin = begin_of(unit, lane, diffusive, u)
            queued = begin < time
        if queued:
            time = begin
        elif e < 0:
            return did
        if port.manager == PROPORTIONAL:
            update_probability(control, u, time, port.bytes)
        elif port.manager >= SQUARED:
            update_coupled(control, element, unit, lane, u, time)
        sent = -1
        came = time
        if not queued:
            slot[port.at + (b & port.mask)].head = element[e].next
            port.count -= 1
            if element[e].number <= TELL:
                exchange(element, sent_at, unit, slot, lane, diffusive, feedback, u, e)
            elif element[e].number == RENEW:
                renew(element, unit, slot, feeder, tally, switches, u, e)
            elif element[e].number <= PAUSE:
                obey(element, unit, lane, tally, u, e)
                queued = port.waiting > 0 and port.paused == 0 and port.free < time
            elif enqueue(
                managers, element, unit, slot, flow, hop, lane, diffusive, feeder, block, trace, sizes,
                early, control, called, stream, tally, waiting, lost, switches, scale, rows, u, e,
            ):  # fmt: skip
                sent = e
        did = True
        if queued:
            sent = dequeue(
                element, unit, slot, flow, hop, lane, diffusive, feeder, block, trace, sizes, control,
                stream, waiting, lost, switches, tally, u, time, scale, rows,
            )  # fmt: skip
            if sent >= 0:
                came = element[sent].time
            watch(element, unit, slot, feeder, tally, switches, u, time)
        if sent >= 0:
            depart(
                element, unit, flow, block, trace, times, started, waited, waiting, tally, scale, rows, u,
                sent, came, time,
            )  # fmt: skip
            it = element[sent]
            travel(
                element, sent_at, unit, slot, flow, hop, ring, bits, known, block, trace, times, sizes,
                early, stream, clock, delivered, started, waited, waiting, lost, tally, scale, sent,
                time + times[u * CLASSES + it.size].passage, np.int64(port.rank), len(unit) - 1,
            )  # fmt: skip
        if once:
            return True


@compiled
def next_of_switch(element, unit, slot, u, now, end):
    """Return which port has the next event of a window among those that count packets together, and when; -1: none.

    Events at equal times come in the order of their keys, departures last, as in the reference engine.
    """
    found = -1
    least = end
    order = np.int64(0)
    p = u
    while True:
        port = unit[p]
        _, e = next_arrival(
            element, slot, port, int(now * port.inverse), int(end * port.inverse), end
        )
        time = element[e].time if e >= 0 else end
        key = np.int64(element[e].key) if e >= 0 else np.int64(0)
        if port.waiting > 0 and port.paused == 0 and port.free < time:
            time = port.free
            key = ENDS + p
        if time < least or (time == least and time < end and key < order):
            found = p
            least = time
            order = key
        p = np.int64(port.mate)
        if p == u:
            return found, least


@inlined
def look(flow, events, window, round_trip, acked, n):
    """Record the state of the senders at the end of sample n."""
    for f in range(len(flow)):
        if flow[f].recovery < 4:  # window senders
            window[n, f] = flow[f].cwnd
            acked[n, f] = flow[f].acked
            round_trip[n, f] = flow[f].rtt if flow[f].rtt > 0.0 else math.nan


@counting_entry
def run(
    events, managers, element, sent_at, unit, slot, flow, history, hop, waited, lane, diffusive,
    feeder, feedback, ring, bits, known, noted, block, trace, times, sizes, early, control, called,
    order, stream, out, clock, tally, window, round_trip, acked, delivered, started, waiting, lost,
    switches, ahead, scale, sample, first, samples,
):  # fmt: skip
    """Run from sample ``first``; return the number of completed samples, smaller after a fault.

    It also returns, to be called again, at the end of a window after which half of ``switches`` or ``trace`` is full
    or other arrays are crowded.
    """
    now = clock[WINDOW]
    n = first
    idle = 0
    while True:
        sample_end = (n + 1) * sample
        end = min(now + ahead, sample_end)
        clock[END] = end
        if clock[CHECK] < end:
            look_at_timers(element, unit, slot, flow, clock, tally, now)
        idle += 1
        k = next_place(unit, 0, len(order))
        while k < len(order):
            u = order[k]
            if unit[u].kind == LANES:
                p = u
                begin = now
                together = unit[u].mate != u
                while p >= 0:
                    if together:
                        p, begin = next_of_switch(element, unit, slot, u, begin, end)
                        if p < 0:
                            break
                    if (unit[p].waiting > 0 or unit[p].count > 0) and turn_of(
                        managers, element, sent_at, unit, slot, flow, hop, lane, diffusive, feeder,
                        feedback, ring, bits, known, block, trace, times, sizes, early, control,
                        called, stream, clock, tally, delivered, started, waited, waiting, lost,
                        switches, scale, p, begin, end, together,
                    ):  # fmt: skip
                        idle = 0
                    if not together:
                        break
            elif unit[u].count > 0:
                before = unit[u].count
                handle(
                    element, sent_at, unit, slot, flow, history, hop, events, ring, bits, known,
                    noted, block, trace, times, sizes, early, stream, out, clock, tally, delivered,
                    started, waited, waiting, lost, scale, u, now, end,
                )  # fmt: skip
                if unit[u].count != before:
                    idle = 0
            retire(unit, u, k)
            k = next_place(unit, k + 1, len(order))
        if tally[FAULT] != 0:
            return n
        now = end
        if end == sample_end:
            look(flow, events, window, round_trip, acked, n)
            n += 1
            if n == samples:
                clock[WINDOW] = now
                if n == len(waiting) - 1:  # the end of the run, not of a part
                    wait_on(element, unit, lane, waiting, scale)
                return n
        elif idle > EMPTY_WINDOWS:
            now = least_time(element, unit, slot, now, min(sample_end, max(end, clock[CHECK])))
            idle = 0
        if tally[CROWDED] != 0 or 2 * tally[SWITCHED] > len(switches):
            clock[WINDOW] = now
            return n
