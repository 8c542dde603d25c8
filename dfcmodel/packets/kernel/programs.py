"""Switch programs of users, called by address: packets wait in the order of their ranks.

What runs per packet here is a call, not inlined: it costs what the program costs.
"""

from __future__ import annotations

from typing import Any

from .buffers import taken_by
from .jit import call_manager, compiled
from .layout import int64
from .random_numbers import uniform

__all__ = ["ARRIVES", "LEAVES", "judge", "leave_ranked", "next_ranked", "put_in_order", "take_last"]

ARRIVES, LEAVES = 0, 1  # columns of the addresses of a program
LAST = 1  # what is dropped where the buffer is full: the packet with the highest rank


@compiled
def judge(net: Any, senders: Any, p: int, e: int, now: float, event: int, markable: bool) -> bool:
    """Let a port's program see a packet that comes or is to leave, and mark it; return whether it is dropped."""
    port = net.port[p]
    w = net.program[p]
    it = net.packet[e]
    s = senders.flow[it.flow]
    h = int64(it.hop)
    own = net.own[h]
    is_ack = h > s.turn
    for k in range(w.of_flow):
        w.state[w.first_of_flow - 3 + k] = own.state[k]
    w.drop = 0.0
    w.mark = 0.0
    w.rank = 0.0
    w.seen[0] = now
    w.seen[1] = float(it.flow)
    w.seen[2] = own.priority
    w.seen[3] = 1.0 if is_ack else 0.0
    w.seen[4] = 1.0 if markable else 0.0
    w.seen[5] = net.sizes[it.size]
    w.seen[6] = 1.0 if is_ack else own.size - float(it.number)
    w.seen[7] = 0.0
    w.seen[8] = 0.0
    if event == LEAVES:
        w.seen[7] = net.rank[e]
        w.seen[8] = now - it.time
    w.seen[9] = float(port.waiting)
    w.seen[10] = own.waiting
    w.seen[11] = port.bytes
    w.seen[12] = w.capacity
    w.seen[13] = uniform(net.stream, p)
    call_manager(net.programs[w.kind, event], w)
    for k in range(w.of_flow):
        own.state[k] = w.state[w.first_of_flow - 3 + k]
    if event == ARRIVES:
        net.rank[e] = w.rank
    if w.mark == 1.0 and markable:
        it.marked = 1
    return bool(w.drop == 1.0)


@compiled
def put_in_order(net: Any, p: int, e: int) -> None:
    """Queue a packet behind those with ranks that are not higher."""
    port, packet, rank = net.port[p], net.packet, net.rank
    lane = net.lane[port.lane]
    packet[e].next = -1
    if lane.count == 0:
        lane.head = e
        lane.tail = e
    elif rank[lane.tail] <= rank[e]:
        packet[lane.tail].next = e
        lane.tail = e
    elif rank[e] < rank[lane.head]:
        packet[e].next = lane.head
        lane.head = e
    else:
        before = int64(lane.head)
        while rank[packet[before].next] <= rank[e]:
            before = int64(packet[before].next)
        packet[e].next = packet[before].next
        packet[before].next = e
    lane.count += 1
    port.waiting += 1
    port.bytes += taken_by(net, p, e)
    net.own[packet[e].hop].waiting += 1.0


@compiled
def leave_ranked(net: Any, p: int, e: int) -> None:
    """Count a packet that is no longer queued."""
    port = net.port[p]
    net.lane[port.lane].count -= 1
    port.waiting -= 1
    port.bytes -= taken_by(net, p, e)
    net.own[net.packet[e].hop].waiting -= 1.0


@compiled
def next_ranked(net: Any, p: int, time: float) -> int:
    """Remove the packet with the lowest rank and return it."""
    lane = net.lane[net.port[p].lane]
    e = int64(lane.head)
    lane.head = net.packet[e].next
    lane.left = time
    leave_ranked(net, p, e)
    return e


@compiled
def take_last(net: Any, p: int, e: int) -> int:
    """Return what is dropped where the buffer is full: packet e, or the one with the highest rank, removed."""
    port, packet = net.port[p], net.packet
    lane = net.lane[port.lane]
    last = int64(lane.tail)
    if net.program[p].overflow != LAST or lane.count == 0 or net.rank[last] <= net.rank[e]:
        return e
    before = int64(lane.head)
    if before == last:
        lane.head = -1
    else:
        while packet[before].next != last:
            before = int64(packet[before].next)
        packet[before].next = -1
    lane.tail = before
    leave_ranked(net, p, last)
    return last
