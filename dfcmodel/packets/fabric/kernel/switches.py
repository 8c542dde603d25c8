"""Ports of switches: two queues, of which the control class goes first and the other can be paused."""

from __future__ import annotations

from typing import Any

from .called_managers import MARK, Backlog, ask
from .control_queue import append_ack, take_ack
from .jit import compiled, inlined
from .layout import ACK, DATA, int64
from .pauses import LEAVES, count_arrival, count_departure, receive_message
from .receivers import deliver
from .windows import END, FAULT, LOST, collect, enlist, push, release

__all__ = ["bytes_at", "process_switch", "send_first_ack", "start"]


@inlined
def bytes_at(port: Any) -> float:
    """Return the bytes that wait at the port of a switch."""
    return float(port.queued * port.taken + port.acks * port.acks_taken)


@inlined
def append_data(net: Any, p: int, e: int) -> None:
    """Append a packet to the queue of data."""
    port = net.port[p]
    net.packet[e].next = -1
    if port.queued == 0:
        port.data_head = e
    else:
        net.packet[port.data_tail].next = e
    port.data_tail = e
    port.queued += 1


@inlined
def update_peak(port: Any) -> None:
    """Record the packets that wait at a port after an arrival, and their bytes where its buffer counts them."""
    count = port.queued + port.acks
    if count > port.peak:
        port.peak = count
    if port.in_bytes == 1:
        port.peak_bytes = max(port.peak_bytes, bytes_at(port))


@compiled
def mark(net: Any, p: int, e: int, time: float) -> None:
    """Mark a packet that leaves where the manager of its port says so, by what waits behind it."""
    port = net.port[p]
    waiting = float(port.queued)
    delay = 0.0
    if port.queued > 0:
        delay = time - net.packet[port.data_head].time
    if port.unit > 0.0:
        waiting = waiting * port.taken / port.unit
    backlog = Backlog(waiting, port.room, net.called[p].capacity, delay)
    if ask(net, p, time, backlog) == MARK:
        net.packet[e].marked = 1


@inlined
def start(net: Any, records: Any, p: int, e: int, kind: int, time: float) -> None:
    """Start the transmission of a packet or of an ACK at a port, and let it arrive at the next one."""
    port, it = net.port[p], net.packet[e]
    port.free = time + port.spent[kind]
    arrives = time + port.passage[kind]
    rank = int64(port.rank[kind])
    it.hop += 1
    row = net.hop[it.hop]
    to = int64(row.port)
    if to < 0:
        if kind == DATA:
            deliver(net, records, e, arrives, rank)
            return
        to = -2 - to
    it.ingress = row.ingress
    push(net, e, to, arrives, rank)


@inlined
def send_data(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Start the transmission of a packet at a port that may mark it."""
    if net.port[p].marks == 1:
        mark(net, p, e, time)
    start(net, records, p, e, DATA, time)


@inlined
def send_first_ack(net: Any, records: Any, p: int, time: float) -> None:
    """Send the first ACK that waits at a port."""
    e = take_ack(net, p, time)
    net.hop[net.packet[e].hop].waited += time - net.packet[e].time
    start(net, records, p, e, ACK, time)


@inlined
def send_first(net: Any, records: Any, p: int, time: float, key: int) -> None:
    """Send the first packet of the queue of data of a port; ``key`` is the order of the event."""
    port = net.port[p]
    e = int64(port.data_head)
    it = net.packet[e]
    port.data_head = it.next
    port.queued -= 1
    port.left = time
    count_departure(net, records, int64(it.ingress), port.taken, time, key)
    net.hop[it.hop].waited += time - it.time
    send_data(net, records, p, e, time)


@inlined
def send_waiting(net: Any, records: Any, p: int, until: float) -> None:
    """Send what waits at a port and may leave before a time; then it transmits at that time, or nothing may leave."""
    port = net.port[p]
    while port.free < until:
        if port.acks > 0:
            send_first_ack(net, records, p, port.free)
        elif port.queued > 0 and port.paused == 0:
            send_first(net, records, p, port.free, LEAVES + p)
        else:
            break


@inlined
def process_switch(net: Any, records: Any, p: int, place: int) -> None:
    """Process a window at the port of a switch: arrivals and departures, in the order of their times.

    At equal times arrivals come first.
    """
    port, packet = net.port[p], net.packet
    n = collect(net, place)
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
            if not count_arrival(net, records, int64(it.ingress), port.taken, time, int64(it.rank)):
                net.counters[FAULT] = LOST
                return
            append_data(net, p, e)
            update_peak(port)
        elif kind == ACK:
            if port.free < time:
                start(net, records, p, e, ACK, time)
                continue
            append_ack(net, p, e)
            update_peak(port)
        else:
            rank = int64(it.rank)
            receive_message(net, p, e)
            release(net, e)
            if port.free < time and port.queued > 0 and port.paused == 0:
                send_first(net, records, p, time, rank)
    send_waiting(net, records, p, net.clock[END])
    if port.acks > 0 or (port.queued > 0 and port.paused == 0):
        enlist(net, p, port.free)
