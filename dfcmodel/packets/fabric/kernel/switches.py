"""Ports of switches: a queue of data, which can be paused, and ACKs, which have priority."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .called_managers import MARK, Backlog, ask
from .layout import ACK, DATA, int64
from .pauses import LEAVES, count_arrival, count_departure, receive_message
from .ports import pass_ack, start, update_peak
from .windows import END, FAULT, LOST, collect, enlist, release

__all__ = ["process_switch"]


@inlined
def append_data(net: Any, p: int, e: int) -> None:
    """Append packet e to the data queue of switch port p, and count it in ``queued``."""
    port = net.port[p]
    net.packet[e].next = -1
    if port.queued == 0:
        port.data_head = e
    else:
        net.packet[port.data_tail].next = e
    port.data_tail = e
    port.queued += 1


@compiled
def mark(net: Any, p: int, e: int, time: float) -> None:
    """Mark departing packet e if the queue manager of port p decides so, by the backlog behind it."""
    port = net.port[p]
    waiting = float(port.queued)
    delay = 0.0
    if port.queued > 0:
        delay = time - net.packet[port.data_head].time
    if port.unit > 0.0:
        waiting = waiting * port.packet_bytes / port.unit
    backlog = Backlog(waiting, port.room, net.called[p].capacity, delay)
    if ask(net, p, time, backlog) == MARK:
        net.packet[e].marked = 1


@inlined
def send_data(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Start to send data packet e at switch port p, and mark it if the manager decides so."""
    if net.port[p].marks == 1:
        mark(net, p, e, time)
    start(net, records, p, e, DATA, time)


@inlined
def send_first(net: Any, records: Any, p: int, time: float, key: int) -> None:
    """Send the first packet of switch port p's data queue; ``key`` orders events at equal times."""
    port = net.port[p]
    e = int64(port.data_head)
    it = net.packet[e]
    port.data_head = it.next
    port.queued -= 1
    port.left = time
    count_departure(net, records, int64(it.ingress), port.packet_bytes, time, key)
    net.hop[it.hop].waited += time - it.time
    send_data(net, records, p, e, time)


@inlined
def send_waiting(net: Any, records: Any, p: int, until: float) -> None:
    """Send the queued packets of switch port p whose transmissions begin before ``until``, s."""
    port = net.port[p]
    while port.free < until and port.queued > 0 and port.paused == 0:
        send_first(net, records, p, port.free, LEAVES + p)


@inlined
def process_switch(net: Any, records: Any, p: int, slot: int) -> None:
    """Process a time window at switch port p in order; ``slot``: row of its arrivals; lack of room is a fault.

    At equal times arrivals come first.
    """
    port, packet = net.port[p], net.packet
    n = collect(net, slot)
    while n > 0:
        n -= 1
        e = int64(net.arriving[n])
        it = packet[e]
        time = it.time
        send_waiting(net, records, p, time)
        kind = int64(it.kind)
        if kind == DATA:
            if port.free < time and port.paused == 0:
                send_data(net, records, p, e, time)
                continue
            if not count_arrival(net, records, int64(it.ingress), port.packet_bytes, time, int64(it.rank)):
                net.counters[FAULT] = LOST
                return
            append_data(net, p, e)
            update_peak(port, time)
        elif kind == ACK:
            pass_ack(net, records, p, e, port.free >= time)
        else:
            rank = int64(it.rank)
            receive_message(net, p, e)
            release(net, e)
            if port.free < time and port.queued > 0 and port.paused == 0:
                send_first(net, records, p, time, rank)
    send_waiting(net, records, p, net.clock[END])
    if port.queued > 0 and port.paused == 0:
        enlist(net, p, port.free)
