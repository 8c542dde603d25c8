"""Network interfaces of hosts: a queue per flow, served in turn by weight, and the control class, which goes first.

An interface shares its calendar queue with the senders of its host, so that a sender at the rate of a rule makes a
packet when its previous packet has begun to leave. Its lanes are, in this order: the control class, which is ACKs; its
classes of traffic, each a list of the flows that wait, counted together; its flows, and the ACKs of flows where these
are of their class.
"""

from __future__ import annotations

from typing import Any

from dfcmodel.network.drop_causes import AT_RANDOM
from hopflow.kernels.marks import inlined

from ..calendar_queue import push, release, take
from ..codes import BACKPRESSURE, READY, REPORT, STOP, WAKE
from ..layout import BY_LAW, CLASSES, LOSES, int64
from ..tcp.timers import wake_at
from .backpressure import enlist_flow, stop_flow
from .laws import may_be_sent, receive_report, update_blocked
from .pauses import process_pause
from .ports import INTERFACE, drop
from .random_loss import is_lost_at_random

__all__ = [
    "class_of",
    "enter_interface",
    "interface_of",
    "is_for_interface",
    "is_next",
    "next_of_interface",
    "pass_interface",
    "wake_interface",
]


@inlined
def is_for_interface(net: Any, e: int, key: int) -> bool:
    """Return whether event e in a host's calendar queue goes to its network interface, not to a sender or receiver.

    An answer of a receiver's timer has the key of the timer, before packet 0 has arrived also its number, but a hop.
    """
    if net.packet[e].number == STOP:
        return False
    if key < 0:
        return True
    if net.packet[e].number == WAKE and net.packet[e].hop == 0 and key >= CLASSES * (len(net.port) - 1):
        return False
    p = int64(net.hop[net.packet[e].hop].port)
    return p >= 0 and net.port[p].kind == INTERFACE


@inlined
def interface_of(net: Any, e: int) -> int:
    """Return the port of packet e's hop, which must be at a port, if it is a host's network interface; otherwise -1."""
    p = int64(net.hop[net.packet[e].hop].port)
    return p if net.port[p].kind == INTERFACE else -1


@inlined
def is_next(net: Any, place: int, time: float, key: int) -> bool:
    """Return whether an event (time, key) precedes all others in bucket ``place`` of a calendar queue."""
    e = int64(net.bucket[place].head)
    return e < 0 or net.packet[e].time > time or (net.packet[e].time == time and net.packet[e].key > key)


@inlined
def wake_interface(net: Any, p: int) -> None:
    """Schedule event READY at the time at which busy interface p is free; none if nothing waits or one is scheduled.

    Senders of equal rates are due at such times: events that came after theirs would make long lists of buckets.
    """
    port = net.port[p]
    if port.woken == 1 or port.waiting == 0 or port.paused > 0:
        return
    port.woken = 1
    e = take(net)
    net.packet[e].number = READY
    net.packet[e].flow = p
    push(net, e, int64(port.queue), port.free, -len(net.port) - p)


@inlined
def class_of(net: Any, e: int) -> int:
    """Return the lane that is paused with packet e at an interface: its class's, or its own in the control class."""
    c = int64(net.hop[net.packet[e].hop].lane)
    return int64(net.lane[c].level) if net.lane[c].level > 0 else c


@inlined
def count_turn(net: Any, k: int, c: int) -> None:
    """Count one packet of flow lane c against its turn in class lane k; the turn ends when its weight is used up."""
    lane = net.lane
    other = int64(lane[k].flow)
    if other >= 0 and other != c:
        lane[other].deficit = lane[other].weight
    lane[k].flow = c
    lane[c].deficit -= 1.0
    if lane[c].deficit < 1.0:
        lane[c].deficit = lane[c].weight
        lane[k].flow = -1


@inlined
def enter_interface(world: Any, p: int, e: int) -> bool:
    """Queue or lose packet e at interface p and return False; return True, its turn counted, to send it at once."""
    net, senders, records = world
    lane = net.lane
    port = net.port[p]
    it = net.packet[e]
    c = int64(net.hop[it.hop].lane)
    k = class_of(net, e)
    is_control = k == c
    if port.effects & LOSES != 0 and is_lost_at_random(net, senders, p, e):
        drop(world, p, e, it.time, it.time, AT_RANDOM)
        return False
    by_law = port.by_turns == BY_LAW
    if (
        port.free <= it.time
        and port.waiting == 0
        and port.paused == 0
        and lane[k].paused == 0
        and lane[c].paused == 0
        and (not by_law or may_be_sent(net, e, it.time))
    ):
        if not is_control:
            count_turn(net, k, c)
        return True
    it.next = -1
    if lane[c].count == 0:
        lane[c].head = e
        if not is_control and lane[c].paused == 0:
            enlist_flow(net, k, c)
    else:
        net.packet[lane[c].tail].next = e
    lane[c].tail = e
    lane[c].count += 1
    if not is_control and lane[c].paused == 0:
        lane[k].count += 1
    if lane[k].paused == 0 and lane[c].paused == 0:
        port.waiting += 1
    else:
        port.held += 1
    if int(it.time * records.scale) < len(records.lost) - 1:
        port.peak = max(port.peak, port.waiting + port.held)
    if by_law:
        update_blocked(net, records, p, k, it.time)
    wake_interface(net, p)
    return False


@inlined
def next_of_interface(net: Any, senders: Any, p: int, time: float) -> int:
    """Remove the next packet of interface p, which must have one; return its row, and wake the flow that it blocked."""
    lane = net.lane
    port = net.port[p]
    port.waiting -= 1
    c = int64(port.lane)
    if lane[c].count > 0:
        e = int64(lane[c].head)
        lane[c].head = net.packet[e].next
        lane[c].count -= 1
        lane[c].left = time
        return e
    k = c + 1 + port.turn
    while lane[k].paused > 0 or lane[k].count == 0:
        k = k + 1 if k < c + port.levels else c + 1
    port.turn = (k - c) % port.levels
    c = int64(lane[k].first)
    it = lane[c]
    e = int64(it.head)
    it.head = net.packet[e].next
    it.count -= 1
    lane[k].count -= 1
    lane[k].left = time
    lane[k].first = it.next
    count_turn(net, k, c)
    if it.count > 0:
        enlist_flow(net, k, c)
    s = senders.flow[it.flow]
    if s.blocked == 1 and s.lane == c:
        s.blocked = 0
        s.due = time
        wake_at(net, int64(it.flow), time, int64(it.flow))
    return e


@inlined
def pass_interface(world: Any, e: int, key: int) -> tuple[int, int, float]:
    """Process event e at an interface; return (interface, packet to send now or -1, time at which it arrived).

    It returns the interface, the packet whose transmission begins now, -1 for none, and when that came.
    """
    net, senders, records = world
    it = net.packet[e]
    time = it.time
    p = int64(it.flow)
    if key >= 0:
        p = int64(net.hop[it.hop].port)
        if enter_interface(world, p, e):
            return p, e, time
        return p, -1, time
    port = net.port[p]
    if it.number == READY:
        release(net, e)
        port.woken = 0
    else:
        if it.number == REPORT:
            receive_report(net, records, p, e)
        elif it.number == BACKPRESSURE:
            stop_flow(net, p, e)
        else:
            process_pause(net, p, e)
        if port.free > time:
            wake_interface(net, p)
            return p, -1, time
    if port.waiting == 0 or port.paused > 0:
        return p, -1, time
    sent = next_of_interface(net, senders, p, time)
    return p, sent, net.packet[sent].time
