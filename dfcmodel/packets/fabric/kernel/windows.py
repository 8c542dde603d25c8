"""Windows of time: which ports have work in each, and what arrives there.

A window is not longer than anything takes from one port to another. What a port sends in a window therefore arrives in
a later one, and ports can process a window in any order. Arrivals are kept without order, in a list for each
port and window, and sorted when the window is processed.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import inlined

from .layout import GONE, NOBODY, int64

__all__ = ["collect", "end_of", "enlist", "free_retired", "push", "release", "retire", "take"]

FREE, USED, FAULT, SWITCHED, WINDOW, CHANGES, CHANGED = 0, 1, 2, 3, 4, 5, 6
"""Places in `counters`: head of the list of free packets, rows used so far, why the run cannot go on, rows of
``switches`` in use, the number of the next window, rows of `CHANGE` in use, and the first shared ingress that has
changed in the window; -1: none."""
NO_ROOM, LOST, LATE, FULL = 1, 2, 3, 4
"""Faults: no free row for a packet, no room for one in a buffer, a timer that expired, more ACKs at a port than begin
in the windows that have slots."""
INVERSE, END, TIMEOUT, SAMPLED, LAST, AHEAD = 0, 1, 2, 3, 4, 5
"""Places in `clock`: windows per second, the end of the present one in s, time to a timeout in s, the ends of the
sample and of the run in s, and how long after the end of a window a transmission may begin, s: its packet arrives in a
window that has a slot."""


@inlined
def end_of(w: int, width: float, inverse: float) -> float:
    """Return the end of a window, or of a sample: the first time that belongs to the next one, s."""
    end = float(w + 1) * width
    while int(end * inverse) <= w:
        end += end * 2.0**-52
    while int((end - end * 2.0**-53) * inverse) > w:
        end -= end * 2.0**-53
    return end


@inlined
def take(net: Any) -> int:
    """Return the index of a free packet; without one the last row, and a fault."""
    counters = net.counters
    e = counters[FREE]
    if e >= 0:
        counters[FREE] = net.packet[e].next
        return e
    e = counters[USED]
    if e + 1 < len(net.packet):
        counters[USED] = e + 1
    else:
        counters[FAULT] = NO_ROOM
    return e


@inlined
def release(net: Any, e: int) -> None:
    """Return a packet to the list of free ones."""
    net.packet[e].kind = GONE
    net.packet[e].next = net.counters[FREE]
    net.counters[FREE] = e


@inlined
def retire(net: Any, e: int, time: float) -> None:
    """Free the row of an ACK that reaches its sender at a time, in whose window; up to then it is in the network."""
    net.packet[e].time = time
    at = net.coming[int(time * net.clock[INVERSE]) & (len(net.coming) - 1)]
    if at.retired < 0:
        at.oldest = e
    net.packet[e].next = at.retired
    at.retired = e


@inlined
def free_retired(net: Any, place: int) -> None:
    """Return the rows that are retired in a window to the list of free ones."""
    at = net.coming[place]
    if at.retired >= 0:
        net.packet[at.oldest].next = net.counters[FREE]
        net.counters[FREE] = at.retired
        at.retired = -1


@inlined
def enlist(net: Any, p: int, time: float) -> None:
    """Have a port processed in the window of a time, or in the last one that has a slot, if that is sooner."""
    W = len(net.coming)
    w = min(int(time * net.clock[INVERSE]), net.counters[WINDOW] + W - 1) & (W - 1)
    slot = net.slot[p * W + w]
    if slot.next == NOBODY:
        slot.next = net.coming[w].port
        net.coming[w].port = p


@inlined
def push(net: Any, e: int, p: int, time: float, rank: int) -> None:
    """Let a packet arrive at a port in a later window."""
    W = len(net.coming)
    w = int(time * net.clock[INVERSE]) & (W - 1)
    slot = net.slot[p * W + w]
    it = net.packet[e]
    it.time = time
    it.rank = rank
    it.next = slot.last
    slot.last = e
    if slot.next == NOBODY:
        slot.next = net.coming[w].port
        net.coming[w].port = p


@inlined
def shift(packet: Any, arriving: Any, n: int, it: Any) -> int:
    """Move the last of n sorted arrivals that are before ``it`` by a place; return the place for it."""
    k = n
    while k > 0:
        other = packet[arriving[k - 1]]
        if other.time > it.time or (other.time == it.time and other.rank > it.rank):
            break
        arriving[k] = arriving[k - 1]
        k -= 1
    return k


@inlined
def collect(net: Any, place: int) -> int:
    """Sort the arrivals of a slot into ``arriving``, the last one first; return how many there are."""
    packet, arriving = net.packet, net.arriving
    e = int64(net.slot[place].last)
    net.slot[place].last = -1
    n = 0
    soonest = math.inf
    while e >= 0:
        it = packet[e]
        k = n
        if it.time < soonest:  # the list has the newest first: most arrivals are before all that are sorted
            soonest = it.time
        else:
            k = shift(packet, arriving, n, it)
        arriving[k] = e
        n += 1
        e = int64(it.next)
    return n
