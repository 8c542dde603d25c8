"""Ports with switch programs: packets that come, and what passes such a port between two calendar queues."""

from __future__ import annotations

from typing import Any

from .buffers import is_full, is_over, record_peak, taken_by
from .codes import BUFFER_FULL, BY_MANAGER, PAUSE
from .jit import compiled, prefetch
from .lanes import dequeue_ranked, discard
from .layout import int64
from .plain_lanes import send_on
from .ports import drop
from .program_queues import join_queue, leave_queue, longest_queue
from .programs import ARRIVES, DROPPED, LEAVES, LONGEST, judge, put_in_order, take_last
from .rated import next_arrival
from .trimming import cut_packet

__all__ = ["enqueue_by_queue", "enqueue_ranked", "pass_programs"]


@compiled
def enqueue_by_queue(world: Any, u: int, e: int, waits: bool) -> bool:
    """Queue an arriving packet where a switch program has chosen a queue; return whether it is sent at once."""
    net, records = world.net, world.records
    port = net.port[u]
    time = net.packet[e].time
    longest = net.program[u].overflow == LONGEST
    if waits and not longest and is_full(port, taken_by(net, u, e)):
        drop(world, u, e, time, time, BUFFER_FULL)
        return False
    join_queue(net, u, e)
    if not waits:
        return bool(dequeue_ranked(world, u, time) == e)
    while is_over(port):
        gone = leave_queue(net, u, longest_queue(net, u))
        discard(world, u, gone, time, BUFFER_FULL)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting)
    return False


@compiled
def enqueue_ranked(world: Any, u: int, e: int, busy: bool) -> bool:
    """Let a switch program drop or queue an arriving packet; return whether it is sent at once."""
    net, senders, records = world
    port = net.port[u]
    time = net.packet[e].time
    w = net.program[u]
    if judge(net, senders, u, e, time, ARRIVES) == DROPPED:
        drop(world, u, e, time, time, BY_MANAGER)
        return False
    if w.cut == 1:
        cut_packet(net, e)
    if w.queues > 0:
        return enqueue_by_queue(world, u, e, busy or port.waiting > 0)
    if not busy and port.waiting == 0:
        verdict = judge(net, senders, u, e, time, LEAVES)
        if w.cut == 1:
            cut_packet(net, e)
        if verdict != DROPPED:
            return True
        drop(world, u, e, time, time, BY_MANAGER)
        return False
    while is_full(port, taken_by(net, u, e)):
        gone = take_last(net, u, e)
        if gone == e:
            drop(world, u, e, time, time, BUFFER_FULL)
            return False
        discard(world, u, gone, time, BUFFER_FULL)
    put_in_order(net, u, e)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting)
    return False


@compiled
def pass_programs(
    world: Any, u: int, b: int, past: int, end: float
) -> tuple[int, int, float, bool]:
    """Queue and send packets of a port with a program up to a message, or the end of the window.

    Return as `plain_lanes.pass_lanes`: the bucket of the next arrival, a packet that does not go on to a calendar queue, -1 for
    none, when its transmission began, and whether there was any event.
    """
    net, _, records = world
    packet = net.packet
    port = net.port[u]
    did = False
    b, e = next_arrival(net, port, b, past, end)
    while True:
        time = packet[e].time if e >= 0 else end
        sent = int64(-1)
        if port.waiting > 0 and port.free < time:
            time = port.free
            sent = dequeue_ranked(world, u, time)
        elif e < 0 or packet[e].number <= PAUSE:
            return b, -1, 0.0, did
        else:
            came = e
            following = int64(packet[e].next)
            if following >= 0:
                prefetch(packet, following)
            net.bucket[port.at + (b & port.mask)].head = following
            port.count -= 1
            b, e = next_arrival(net, port, b, past, end)
            if enqueue_ranked(world, u, came, port.free >= time):
                sent = came
        did = True
        if sent >= 0 and not send_on(net, records, u, sent, time):
            return b, sent, time, did
