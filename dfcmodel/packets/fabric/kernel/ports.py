"""Transmissions, ACKs and queue lengths, for ports of switches and interfaces of hosts.

ACKs are the control class: they precede data and are never paused. The transmission of an ACK at a port begins when the
transmission in progress at its arrival and the ACKs before it end, independently of later arrivals. The ACK is
therefore forwarded at once, with the computed times, and is in no queue; a port counts the ACKs that have not begun.
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
    """Start to send packet or ACK e (``kind``) at port p, and schedule its arrival, or deliver it at the last hop."""
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
        if net.flow[it.flow].rule < 0:  # the sender is independent of other events at its host
            receive_ack(net, e, arrives)
            retire(net, e, arrives)
            return
        to = -2 - to
    it.ingress = row.ingress
    push(net, e, to, arrives, rank)


@inlined
def pass_ack(net: Any, records: Any, p: int, e: int, waits: bool) -> None:
    """Forward ACK e at port p, at once or, if it ``waits``, after the transmission in progress and earlier ACKs."""
    port, it = net.port[p], net.packet[e]
    time, begin = it.time, it.time
    if waits:
        begin = port.free
        if begin > net.clock[END] + net.clock[AHEAD]:
            net.counters[FAULT] = FULL
        if begin < net.clock[LAST]:
            net.hop[it.hop].waited += begin - time
        if port.acks_begin < time:  # no ACK before it is queued
            port.acks = 0
            port.ack_due = begin
        port.acks += 1
        port.acks_begin = begin
        update_peak(port, time)
    start(net, records, p, e, ACK, begin)


@inlined
def begin_acks(port: Any, time: float, include_now: bool) -> None:
    """Remove from a port's count the ACKs whose transmission begins before a time, or also at it (``include_now``)."""
    while port.acks > 0 and (port.ack_due < time or (include_now and port.ack_due == time)):
        port.acks -= 1
        port.ack_due += port.spent[ACK]


@inlined
def bytes_at(port: Any) -> float:
    """Return the bytes queued at a port, data and ACKs."""
    return float(port.queued * port.packet_bytes + port.acks * port.ack_bytes)


@inlined
def update_peak(port: Any, time: float) -> None:
    """Raise a port's peak after an arrival: in packets, or in bytes if its buffer counts them."""
    if port.queued + port.acks <= port.peak_limit:
        return  # even with the ACKs that have begun since the last count
    begin_acks(port, time, port.is_host == 1)  # at a host the end of a transmission comes first
    port.peak = max(port.peak, port.queued + port.acks)
    if port.unit > 0.0:
        port.peak_bytes = max(port.peak_bytes, bytes_at(port))
    else:
        port.peak_limit = port.peak
