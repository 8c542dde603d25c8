"""What an ingress counts, and the messages by which a port pauses it (IEEE 802.1Q, 36).

Where the ports of a switch count an ingress together, each notes in a window what it has changed. At the end of the
window the changes are replayed in the order of their times: what they cause upstream happens in a later window.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .layout import PAUSE, RESUME, int64
from .windows import CHANGED, CHANGES, FAULT, LOST, NO_ROOM, SWITCHED, push, take

__all__ = ["LEAVES", "count_arrival", "count_departure", "receive_message", "replay"]

LEAVES = 1 << 24
"""Least key of changes by packets that leave: after those that arrive at the same time."""


@compiled
def ask(net: Any, records: Any, k: int, time: float) -> None:
    """Send a pause or resume message for ingress k, and record it; beyond the last row it is only counted."""
    row = net.ingress[k]
    p = int64(row.asks)
    row.asking = 1 - row.asking
    if row.is_shared == 0:
        row.bound = net.room[k] if row.asking == 1 else min(row.high, net.room[k])
        row.resume = row.low if row.asking == 1 else -math.inf
    switches, counters = records.switches, net.counters
    n = counters[SWITCHED]
    counters[SWITCHED] = n + 1
    if n < len(switches):
        switches[n, 0] = time
        switches[n, 1] = p
        switches[n, 2] = row.asking
        switches[n, 3] = row.port
        switches[n, 4] = row.priority
    e = take(net)
    net.packet[e].kind = PAUSE if row.asking == 1 else RESUME
    net.packet[e].flow = row.port
    span = net.port[row.port].delay + net.port[p].signalling
    push(net, e, int64(row.port), time + span, -1 - p)


@inlined
def change(net: Any, records: Any, k: int, more: float, time: float) -> None:
    """Count bytes that enter or leave, and pause the link or let it go on."""
    row = net.ingress[k]
    row.count += more
    if row.asking == 1:
        if row.count <= row.low:
            ask(net, records, k, time)
    elif row.count > row.high:
        ask(net, records, k, time)


@compiled
def pass_bound(net: Any, records: Any, k: int, count: float, time: float) -> bool:
    """Let ingress k count bytes above its bound, and pause the link; return whether there is room for them."""
    row = net.ingress[k]
    if not count <= net.room[k]:
        return False
    row.count = count
    if row.asking == 0 and count > row.high:
        ask(net, records, k, time)
    return True


@inlined
def count_arrival(net: Any, records: Any, k: int, taken: float, time: float, key: int) -> bool:
    """Count bytes that enter the queue of a port over ingress k; return whether there is room for them.

    Those of a shared one are counted at the end of the window.
    """
    row = net.ingress[k]
    count = row.count + taken
    if count <= row.bound:
        row.count = count
        return True
    if row.is_shared == 1:
        add_change(net, k, taken, time, key)
        return True
    return bool(pass_bound(net, records, k, count, time))


@inlined
def count_departure(net: Any, records: Any, k: int, taken: float, time: float, key: int) -> None:
    """Count bytes that leave the queue of a port by the ingress k over which they came."""
    row = net.ingress[k]
    count = row.count - taken
    if count > row.resume:
        row.count = count
    elif row.is_shared == 1:
        add_change(net, k, -taken, time, key)
    else:
        row.count = count
        ask(net, records, k, time)


@inlined
def add_change(net: Any, k: int, more: float, time: float, key: int) -> None:
    """Add a change of a shared ingress, which is counted at the end of the window."""
    row = net.ingress[k]
    counters = net.counters
    n = counters[CHANGES]
    if n + 1 == len(net.change):
        counters[FAULT] = NO_ROOM
        return
    counters[CHANGES] = n + 1
    if row.change < 0:
        row.next = counters[CHANGED]
        counters[CHANGED] = k
    it = net.change[n]
    it.time = time
    it.more = more
    it.key = key
    it.next = row.change
    row.change = n


@compiled
def replay(net: Any, records: Any) -> None:
    """Count what has changed at shared ingresses in a window, in the order of time."""
    counters, changes, order = net.counters, net.change, net.arriving
    k = int64(counters[CHANGED])
    while k >= 0:
        row = net.ingress[k]
        c = int64(row.change)
        n = 0
        while c >= 0:
            it = changes[c]
            at = n
            while at > 0:
                other = changes[order[at - 1]]
                if other.time > it.time or (other.time == it.time and other.key > it.key):
                    break
                order[at] = order[at - 1]
                at -= 1
            order[at] = c
            n += 1
            c = int64(it.next)
        while n > 0:
            n -= 1
            it = changes[order[n]]
            change(net, records, k, it.more, it.time)
            if it.more > 0.0 and row.count > net.room[k]:
                counters[FAULT] = LOST
        row.change = -1
        k = int64(row.next)
    counters[CHANGED] = -1
    counters[CHANGES] = 0


@inlined
def receive_message(net: Any, p: int, e: int) -> None:
    """Count the ports that pause the data of a port."""
    net.port[p].paused += 1 if net.packet[e].kind == PAUSE else -1
