"""Network interfaces of hosts, and their senders.

An interface sends ACKs first, and then packets of the flows in round-robin order. A flow has at most one packet in the
interface: the next one is created when that packet has left, but not earlier than the rate of the flow permits.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import inlined

from .layout import DATA, PAUSE, int64
from .pauses import receive_message
from .ports import pass_ack, start, update_peak
from .senders import create, leave, receive_ack
from .timers import first_timer, has_timer, set_timer, take_timer
from .windows import END, collect, enlist, release, take

__all__ = ["process_host"]


@inlined
def append(net: Any, p: int, f: int, time: float) -> None:
    """Append a packet that flow f creates now to the queue of interface p; a flow has at most one packet there."""
    port, s = net.port[p], net.flow[f]
    s.waits = 1
    s.created = time
    if port.queued == 0:
        port.data_head = f
    else:
        net.flow[port.data_tail].next = f
    port.data_tail = f
    port.queued += 1


@inlined
def create_next(net: Any, p: int, f: int, time: float) -> None:
    """Create constant-rate flow f's next packet if due by ``time``, before all timers of interface p; else set one."""
    s = net.flow[f]
    if s.due > time or (has_timer(net, p) and first_timer(net, p) <= time):
        s.due = max(s.due, time)
        set_timer(net, p, f, s.due)
        return
    create(net, p, f, time)
    append(net, p, f, time)


@inlined
def send_packet(net: Any, records: Any, p: int, f: int, time: float) -> None:
    """Start to send flow f's packet from interface p; from now on it has a row of `PACKET`."""
    e = take(net)
    it, s = net.packet[e], net.flow[f]
    it.kind = DATA
    it.marked = 0
    it.flow = f
    it.hop = s.first_hop
    if s.rule >= 0:
        net.sent_at[e] = time
    start(net, records, p, e, DATA, time)


@inlined
def send_queued(net: Any, records: Any, p: int, time: float) -> None:
    """Send the first packet in the queue of interface p; its flow may create the next one."""
    port = net.port[p]
    f = int64(port.data_head)
    s = net.flow[f]
    port.data_head = s.next
    port.queued -= 1
    port.left = time
    net.hop[s.first_hop].waited += time - s.created
    if s.rule >= 0:
        leave(net, p, f, time)
    else:
        s.waits = 0
        if s.sent < s.packets:
            create_next(net, p, f, time)
    send_packet(net, records, p, f, time)


@inlined
def can_send(port: Any) -> bool:
    """Return whether an interface has a queued packet and is not paused."""
    return bool(port.queued > 0 and port.paused == 0)


@inlined
def send_next(net: Any, records: Any, p: int, time: float) -> None:
    """Send interface p's next packet; if it can send another one, check again at the end of the transmission."""
    send_queued(net, records, p, time)
    if can_send(net.port[p]):
        net.port[p].woken = 1


@inlined
def is_idle(port: Any, time: float) -> bool:
    """Return whether an interface is not transmitting and has no packet that it may send."""
    return bool(port.free <= time and not can_send(port))


@inlined
def enter_packet(net: Any, records: Any, p: int, f: int, time: float) -> None:
    """Send the packet that flow f creates now at interface p, or queue it if the interface is busy or paused."""
    port = net.port[p]
    if port.paused == 0 and is_idle(port, time):
        send_packet(net, records, p, f, time)
        return
    append(net, p, f, time)
    update_peak(port, time)
    if can_send(port):
        port.woken = 1


@inlined
def process_timer(net: Any, records: Any, p: int, time: float) -> None:
    """Process interface p's next timer: create a packet of its flow, if the flow's rate permits one."""
    f = take_timer(net, p)
    if not create(net, p, f, time):
        return
    enter_packet(net, records, p, f, time)
    s = net.flow[f]
    if s.waits == 0 and s.sent < s.packets:
        set_timer(net, p, f, s.due)


@inlined
def process_arrival(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Process arrival e at interface p: an ACK for a sender, an ACK to forward, or a pause message."""
    port = net.port[p]
    if net.packet[e].kind < PAUSE:
        if net.hop[net.packet[e].hop].port >= 0:
            pass_ack(net, records, p, e, port.free > time)
        else:
            receive_ack(net, e, time)
            release(net, e)
        return
    receive_message(net, p, e)
    release(net, e)
    if not can_send(port):
        return
    if port.free > time:
        port.woken = 1
    else:
        send_next(net, records, p, time)


@inlined
def process_until(net: Any, records: Any, p: int, time: float) -> None:
    """Process ends of transmissions at interface p up to a time, s, and timers before it, in order of time.

    At equal times the end of a transmission comes first; timers follow in the order of flows.
    """
    port = net.port[p]
    end = net.clock[END]
    while True:
        due = time
        if has_timer(net, p):
            due = min(due, first_timer(net, p))
        if port.woken == 1 and port.free <= due and port.free < end:
            port.woken = 0
            if can_send(port):
                send_next(net, records, p, port.free)
        elif due < time:
            process_timer(net, records, p, due)
        else:
            return


@inlined
def process_host(net: Any, records: Any, p: int, slot: int) -> None:
    """Process a time window at host interface p, in order of time; ``slot``: the row of its arrivals.

    At equal times the end of a transmission comes first, then arrivals, then timers in the order of flows.
    """
    port = net.port[p]
    n = collect(net, slot)
    while n > 0:
        n -= 1
        e = int64(net.arriving[n])
        time = net.packet[e].time
        process_until(net, records, p, time)
        process_arrival(net, records, p, e, time)
    process_until(net, records, p, net.clock[END])
    next_event = math.inf
    if port.woken == 1:
        next_event = port.free
    if has_timer(net, p):
        next_event = min(next_event, first_timer(net, p))
    if next_event < math.inf:
        enlist(net, p, next_event)
