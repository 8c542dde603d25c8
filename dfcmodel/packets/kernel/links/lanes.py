"""Ports with lanes: schedulers over several queues, by flow or by class of traffic."""

from __future__ import annotations

from typing import Any

from dfcmodel.network.drop_causes import BUFFER_FULL, BY_MANAGER
from hopflow.kernels.marks import compiled, inlined, prefetch

from ..layout import BY_CLASS, BY_RANK, BY_RATE, CLASSES, int64
from ..queues.buffers import is_full, queue_bytes, record_bytes
from ..queues.coupled import DROP, MARK, SCALABLE, choose_queue, dualpi2_verdict
from ..queues.managers import CODEL, COUPLED, DELIVER, control_delay, is_markable
from ..queues.program_queues import leave_queue, next_turn, queue_in_turn
from ..queues.programs import (
    DROPPED,
    IS_TURNS,
    LEAVES,
    MAX_SKIPS,
    SKIPPED,
    call_program,
    cut_packet,
    next_ranked,
    record_failure,
)
from .diffusion import leave_rated
from .pauses import count_class
from .ports import count_starts, drop

__all__ = [
    "AT_ONCE",
    "OVERFLOWS",
    "WAITS",
    "dequeue",
    "dequeue_ranked",
    "discard",
    "enter_lane",
    "leave_lane",
    "longest_lane",
    "overflow",
    "place_of_arrival",
    "record_left",
    "start_transmission",
    "unlink_lane",
]

AT_ONCE, WAITS, OVERFLOWS = 0, 1, 2
"""Results of an arrival at a port with lanes: sent at once, queued, or without room."""


@inlined
def enter_lane(net: Any, p: int, c: int, e: int) -> None:
    """Append packet e to lane c of port p and count it; an empty lane joins the round robin of its level."""
    lane, packet = net.lane, net.packet
    port = net.port[p]
    it = lane[c]
    packet[e].next = -1
    if it.count == 0:
        it.head = e
        it.deficit = net.sizes[0]
        it.next = -1
        level = lane[port.lane + it.level]
        if level.first < 0:
            level.first = c
        else:
            lane[level.last].next = c
        level.last = c
    else:
        packet[it.tail].next = e
    it.tail = e
    it.count += 1
    if it.paused == 0:
        port.waiting += 1
    else:
        port.held += 1
    taken = queue_bytes(net, p, e)
    port.bytes += taken
    it.bytes += taken


@compiled
def record_left(net: Any, records: Any) -> None:
    """Once, at the end of a run: add the packets that are still in lanes to the records of waiting and left packets."""
    port = net.port
    waiting = records.waiting
    rows = len(waiting) - 1
    end = (rows + 1.0) / records.scale
    for p in range(len(port) - 1):
        for c in range(port[p].lane, port[p].lane + port[p].lanes):
            e = int64(net.lane[c].head)
            while net.lane[c].count > 0 and e >= 0:
                waiting[min(int(net.packet[e].time * records.scale), rows), p] += 1
                waiting[rows, p] -= 1
                if port[p].unit > 0.0:
                    taken = queue_bytes(net, p, e)
                    record_bytes(net, records, p, taken, net.packet[e].time, end)
                records.left[net.packet[e].hop] += 1
                e = int64(net.packet[e].next)


@inlined
def place_of_arrival(net: Any, u: int, e: int, time: float) -> int:
    """Return AT_ONCE, WAITS or OVERFLOWS (buffer full) for packet e as it arrives at port u, which has lanes."""
    port = net.port[u]
    hop = net.hop[int64(net.packet[e].hop)]
    if port.by_turns == BY_CLASS:
        is_idle = port.free < time and port.waiting == 0 and port.paused == 0
        if is_idle and net.lane[int64(hop.lane)].paused == 0:
            return AT_ONCE
        counted = int64(hop.ingress)
        if counted >= 0 and net.feeder[counted].count + queue_bytes(net, u, e) > net.feeder[counted].room:
            return OVERFLOWS
        return WAITS
    is_free = port.free < time and port.paused == 0
    if port.by_turns == BY_RATE or (port.by_turns == 0 and not is_free):
        return OVERFLOWS if is_full(port, queue_bytes(net, u, e)) else WAITS
    return AT_ONCE if is_free and port.waiting == 0 else WAITS


@inlined
def start_transmission(net: Any, records: Any, u: int, e: int, came: float, time: float) -> None:
    """Start to send packet e, which came to port u at ``came``: set the end and its next hop; record the wait."""
    rows = len(records.lost) - 1
    it = net.packet[e]
    h = int64(it.hop)
    first = min(int(came * records.scale), rows)
    row = min(int(time * records.scale), rows)
    if first != row:
        records.waiting[first, u] += 1
        records.waiting[row, u] -= 1
        if net.port[u].unit > 0.0:
            record_bytes(net, records, u, queue_bytes(net, u, e), came, time)
    if row < rows:
        records.waited[h] += time - came
        count_starts(records.started, row, h, h + 1)
    net.port[u].free = time + net.times[u * CLASSES + it.size].transmission
    it.hop = h + 1


@inlined
def discard(world: Any, p: int, e: int, time: float, cause: int) -> None:
    """Drop packet e, which has left a queue of port p already, and correct the records of waiting packets."""
    net, records = world.net, world.records
    rows = len(records.lost) - 1
    row = min(int(time * records.scale), rows)
    came = net.packet[e].time
    records.waiting[min(int(came * records.scale), rows), p] += 1
    records.waiting[row, p] -= 1
    record_bytes(net, records, p, queue_bytes(net, p, e), came, time)
    drop(world, p, e, came, time, cause)


@inlined
def longest_lane(net: Any, p: int) -> int:
    """Return port p's longest lane, in the buffer's unit, of the lowest priority that has packets; -1: all empty."""
    lane = net.lane
    port = net.port[p]
    for level in range(port.levels - 1, -1, -1):
        most = 0.0
        found = -1
        c = lane[port.lane + level].first
        while c >= 0:
            length = float(lane[c].count) if port.unit == 0.0 else lane[c].bytes
            if length > most or (length == most and lane[c].flow < lane[found].flow):
                most = length
                found = c
            c = lane[c].next
        if found >= 0:
            return found
    return -1


@inlined
def unlink_lane(net: Any, p: int, c: int) -> None:
    """Remove empty lane c of port p from the round-robin list of its priority level."""
    lane = net.lane
    level = lane[net.port[p].lane + lane[c].level]
    before = -1
    j = level.first
    while j != c:
        before = j
        j = lane[j].next
    if before < 0:
        level.first = lane[c].next
    else:
        lane[before].next = lane[c].next
    if level.last == c:
        level.last = before


@inlined
def overflow(world: Any, p: int, time: float) -> None:
    """Drop the first packet of port p's longest lane, to make room for an arrival that is queued already."""
    net = world.net
    lane = net.lane
    port = net.port[p]
    c = longest_lane(net, p)
    it = lane[c]
    e = int64(it.head)
    it.head = net.packet[e].next
    it.count -= 1
    port.waiting -= 1
    taken = queue_bytes(net, p, e)
    port.bytes -= taken
    it.bytes -= taken
    if it.count == 0:
        unlink_lane(net, p, c)
    discard(world, p, e, time, BUFFER_FULL)


@inlined
def leave_lane(net: Any, p: int, level: int, time: float) -> int:
    """Remove and return port p's next packet, which must exist, by priority and round robin from ``level`` on."""
    lane, sizes, packet = net.lane, net.sizes, net.packet
    port = net.port[p]
    k = port.lane + level
    while lane[k].first < 0:
        k += 1
    turns = lane[k]
    c = turns.first
    if port.by_turns != 0:
        while lane[c].paused > 0 or sizes[packet[lane[c].head].size] > lane[c].deficit:
            if lane[c].paused == 0:
                lane[c].deficit += sizes[0]
            if c != turns.last:
                turns.first = lane[c].next
                lane[turns.last].next = c
                lane[c].next = -1
                turns.last = c
                c = turns.first
    it = lane[c]
    e = int64(it.head)
    it.head = packet[e].next
    it.count -= 1
    it.left = time
    size = sizes[packet[e].size]
    it.deficit -= size
    port.waiting -= 1
    taken = queue_bytes(net, p, e)
    port.bytes -= taken
    it.bytes -= taken
    if it.count > 0:
        prefetch(packet, it.head)
    else:
        turns.first = it.next
        if turns.first < 0:
            turns.last = -1
    return e


@compiled
def dequeue_ranked(world: Any, p: int, time: float) -> int:
    """Remove the next packet of port p, with a switch program, and return its row; -1 if the program dropped all."""
    net, senders, records = world
    w = net.program[p]
    port = net.port[p]
    skips = 0
    while port.waiting > 0:
        e = queue_in_turn(net, p) if w.queues > 0 else next_ranked(net, p, time)
        verdict = call_program(net, senders, p, e, time, LEAVES)
        if w.queues > 0:
            if verdict == SKIPPED and skips < MAX_SKIPS * port.waiting:
                skips += 1
                next_turn(net, p)
                continue
            if verdict == SKIPPED:
                record_failure(net, w, LEAVES, IS_TURNS, float(skips))
            leave_queue(net, p, int64(port.lane + int64(w.queue)))
        if w.cut == 1:
            whole = queue_bytes(net, p, e)
            cut_packet(net, e)
            more = whole - queue_bytes(net, p, e)  # waited with it until now
            record_bytes(net, records, p, more, net.packet[e].time, time)
        if verdict != DROPPED:
            net.lane[port.lane].left = time
            return e
        skips = 0
        discard(world, p, e, time, BY_MANAGER)
    return -1


@compiled
def dequeue_coupled(world: Any, p: int, time: float) -> int:
    """Remove the next packet of port p, with DualPI2, and return its row; -1 if DualPI2 dropped all."""
    net, senders = world.net, world.senders
    packet, port = net.packet, net.port[p]
    while port.waiting > 0:
        level = choose_queue(net, p)
        e = leave_lane(net, p, level, time)
        verdict = dualpi2_verdict(
            net, p, level == SCALABLE, is_markable(net, senders, e), time - packet[e].time,
            float(net.lane[port.lane].count) * net.sizes[0],
        )  # fmt: skip
        if verdict != DROP:
            if verdict == MARK:
                packet[e].marked = 1
            return e
        discard(world, p, e, time, BY_MANAGER)
    return -1


@inlined
def dequeue(world: Any, p: int, time: float) -> int:
    """Remove the next packet of port p, by its scheduler, and return its row; -1 if its manager dropped all.

    -1: DualPI2, or a switch program, has dropped all that waited.
    """
    net, records = world.net, world.records
    packet, sizes = net.packet, net.sizes
    port = net.port[p]
    if port.by_turns >= BY_RATE:
        if port.by_turns == BY_RATE:
            return leave_rated(net, p, time)
        if port.by_turns == BY_RANK:
            return dequeue_ranked(world, p, time)
    if port.manager == COUPLED:
        return dequeue_coupled(world, p, time)
    after = DELIVER
    while True:
        e = leave_lane(net, p, 0, time)
        if port.by_turns == BY_CLASS:
            count_class(net, records, p, e, -1, time)
        if port.manager != CODEL or net.hop[packet[e].hop].ingress < 0:
            return e
        backlogged = port.waiting > 0 and port.bytes > sizes[0]
        after = control_delay(net.control, p, time, time - packet[e].time, backlogged, after)
        if after == DELIVER:
            return e
        discard(world, p, e, time, BY_MANAGER)
