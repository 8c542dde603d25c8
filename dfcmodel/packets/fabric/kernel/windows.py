"""Windows of time: the ports with events in each window, and their arrivals.

A window is not longer than the minimum delay from one port to another. Packets that a port sends in a window therefore
arrive in a later one, and the ports can be processed in any order. Arrivals are stored in an unsorted list per
port and window, and sorted when the window is processed.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import inlined

from .layout import GONE, NOBODY, int64

__all__ = ["collect", "end_of", "enlist", "free_retired", "push", "release", "retire", "take"]

FREE, USED, FAULT, SWITCHED, WINDOW, CHANGES, CHANGED = 0, 1, 2, 3, 4, 5, 6
"""Indices in `counters`: head of the list of free packets, rows used so far, the fault that stops the run, rows of
``switches`` in use, the number of the next window, rows of `CHANGE` in use, and the first shared ingress that
changed in the window; -1: none."""
NO_ROOM, LOST, LATE, FULL = 1, 2, 3, 4
"""Faults: no free row for a packet, no room for a packet in a buffer, an expired timer, more ACKs at a port than can
begin in the windows that have slots."""
INVERSE, END, TIMEOUT, SAMPLED, LAST, AHEAD = 0, 1, 2, 3, 4, 5
"""Indices in `clock`: windows per second; the end of the present window, s; the retransmission timeout, s; the ends of
the sample and of the run, s; the maximum time from the end of a window to the start of a transmission, s, such that
its packet arrives in a window that has a slot."""


@inlined
def end_of(w: int, width: float, inverse: float) -> float:
    """Return the end of window or sample w, s: the first time that belongs to the next one; ``inverse`` = 1 / width."""
    end = float(w + 1) * width
    while int(end * inverse) <= w:
        end += end * 2.0**-52
    while int((end - end * 2.0**-53) * inverse) > w:
        end -= end * 2.0**-53
    return end


@inlined
def take(net: Any) -> int:
    """Take a free row of ``packet`` and return its index; if there is none, set FAULT and return the last row."""
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
    """Return row e of ``packet`` to the free list."""
    net.packet[e].kind = GONE
    net.packet[e].next = net.counters[FREE]
    net.counters[FREE] = e


@inlined
def retire(net: Any, e: int, time: float) -> None:
    """Schedule the release of ACK e for the window of its arrival at the sender; until then it is in the network."""
    net.packet[e].time = time
    at = net.coming[int(time * net.clock[INVERSE]) & (len(net.coming) - 1)]
    if at.retired < 0:
        at.oldest = e
    net.packet[e].next = at.retired
    at.retired = e


@inlined
def free_retired(net: Any, index: int) -> None:
    """Return the rows that `retire` scheduled for a window (its ``index``) to the free list."""
    at = net.coming[index]
    if at.retired >= 0:
        net.packet[at.oldest].next = net.counters[FREE]
        net.counters[FREE] = at.retired
        at.retired = -1


@inlined
def enlist(net: Any, p: int, time: float) -> None:
    """Schedule port p to be processed in the window of a time, s, at most in the last window with a slot."""
    W = len(net.coming)
    w = min(int(time * net.clock[INVERSE]), net.counters[WINDOW] + W - 1) & (W - 1)
    slot = net.slot[p * W + w]
    if slot.next == NOBODY:
        slot.next = net.coming[w].port
        net.coming[w].port = p


@inlined
def push(net: Any, e: int, p: int, time: float, rank: int) -> None:
    """Schedule the arrival of packet e at port p in a later window; ``rank`` orders arrivals at equal times."""
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
    """Make room for ``it`` among n sorted arrivals, the last first; return the index, which the caller fills."""
    k = n
    while k > 0:
        other = packet[arriving[k - 1]]
        if other.time > it.time or (other.time == it.time and other.rank > it.rank):
            break
        arriving[k] = arriving[k - 1]
        k -= 1
    return k


@inlined
def collect(net: Any, row: int) -> int:
    """Sort the arrivals of slot ``row`` into ``arriving``, the last one first; empty the slot; return their number."""
    packet, arriving = net.packet, net.arriving
    e = int64(net.slot[row].last)
    net.slot[row].last = -1
    n = 0
    earliest = math.inf
    while e >= 0:
        it = packet[e]
        k = n
        if it.time < earliest:  # the list begins with the newest: most arrivals precede all sorted ones
            earliest = it.time
        else:
            k = shift(packet, arriving, n, it)
        arriving[k] = e
        n += 1
        e = int64(it.next)
    return n
