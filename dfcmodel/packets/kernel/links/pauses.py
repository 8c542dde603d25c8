"""Pause messages between ports: for all that a link carries (802.3x), or for a class of traffic (PFC).

What runs only when a threshold is crossed is a call, not inlined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import SWITCHED, push, release, take
from ..codes import PAUSE, RENEW, RESUME
from ..layout import int64
from ..queues.buffers import queue_bytes, queue_length

__all__ = [
    "ENDS",
    "Switch",
    "begin_pauses",
    "count_class",
    "count_excess",
    "process_pause",
    "record_switch",
    "renew",
    "send_message",
    "send_pauses",
    "stop_lane",
]

RENEWALS = 1 << 23  # smallest key of renewals: after arrivals, before ends of transmission
ENDS = 1 << 24  # smallest key of ends of transmission


@compiled
def send_message(net: Any, p: int, k: int, wanted: int, time: float) -> None:
    """Send a pause (wanted 1) or resume (0) from port p to the port of row k of ``feeder``; the caller records it."""
    packet = net.packet
    to = net.feeder[k]
    q = int64(to.port)
    e = take(net)
    packet[e].number = PAUSE if wanted == 1 else RESUME
    packet[e].flow = q
    packet[e].hop = to.lane
    span = net.port[q].delay + net.port[p].signalling
    push(net, e, int64(net.port[q].queue), time + span, -1 - p)


class Switch(NamedTuple):
    """A pause (wanted 1) or a resume (0), as a row of the record ``switches``."""

    time: float
    port: int  # that asks for it
    wanted: int  # 1: a pause
    feeder: int  # port that is asked, -1: all
    priority: int  # class of traffic, -1: all


@inlined
def record_switch(net: Any, records: Any, switch: Any) -> None:
    """Append a pause or resume to the record ``switches``; when it is full, only count it."""
    switches = records.switches
    n = net.counters[SWITCHED]
    net.counters[SWITCHED] = n + 1
    if n < len(switches):
        switches[n, 0] = switch.time
        switches[n, 1] = switch.port
        switches[n, 2] = switch.wanted
        switches[n, 3] = switch.feeder
        switches[n, 4] = switch.priority


@compiled
def begin_pauses(net: Any, records: Any, p: int, time: float) -> None:
    """Pause each feeder of port p that is not paused, for its time ``span``, and schedule the renewals."""
    packet = net.packet
    port = net.port[p]
    for k in range(port.feeder, port.feeder + port.feeders):
        row = net.feeder[k]
        if row.pausing == 0:
            row.pausing = 1
            port.pausing += 1
            record_switch(net, records, Switch(time, p, 1, row.port, -1))
            send_message(net, p, k, 1, time)
            e = take(net)
            packet[e].number = RENEW
            packet[e].flow = 0
            packet[e].hop = k
            push(net, e, p, time + row.span, RENEWALS + row.port)


@compiled
def renew(net: Any, records: Any, p: int, e: int) -> None:
    """At event e, the end of port p's timed pause: renew it if the queue is above the low threshold, else resume."""
    port = net.port[p]
    time = net.packet[e].time
    k = int64(net.packet[e].hop)
    row = net.feeder[k]
    if queue_length(port) > port.low:
        push(net, e, p, time + row.span, RENEWALS + row.port)
        return
    release(net, e)
    row.pausing = 0
    port.pausing -= 1
    record_switch(net, records, Switch(time, p, 0, row.port, -1))
    send_message(net, p, k, 0, time)


@inlined
def send_pauses(net: Any, records: Any, p: int, time: float) -> None:
    """Send pause or resume messages to all feeders of port p if its queue has crossed a threshold (not per class)."""
    port = net.port[p]
    if port.feeders == 0:
        return
    if queue_length(port) <= port.low:
        net.feeder[port.feeder].excess = 0.0
    if net.feeder[port.feeder].span > 0.0:
        if queue_length(port) > port.high and port.pausing < port.feeders:
            begin_pauses(net, records, p, time)
        return
    wanted = 1 if queue_length(port) > (port.low if port.pausing == 1 else port.high) else 0
    if wanted != port.pausing:
        port.pausing = wanted
        record_switch(net, records, Switch(time, p, wanted, -1, -1))
        for k in range(port.feeder, port.feeder + port.feeders):
            send_message(net, p, k, wanted, time)


@inlined
def count_class(net: Any, records: Any, p: int, e: int, more: int, time: float) -> None:
    """Count packet e as it enters (more 1) or leaves (-1) its lane at port p; send a PFC message at a threshold.

    Packets of the control class are not counted.
    """
    port = net.port[p]
    k = int64(net.hop[net.packet[e].hop].ingress)
    if k < 0:
        return
    row = net.feeder[k]
    row.count += float(more) * queue_bytes(net, p, e)
    if row.port < 0:
        return
    wanted = 1 if row.count > (port.low if row.pausing == 1 else port.high) else 0
    if wanted != row.pausing:
        row.pausing = wanted
        row.excess = 0.0
        record_switch(net, records, Switch(time, port.asks, wanted, row.port, row.priority))
        send_message(net, port.asks, k, wanted, time)


@compiled
def count_excess(net: Any, k: int, packets: float) -> None:
    """Add packets that found no room to the excess of row k of ``feeder`` since its pause began, and keep the maximum.

    Packets that leave make room for later ones, and with more room the pause would last longer: the largest count is
    how much more room would have been enough for all arrivals.
    """
    row = net.feeder[k]
    row.excess += packets
    row.most_excess = max(row.most_excess, row.excess)


@inlined
def stop_lane(net: Any, p: int, c: int, more: int) -> None:
    """Change the number of ports that pause lane c of p by ``more``, +-1; move its packets between waiting and held."""
    lane = net.lane
    port = net.port[p]
    before = lane[c].paused
    lane[c].paused = before + more
    if before == 0 or lane[c].paused == 0:  # its packets may no longer leave, or may again
        port.held += more * lane[c].count
        port.waiting -= more * lane[c].count


@inlined
def process_pause(net: Any, p: int, e: int) -> None:
    """Process and release pause or resume message e at port p: it is for the lane it names, or for the whole port."""
    c = int64(net.packet[e].hop)
    more = 1 if net.packet[e].number == PAUSE else -1
    release(net, e)
    if c < 0:
        net.port[p].paused += more
        return
    stop_lane(net, p, c, more)
