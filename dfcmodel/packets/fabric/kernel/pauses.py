"""Byte counts of ingresses, and the messages by which a port pauses its upstream link (IEEE 802.1Q, 36).

If the ports of a switch share the count of an ingress, each port records its changes of a window. At the end of the
window the changes are replayed in order of time: pauses caused by them take effect in a later window.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .layout import PAUSE, RESUME, int64
from .windows import CHANGED, CHANGES, FAULT, LOST, NO_ROOM, SWITCHED, push, take

__all__ = ["LEAVES", "count_arrival", "count_departure", "receive_message", "replay"]

LEAVES = 1 << 24
"""Minimum key of changes by departures, so that they follow arrivals at the same time."""


@compiled
def send_message(net: Any, records: Any, k: int, time: float) -> None:
    """Send ingress k's upstream port a pause, or a resume if it is paused, and record it."""
    row = net.ingress[k]
    p = int64(row.pausing)
    row.is_paused = 1 - row.is_paused
    if row.is_shared == 0:
        row.bound = net.room[k] if row.is_paused == 1 else min(row.high, net.room[k])
        row.resume = row.low if row.is_paused == 1 else -math.inf
    switches, counters = records.switches, net.counters
    n = counters[SWITCHED]
    counters[SWITCHED] = n + 1
    if n < len(switches):
        switches[n, 0] = time
        switches[n, 1] = p
        switches[n, 2] = row.is_paused
        switches[n, 3] = row.port
        switches[n, 4] = row.priority
    e = take(net)
    net.packet[e].kind = PAUSE if row.is_paused == 1 else RESUME
    net.packet[e].flow = row.port
    span = net.port[row.port].delay + net.port[p].signalling
    push(net, e, int64(row.port), time + span, -1 - p)


@inlined
def change_count(net: Any, records: Any, k: int, more: float, time: float) -> None:
    """Add ``more`` bytes (negative: subtract) to the count of ingress k, and pause or resume its link at thresholds."""
    row = net.ingress[k]
    row.count += more
    if row.is_paused == 1:
        if row.count <= row.low:
            send_message(net, records, k, time)
    elif row.count > row.high:
        send_message(net, records, k, time)


@compiled
def pass_bound(net: Any, records: Any, k: int, count: float, time: float) -> bool:
    """Set ingress k's count, bytes, and pause its link above ``high``; return False, unchanged, beyond the headroom."""
    row = net.ingress[k]
    if not count <= net.room[k]:
        return False
    row.count = count
    if row.is_paused == 0 and count > row.high:
        send_message(net, records, k, time)
    return True


@inlined
def count_arrival(net: Any, records: Any, k: int, n_bytes: float, time: float, key: int) -> bool:
    """Count bytes that enter over ingress k, and pause its link; return False without room. Shared: later, by ``key``.

    Bytes of a shared ingress are counted at the end of the window.
    """
    row = net.ingress[k]
    count = row.count + n_bytes
    if count <= row.bound:
        row.count = count
        return True
    if row.is_shared == 1:
        add_change(net, k, n_bytes, time, key)
        return True
    return bool(pass_bound(net, records, k, count, time))


@inlined
def count_departure(net: Any, records: Any, k: int, n_bytes: float, time: float, key: int) -> None:
    """Subtract bytes that leave a port's queue from the count of ingress k, and resume its paused link at ``low``."""
    row = net.ingress[k]
    count = row.count - n_bytes
    if count > row.resume:
        row.count = count
    elif row.is_shared == 1:
        add_change(net, k, -n_bytes, time, key)
    else:
        row.count = count
        send_message(net, records, k, time)


@inlined
def add_change(net: Any, k: int, more: float, time: float, key: int) -> None:
    """Record a change of shared ingress k by ``more`` bytes, counted after the window in order of time and ``key``."""
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
    """Count the window's changes at shared ingresses in order of time, with pauses; lack of room is a fault."""
    counters, changes, order = net.counters, net.change, net.arriving
    k = int64(counters[CHANGED])
    while k >= 0:
        row = net.ingress[k]
        c = int64(row.change)
        n = 0
        while c >= 0:
            it = changes[c]
            position = n
            while position > 0:
                other = changes[order[position - 1]]
                if other.time > it.time or (other.time == it.time and other.key > it.key):
                    break
                order[position] = order[position - 1]
                position -= 1
            order[position] = c
            n += 1
            c = int64(it.next)
        while n > 0:
            n -= 1
            it = changes[order[n]]
            change_count(net, records, k, it.more, it.time)
            if it.more > 0.0 and row.count > net.room[k]:
                counters[FAULT] = LOST
        row.change = -1
        k = int64(row.next)
    counters[CHANGED] = -1
    counters[CHANGES] = 0


@inlined
def receive_message(net: Any, p: int, e: int) -> None:
    """Process pause or resume message e at port p: change its number of pausing ports by 1; the caller releases e."""
    net.port[p].paused += 1 if net.packet[e].kind == PAUSE else -1
