"""The loop over windows of time.

What a unit does in a window reaches units that come before it in the order, and itself, only after
the window. So each unit takes all that arrives at it in the window in a row.
"""
# mypy: ignore-errors

from __future__ import annotations

import math

from dfcmodel.packets.kernel.boxes import FAULT, OUT, least_time, release, take
from dfcmodel.packets.kernel.ports import travel
from dfcmodel.packets.kernel.senders import receive
from dfcmodel.packets.kernel.sources import look_at_timers, wake
from dfcmodel.packets.kernel.timers import CHECK, END, NOW, NS2

__all__ = ["look", "run"]

EMPTY_WINDOWS = 8
"""After so many windows in which nothing happened the loop looks where the next arrival is."""


def look(flow, rule, window, round_trip, acked, n):
    """Note the senders at the end of a sample."""
    for f in range(len(flow)):
        if flow[f].recovery != 4:
            window[n, f] = rule[f, 0]
            acked[n, f] = flow[f].acked
            round_trip[n, f] = flow[f].rtt if flow[f].rtt > 0.0 else math.nan


def run(
    element, unit, slot, flow, hop, rule, ring, bits, known, noted, block, transmission, passage,
    order, stream, out, clock, tally, window, round_trip, acked, delivered, transit, waiting, lost,
    ahead, scale, sample, first, samples,
):  # fmt: skip
    """Run from the sample ``first`` on; return how many samples there are, fewer after a fault."""
    senders = len(unit) - 1
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
            if unit[u].count == 0:
                continue
            inverse = unit[u].inverse
            mask = unit[u].mask
            at = unit[u].at
            for b in range(int(now * inverse), int(end * inverse) + 1):
                place = at + (b & mask)
                e = slot[place, 0]
                while e >= 0 and element[e].time < end:
                    idle = 0
                    slot[place, 0] = element[e].next
                    unit[u].count -= 1
                    time = element[e].time
                    key = element[e].key
                    f = element[e].flow
                    packets = 1
                    if u == senders:
                        clock[NOW] = time
                        tally[OUT] = 0
                        if element[e].number < 0 and element[e].key > senders - 1:
                            wake(
                                element, unit, slot, flow, rule, bits, noted, clock, tally,
                                stream, out, f,
                            )  # fmt: skip
                        else:
                            receive(
                                element, unit, slot, flow, rule, bits, noted, block, clock, tally,
                                stream, out, f, e,
                            )  # fmt: skip
                        release(element, tally, e)
                        packets = tally[OUT]
                    for i in range(packets):
                        if u == senders:
                            e = take(element, tally)
                            element[e].flow = f
                            element[e].number = out[i]
                            element[e].sent = time
                            element[e].hop = 0
                            flow[f].emitted += 1
                            element[e].size = 1 if clock[NS2] == 1.0 and out[i] == 0 else 0
                        travel(
                            element, unit, slot, flow, hop, ring, bits, known, block, transmission,
                            passage, delivered, transit, waiting, lost, tally, scale, e, time, key,
                            u != senders,
                        )  # fmt: skip
                    e = slot[place, 0]
        if tally[FAULT] != 0:
            return n
        now = end
        if end == sample_end:
            look(flow, rule, window, round_trip, acked, n)
            n += 1
            if n == samples:
                return n
        elif idle > EMPTY_WINDOWS:
            now = least_time(element, unit, slot, now, min(sample_end, max(end, clock[CHECK])))
            idle = 0
