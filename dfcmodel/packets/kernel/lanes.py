"""Ports with lanes: schedulers over several queues, and ports that pause or are paused."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from .boxes import SWITCHED, push, take
from .coupled import DROP, MARK, SCALABLE, choose_queue, coupled_verdict
from .jit import inlined
from .managers import CODEL, COUPLED, DELIVER, control_delay
from .ports import drop, is_markable

__all__ = ["dequeue", "discard", "enter_lane", "leave_lane", "longest_lane", "overflow", "watch"]

PAUSE, RESUME = -3, -4  # numbers of elements that are messages


@inlined
def send_message(element, unit, slot, feeder, tally, p, time):
    """Send a pause or resume message to the feeders of a port."""
    port = unit[p]
    for k in range(port.feeder, port.feeder + port.feeders):
        q = np.int64(feeder[k])
        e = take(element, tally)
        element[e].number = PAUSE if port.pausing == 1 else RESUME
        element[e].flow = 0
        push(element, unit, slot, e, q, time + (unit[q].delay + port.signalling), -1 - p)


@inlined
def watch(element, unit, slot, feeder, tally, switches, p, time):
    """Pause or resume the feeders of a port when its queue crosses a threshold.

    Rows of ``switches``: when, which port and 1 for a pause; beyond the last one they are only counted.
    """
    port = unit[p]
    if port.feeders == 0:
        return
    wanted = 1 if float(port.waiting) > (port.low if port.pausing == 1 else port.high) else 0
    if wanted != port.pausing:
        port.pausing = wanted
        n = tally[SWITCHED]
        tally[SWITCHED] = n + 1
        if n < len(switches):
            switches[n, 0] = time
            switches[n, 1] = p
            switches[n, 2] = wanted
        send_message(element, unit, slot, feeder, tally, p, time)


@inlined
def enter_lane(element, unit, lane, p, c, e, sizes):
    """Append a packet to a lane."""
    port = unit[p]
    it = lane[c]
    element[e].next = -1
    if it.count == 0:
        it.head = e
        it.deficit = sizes[0]
        it.next = -1
        level = lane[port.lane + it.level]
        if level.first < 0:
            level.first = c
        else:
            lane[level.last].next = c
        level.last = c
    else:
        element[it.tail].next = e
    it.tail = e
    it.count += 1
    port.waiting += 1
    port.bytes += sizes[element[e].size]


@inlined
def discard(element, flow, waiting, lost, tally, p, e, time, scale, rows):
    """Drop a packet that was queued."""
    row = min(int(time * scale), rows)
    waiting[min(int(element[e].time * scale), rows), p] += 1
    waiting[row, p] -= 1
    drop(element, flow, lost, tally, e, flow[element[e].flow].way + element[e].hop, row, time)


@inlined
def longest_lane(unit, lane, p):
    """Return the longest lane of the lowest-priority busy level; at ties that of the first flow."""
    port = unit[p]
    for level in range(port.levels - 1, -1, -1):
        most = 0
        found = -1
        c = lane[port.lane + level].first
        while c >= 0:
            if lane[c].count > most or (lane[c].count == most and lane[c].flow < lane[found].flow):
                most = lane[c].count
                found = c
            c = lane[c].next
        if found >= 0:
            return found
    return -1


@inlined
def overflow(element, unit, flow, lane, sizes, waiting, lost, tally, p, time, scale, rows):
    """Drop the first packet of the longest lane."""
    port = unit[p]
    c = longest_lane(unit, lane, p)
    it = lane[c]
    e = np.int64(it.head)
    it.head = element[e].next
    it.count -= 1
    port.waiting -= 1
    port.bytes -= sizes[element[e].size]
    if it.count == 0:
        level = lane[port.lane + it.level]
        before = -1
        j = level.first
        while j != c:
            before = j
            j = lane[j].next
        if before < 0:
            level.first = it.next
        else:
            lane[before].next = it.next
        if level.last == c:
            level.last = before
    discard(element, flow, waiting, lost, tally, p, e, time, scale, rows)


@inlined
def leave_lane(element, unit, lane, sizes, p, level):
    """Remove the next packet from the lanes of a port, from a level on, and return it."""
    port = unit[p]
    k = port.lane + level
    while lane[k].first < 0:
        k += 1
    level = lane[k]
    c = level.first
    if port.by_turns == 1:
        while sizes[element[lane[c].head].size] > lane[c].deficit:
            lane[c].deficit += sizes[0]
            if c != level.last:
                level.first = lane[c].next
                lane[level.last].next = c
                lane[c].next = -1
                level.last = c
                c = level.first
    it = lane[c]
    e = np.int64(it.head)
    it.head = element[e].next
    it.count -= 1
    it.deficit -= sizes[element[e].size]
    port.waiting -= 1
    port.bytes -= sizes[element[e].size]
    if it.count == 0:
        level.first = it.next
        if level.first < 0:
            level.last = -1
    return e


@inlined
def dequeue(
    element, unit, flow, lane, sizes, control, stream, waiting, lost, tally, p, time, scale, rows
):  # fmt: skip
    """Remove the next packet to be sent from a port and return it; managers may drop some before it.

    -1: DualPI2 has dropped all that waited.
    """
    port = unit[p]
    after = DELIVER
    while True:
        level = 0
        if port.manager == COUPLED:
            if port.waiting == 0:
                return -1
            level = choose_queue(control, element, unit, lane, sizes, p)
        e = leave_lane(element, unit, lane, sizes, p, level)
        if port.manager == COUPLED:
            verdict = coupled_verdict(
                control, stream, p, level == SCALABLE, is_markable(flow, element, e),
                time - element[e].time, float(lane[port.lane].count) * sizes[0], sizes[0],
            )  # fmt: skip
            if verdict != DROP:
                if verdict == MARK:
                    element[e].marked = 1
                return e
            discard(element, flow, waiting, lost, tally, p, e, time, scale, rows)
            continue
        if port.manager != CODEL:
            return e
        after = control_delay(control, p, time, element[e].time, port.bytes, sizes[0], after)
        if after == DELIVER:
            return e
        discard(element, flow, waiting, lost, tally, p, e, time, scale, rows)
