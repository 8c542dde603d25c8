"""What ports of switches and interfaces of hosts have in common: transmissions, ACKs, and how much waits.

ACKs are the control class: they go before data and are never paused. An ACK that comes to a port begins when the
transmission of that time and the ACKs before it end, whatever comes later. It is sent on at once, with the times that
follow, and stands in no queue; a port counts those that have not begun.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .layout import ACK, DATA, int64
from .receivers import deliver
from .senders import receive_ack
from .windows import AHEAD, END, FAULT, FULL, LAST, push, retire

__all__ = ["begin_acks", "bytes_at", "pass_ack", "start", "update_peak"]


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
        if net.flow[it.flow].rule < 0:  # what the sender does depends on nothing else at its host
            receive_ack(net, e, arrives)
            retire(net, e, arrives)
            return
        to = -2 - to
    it.ingress = row.ingress
    push(net, e, to, arrives, rank)


@inlined
def pass_ack(net: Any, records: Any, p: int, e: int, waits: bool) -> None:
    """Send an ACK that has come to a port, now or, where it ``waits``, when the port has sent what comes before it."""
    port, it = net.port[p], net.packet[e]
    time, begin = it.time, it.time
    if waits:
        begin = port.free
        if begin > net.clock[END] + net.clock[AHEAD]:
            net.counters[FAULT] = FULL
        if begin < net.clock[LAST]:
            net.hop[it.hop].waited += begin - time
        if port.acks_begin < time:  # none of those before it waits
            port.acks = 0
            port.ack_due = begin
        port.acks += 1
        port.acks_begin = begin
        update_peak(port, time)
    start(net, records, p, e, ACK, begin)


@inlined
def begin_acks(port: Any, time: float, also_now: bool) -> None:
    """Count no longer the ACKs that have begun before a time, and ``also_now`` those that begin at it."""
    while port.acks > 0 and (port.ack_due < time or (also_now and port.ack_due == time)):
        port.acks -= 1
        port.ack_due += port.spent[ACK]


@inlined
def bytes_at(port: Any) -> float:
    """Return the bytes that wait at a port."""
    return float(port.queued * port.taken + port.acks * port.acks_taken)


@inlined
def update_peak(port: Any, time: float) -> None:
    """Record the packets that wait at a port after an arrival, and their bytes where its buffer counts them."""
    if port.queued + port.acks <= port.most:
        return  # with the ACKs that have begun since they were counted
    begin_acks(port, time, port.is_host == 1)  # there the end of a transmission comes first
    port.peak = max(port.peak, port.queued + port.acks)
    if port.unit > 0.0:
        port.peak_bytes = max(port.peak_bytes, bytes_at(port))
    else:
        port.most = port.peak
