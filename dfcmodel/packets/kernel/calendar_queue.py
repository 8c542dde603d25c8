"""Calendar queues (Brown 1988): the future arrivals of each port, in buckets of equal duration."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .codes import GONE
from .layout import int64

__all__ = ["least_time", "next_arrival", "next_place", "pop", "push", "release", "retire", "take"]

FREE, USED, OUT, FAULT, STREAM, SWITCHED = 0, 1, 2, 3, 4, 5  # places in `counters`
CROWDED, ALARM = 6, 7  # 1: arrays should grow; number of packets in use from which they should
TRACED = 8  # rows of `trace` that are in use
WRONG = 9  # one more than a flow whose recovery returned what cannot be; 0: none
DETECTED = 10  # rows of `detected` that are in use
PLACES = 5  # a place in the order, shifted by so much: the row of `port` that has its bit
PLACE = 31  # and of the place: which bit it is


@inlined
def take(net: Any) -> int:
    """Take a free row of ``packet``, return its index; CROWDED if few are left; if none, FAULT and the last row."""
    counters = net.counters
    e = counters[FREE]
    if e >= 0:
        counters[FREE] = net.packet[e].next
        return e
    e = counters[USED]
    if e >= counters[ALARM]:
        counters[CROWDED] = 1
    if e + 1 < len(net.packet):
        counters[USED] = e + 1
    else:
        counters[FAULT] = 1
    return e


@inlined
def release(net: Any, e: int) -> None:
    """Set number of row ``e`` of ``packet`` to GONE and put it on the free list; fields other than ``next`` stay."""
    net.packet[e].number = GONE
    net.packet[e].next = net.counters[FREE]
    net.counters[FREE] = e


@inlined
def push(net: Any, e: int, u: int, time: float, key: int) -> None:
    """Set row ``e``'s time, s, and key, insert it into port u's calendar queue, mark u active; last row: do nothing.

    When no row is free, that row stands for several packets and the run ends with the window. A list that
    holds it twice would lead out of the array.
    """
    packet = net.packet
    if e == len(packet) - 1:
        return
    it = packet[e]
    it.time = time
    it.key = key
    it.next = -1
    queue = net.port[u]
    if queue.count == 0:
        net.port[queue.place >> PLACES].active |= 1 << (queue.place & PLACE)
    queue.count += 1
    b = queue.at + (int(time * queue.inverse) & queue.mask)
    place = net.bucket[b]
    j = place.head
    if j < 0:
        place.head = e
        place.tail = e
        return
    tail = packet[place.tail]
    if tail.time < time or (tail.time == time and tail.key <= key):
        tail.next = e
        place.tail = e
        return
    before = -1
    while packet[j].time < time or (packet[j].time == time and packet[j].key <= key):
        before = j
        j = packet[j].next
    it.next = j
    if before < 0:
        place.head = e
    else:
        packet[before].next = e


@inlined
def next_arrival(net: Any, port: Any, b: int, past: int, end: float) -> tuple[int, int, float]:
    """Return (bucket, row, time) of a PORT row's first event before ``end``, buckets b to ``past``; row -1: none."""
    while port.count > 0 and b <= past:
        e = int64(net.bucket[port.at + (b & port.mask)].head)
        if e >= 0:
            time = net.packet[e].time
            if time < end:
                return b, e, time
        b += 1
    return b, -1, end


@inlined
def pop(net: Any, port: Any, b: int, e: int) -> None:
    """Remove event e, the first one of bucket b, from the calendar queue of a PORT row."""
    net.bucket[port.at + (b & port.mask)].head = net.packet[e].next
    port.count -= 1


@inlined
def next_place(port: Any, k: int, past: int) -> int:
    """Return the first place >= k of the order with work, by bits in all port rows; ``past`` if none is before it."""
    while k < past:
        rest = port[k >> PLACES].active >> (k & PLACE)
        if rest == 0:
            k = (k | PLACE) + 1
            continue
        while rest & 255 == 0:
            rest >>= 8
            k += 8
        while rest & 1 == 0:
            rest >>= 1
            k += 1
        return k
    return past


@inlined
def retire(port: Any, u: int, k: int) -> None:
    """Clear the work bit of port u, at place k of the order, if it has no event and no packet that may leave."""
    queue = port[u]
    if queue.count == 0 and (queue.waiting == 0 or queue.paused > 0):
        port[k >> PLACES].active &= ~(1 << (k & PLACE))


@inlined
def least_time(net: Any, now: float, end: float) -> float:
    """Return the earliest time, s, of an event or a possible departure at any port; ``end`` if none is earlier."""
    least = end
    for u in range(len(net.port)):
        queue = net.port[u]
        if queue.waiting > 0 and queue.paused == 0:
            least = min(least, max(now, queue.free))
        if queue.count > 0:
            first = int(now * queue.inverse)
            for b in range(first, first + queue.mask + 1):
                e = net.bucket[queue.at + (b & queue.mask)].head
                if e >= 0 and net.packet[e].time < least:
                    least = net.packet[e].time
                if b >= int(least * queue.inverse):
                    break
    return least
