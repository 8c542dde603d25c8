"""Network interfaces of hosts, and the senders behind them.

An interface sends ACKs first, and then a packet of each flow in turn. A flow has one packet at most in the interface:
the next one is created when that has left, and not sooner than the rate of the flow allows.
"""

from __future__ import annotations

import math
from typing import Any

from .control_queue import append_ack, take_ack
from .jit import inlined
from .layout import ACK, DATA, PAUSE, int64
from .pauses import receive_message
from .senders import create, receive_ack
from .switches import send_on
from .timers import first_timer, has_timer, set_timer, take_timer
from .windows import END, FAULT, collect, enlist, release

__all__ = ["process_host"]


@inlined
def append(net: Any, p: int, f: int, e: int) -> None:
    """Let a packet of flow f wait in an interface, after those of all flows that wait."""
    port = net.port[p]
    net.flow[f].waits = e
    if port.queued == 0:
        port.data_head = f
    else:
        net.flow[port.data_tail].next = f
    port.data_tail = f
    port.queued += 1


@inlined
def create_again(net: Any, p: int, f: int, time: float) -> None:
    """Create the next packet of a flow of constant rate whose packet leaves now: at once, where that is its next event."""
    s = net.flow[f]
    if s.due > time or (has_timer(net, p) and first_timer(net, p) <= time):
        s.due = max(s.due, time)
        set_timer(net, p, f, s.due)
        return
    append(net, p, f, create(net, p, f, time))


@inlined
def next_packet(net: Any, p: int, time: float) -> int:
    """Remove the next packet from an interface and return it; its flow may create another one."""
    port = net.port[p]
    if port.acks > 0:
        return take_ack(net, p, time)
    f = int64(port.data_head)
    s = net.flow[f]
    port.data_head = s.next
    port.queued -= 1
    port.left = time
    e = int64(s.waits)
    s.waits = -1
    if s.rule < 0:
        if s.sent < s.packets:
            create_again(net, p, f, time)
    elif net.rate[s.rule].blocked == 1:
        net.rate[s.rule].blocked = 0
        s.due = time
        set_timer(net, p, f, time)
    return e


@inlined
def can_send(port: Any) -> bool:
    """Return whether an interface has a packet that is not paused."""
    return bool(port.acks > 0 or (port.queued > 0 and port.paused == 0))


@inlined
def transmit(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Start the transmission of a packet; a further one may begin when it ends."""
    if net.packet[e].kind == DATA:
        net.sent_at[e] = time
    send_on(net, records, p, e, time)
    if can_send(net.port[p]):
        net.port[p].woken = 1


@inlined
def enter_interface(net: Any, records: Any, p: int, e: int) -> None:
    """Send a packet or an ACK, or queue it."""
    port, it = net.port[p], net.packet[e]
    time = it.time
    is_ack = it.kind == ACK
    idle = port.free <= time and not can_send(port)
    if idle and (is_ack or port.paused == 0):
        transmit(net, records, p, e, time)
        return
    if is_ack:
        append_ack(net, p, e)
    else:
        append(net, p, int64(it.flow), e)
    port.peak = max(port.peak, port.queued + port.acks)
    if can_send(port):
        port.woken = 1


@inlined
def process_timer(net: Any, records: Any, p: int, time: float) -> None:
    """Let the flow of the next timer create a packet, if it is due."""
    f = take_timer(net, p)
    e = create(net, p, f, time)
    if e < 0:
        return
    enter_interface(net, records, p, e)
    s = net.flow[f]
    if s.rule < 0 and s.waits < 0 and s.sent < s.packets:
        set_timer(net, p, f, s.due)


@inlined
def process_arrival(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Process an ACK for a sender of the host, one that a receiver sends, or a pause message."""
    port = net.port[p]
    if net.packet[e].kind < PAUSE:
        if net.hop[net.packet[e].hop].port >= 0:
            enter_interface(net, records, p, e)
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
        transmit(net, records, p, next_packet(net, p, time), time)


@inlined
def process_host(net: Any, records: Any, p: int, place: int) -> None:
    """Process a window at the interface of a host, in the order of times.

    At equal times the end of a transmission comes first, then arrivals, then timers in the order of flows.
    """
    port = net.port[p]
    end = net.clock[END]
    n = collect(net, place)
    while True:
        time = end
        e = int64(-1)
        if n > 0:
            e = int64(net.arriving[n - 1])
            time = net.packet[e].time
        timed = has_timer(net, p) and first_timer(net, p) < time
        if timed:
            time = first_timer(net, p)
        if port.woken == 1 and port.free <= time and port.free < end:
            port.woken = 0
            if can_send(port):
                time = port.free
                transmit(net, records, p, next_packet(net, p, time), time)
        elif timed:
            process_timer(net, records, p, time)
        elif n > 0:
            n -= 1
            process_arrival(net, records, p, e, time)
        else:
            break
        if net.counters[FAULT] != 0:
            return
    soon = math.inf
    if port.woken == 1:
        soon = port.free
    if has_timer(net, p):
        soon = min(soon, first_timer(net, p))
    if soon < math.inf:
        enlist(net, p, soon)
