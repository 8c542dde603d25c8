"""Ports of switches: two queues, of which the control class goes first and the other can be paused."""

from __future__ import annotations

from typing import Any

from .called_managers import MARK, ask
from .control_queue import append_ack, take_ack
from .jit import compiled, inlined
from .layout import ACK, DATA, PAUSE, int64
from .pauses import LEAVES, count, has_room, receive_message
from .receivers import deliver
from .windows import END, FAULT, LOST, collect, enlist, push, release

__all__ = ["bytes_at", "enter", "process_switch", "send_on"]


@inlined
def bytes_at(port: Any) -> float:
    """Return the bytes that wait at the port of a switch."""
    return float(port.queued * port.taken + port.acks * port.acks_taken)


@inlined
def enter(net: Any, p: int, e: int) -> None:
    """Append a packet to the queue of its class."""
    port, it = net.port[p], net.packet[e]
    if it.kind == ACK:
        append_ack(net, p, e)
    else:
        it.next = -1
        if port.queued == 0:
            port.data_head = e
        else:
            net.packet[port.data_tail].next = e
        port.data_tail = e
        port.queued += 1
    port.peak = max(port.peak, port.queued + port.acks)
    if port.unit > 0.0:
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
    if ask(net, p, time, waiting, port.room, net.called[p].capacity, delay) == MARK:
        net.packet[e].marked = 1


@inlined
def send_on(net: Any, records: Any, p: int, e: int, time: float) -> None:
    """Start the transmission of a packet at a port, and let it arrive at the next one."""
    port, it = net.port[p], net.packet[e]
    if port.marks == 1 and it.kind == DATA:
        mark(net, p, e, time)
    hop = net.hop[it.hop]
    hop.waited += time - it.time
    hop.carried += 1
    kind = int64(it.kind)
    port.free = time + port.spent[kind]
    arrives = time + port.passage[kind]
    rank = int64(port.rank[kind])
    it.hop += 1
    to = int64(net.hop[it.hop].port)
    if to < 0:
        if kind == DATA:
            deliver(net, records, e, arrives, rank)
            return
        to = -2 - to
    push(net, e, to, arrives, rank)


@inlined
def leave(net: Any, records: Any, p: int, time: float, key: int) -> int:
    """Remove the next packet from the queues of a port and return it; ``key`` is the order of the event."""
    port = net.port[p]
    if port.acks > 0:
        return take_ack(net, p, time)
    e = int64(port.data_head)
    port.data_head = net.packet[e].next
    port.queued -= 1
    port.left = time
    count(net, records, int64(net.hop[net.packet[e].hop].ingress), -port.taken, time, key)
    return e


@inlined
def waiting(port: Any) -> int:
    """Return how many packets wait for nothing but those before them."""
    return int64(port.acks) + (int64(port.queued) if port.paused == 0 else 0)


@inlined
def process_switch(net: Any, records: Any, p: int, place: int) -> None:
    """Process a window at the port of a switch: arrivals and departures, in the order of their times.

    At equal times arrivals come first.
    """
    port, packet = net.port[p], net.packet
    end = net.clock[END]
    n = collect(net, place)
    while True:
        e = int64(-1)
        time = end
        if n > 0:
            e = int64(net.arriving[n - 1])
            time = packet[e].time
        if waiting(port) > 0 and port.free < time:
            send_on(net, records, p, leave(net, records, p, port.free, LEAVES + p), port.free)
            continue
        if n == 0:
            break
        n -= 1
        kind = int64(packet[e].kind)
        if kind >= PAUSE:
            rank = int64(packet[e].rank)
            receive_message(net, p, e)
            release(net, e)
            if waiting(port) > 0 and port.free < time:
                send_on(net, records, p, leave(net, records, p, time, rank), time)
            continue
        busy = port.free >= time or (kind == DATA and port.paused > 0)
        if busy or waiting(port) > 0:
            if kind == DATA:
                k = int64(net.hop[packet[e].hop].ingress)
                if not has_room(net, k, port.taken):
                    net.counters[FAULT] = LOST
                    return
                enter(net, p, e)
                count(net, records, k, port.taken, time, int64(packet[e].rank))
            else:
                enter(net, p, e)
        else:
            send_on(net, records, p, e, time)
    if waiting(port) > 0:
        enlist(net, p, port.free)
