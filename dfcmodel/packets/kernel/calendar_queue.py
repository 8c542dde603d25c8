"""Calendar queues (Brown 1988): the future arrivals of each unit, in slots of equal duration."""

from __future__ import annotations

from typing import Any

from .jit import inlined

__all__ = ["least_time", "next_place", "push", "release", "retire", "take"]

FREE, USED, OUT, FAULT, STREAM, SWITCHED = 0, 1, 2, 3, 4, 5  # places in `tally`
CROWDED, ALARM = 6, 7  # 1: arrays should grow; number of elements in use from which they should
TRACED = 8  # rows of `trace` that are in use
GONE = -2  # number of a free element
PLACES = 5  # a place in the order, shifted by so much: the row of `unit` that has its bit
PLACE = 31  # and of the place: which bit it is


@inlined
def take(net: Any) -> int:
    """Return the index of a free element; if none, set the fault flag and return the last, which is kept for that."""
    tally = net.tally
    e = tally[FREE]
    if e >= 0:
        tally[FREE] = net.element[e].next
        return e
    e = tally[USED]
    if e >= tally[ALARM]:
        tally[CROWDED] = 1
    if e + 1 < len(net.element):
        tally[USED] = e + 1
    else:
        tally[FAULT] = 1
    return e


@inlined
def release(net: Any, e: int) -> None:
    """Return an element to the free list."""
    net.element[e].number = GONE
    net.element[e].next = net.tally[FREE]
    net.tally[FREE] = e


@inlined
def push(net: Any, e: int, u: int, time: float, key: int) -> None:
    """Insert an element into the calendar queue of a unit; not the last, which several packets are if none is free.

    The run is given up at the end of the window then, and a list with one element twice would lead out of the array.
    """
    element = net.element
    if e == len(element) - 1:
        return
    it = element[e]
    it.time = time
    it.key = key
    it.next = -1
    box = net.unit[u]
    if box.count == 0:
        net.unit[box.place >> PLACES].active |= 1 << (box.place & PLACE)
    box.count += 1
    b = box.at + (int(time * box.inverse) & box.mask)
    place = net.slot[b]
    j = place.head
    if j < 0:
        place.head = e
        place.tail = e
        return
    tail = element[place.tail]
    if tail.time < time or (tail.time == time and tail.key <= key):
        tail.next = e
        place.tail = e
        return
    before = -1
    while element[j].time < time or (element[j].time == time and element[j].key <= key):
        before = j
        j = element[j].next
    it.next = j
    if before < 0:
        place.head = e
    else:
        element[before].next = e


@inlined
def next_place(unit: Any, k: int, past: int) -> int:
    """Return the first place from ``k`` on of a unit that has work; ``past``: none."""
    while k < past:
        rest = unit[k >> PLACES].active >> (k & PLACE)
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
def retire(unit: Any, u: int, k: int) -> None:
    """Clear the bit of a unit that has no work until something is pushed to it."""
    box = unit[u]
    if box.count == 0 and (box.waiting == 0 or box.paused > 0):
        unit[k >> PLACES].active &= ~(1 << (k & PLACE))


@inlined
def least_time(net: Any, now: float, end: float) -> float:
    """Return the time of the next arrival or departure at any unit, at most ``end``."""
    least = end
    for u in range(len(net.unit)):
        box = net.unit[u]
        if box.waiting > 0 and box.paused == 0:
            least = min(least, max(now, box.free))
        if box.count > 0:
            first = int(now * box.inverse)
            for b in range(first, first + box.mask + 1):
                e = net.slot[box.at + (b & box.mask)].head
                if e >= 0 and net.element[e].time < least:
                    least = net.element[e].time
                if b >= int(least * box.inverse):
                    break
    return least
