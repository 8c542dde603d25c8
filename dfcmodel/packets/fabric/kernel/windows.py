"""Windows of time: which ports have work in each, and what arrives there.

A window is not longer than anything takes from one port to another. What a port sends in a window therefore arrives in
a later one, and ports can process a window in any order. Arrivals are kept without order, in a list for each
port and window, and sorted when the window is processed.
"""

from __future__ import annotations

import math
from typing import Any

from .jit import inlined
from .layout import GONE, NOBODY, int64

__all__ = ["collect", "end_of", "enlist", "push", "release", "take"]

FREE, USED, FAULT, SWITCHED, WINDOW, CHANGES, CHANGED = 0, 1, 2, 3, 4, 5, 6
"""Places in `counters`: head of the list of free packets, rows used so far, why the run cannot go on, rows of
``switches`` in use, the number of the next window, rows of `CHANGE` in use, and the first shared ingress that has
changed in the window; -1: none."""
NO_ROOM, LOST, LATE = 1, 2, 3
"""Faults: no free row for a packet, no room for one in a buffer, a timer that expired."""
INVERSE, END, TIMEOUT, SAMPLED = 0, 1, 2, 3
"""Places in `clock`: windows per second, the end of the present one in s, time to a timeout in s, the end of the
sample in s."""


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
def enlist(net: Any, p: int, time: float) -> None:
    """Have a port processed in the window of a time, or in the last one that has a slot, if that is sooner."""
    W = len(net.first)
    w = min(int(time * net.clock[INVERSE]), net.counters[WINDOW] + W - 1) & (W - 1)
    slot = net.slot[p * W + w]
    if slot.next == NOBODY:
        slot.next = net.first[w]
        net.first[w] = p


@inlined
def push(net: Any, e: int, p: int, time: float, rank: int) -> None:
    """Let a packet arrive at a port in a later window."""
    W = len(net.first)
    w = int(time * net.clock[INVERSE]) & (W - 1)
    slot = net.slot[p * W + w]
    it = net.packet[e]
    it.time = time
    it.rank = rank
    it.next = slot.last
    slot.last = e
    if slot.next == NOBODY:
        slot.next = net.first[w]
        net.first[w] = p


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
        if (
            it.time < soonest
        ):  # the list has the newest first: most arrivals are before all that are sorted
            soonest = it.time
        else:
            k = shift(packet, arriving, n, it)
        arriving[k] = e
        n += 1
        e = int64(it.next)
    return n
