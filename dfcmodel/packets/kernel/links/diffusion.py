"""Diffusion-type flow control (takano2006): a lane per flow, each with a rate that feedback sets.

A packet leaves its lane for a credit of 1, which grows at the lane's rate; an empty lane has a credit of 1 at
most. The law itself is that of `dfcmodel.theory.feedback_law`.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import push
from ..codes import SEND_FEEDBACK
from ..layout import int64
from ..queues.buffers import queue_bytes
from .law import diffusive_rate, proportional_share

__all__ = [
    "REPORTS",
    "begin_of",
    "enter_rated",
    "largest_credit",
    "leave_rated",
    "process_feedback",
    "read_count",
    "ready_at",
    "receive_feedback",
    "send_feedback",
    "set_lane_rates",
    "set_unconstrained_rates",
    "take_rated",
    "update_credit",
]

"""Numbers of packets: the clock of a node, the arrival of its feedback."""
REPORTS = 1 << 22  # smallest key of reports after `pauses.RENEWALS`: at equal times feedback arrives before


@inlined
def ready_at(credit: float, rate: float, time: float) -> float:
    """Return the time, s, at which a credit in packets, as of ``time``, reaches 1 at ``rate`` packets/s; inf: never."""
    if credit >= 1.0:
        return time
    return time + (1.0 - credit) / rate if rate > 0.0 else math.inf


@inlined
def update_credit(net: Any, c: int, time: float) -> None:
    """Add the growth since the last update to the credit of lane c; set the time at which its next packet may leave."""
    d = net.diffusive[c]
    credit = d.credit + (time - d.settled) * d.rate
    if net.lane[c].count == 0:
        credit = min(credit, 1.0)
    d.credit = credit
    d.settled = time
    d.ready = ready_at(credit, d.rate, time)


@inlined
def read_count(net: Any, c: int, time: float) -> None:
    """Update the backlog of lane c that the DFC law reads: its packets, or their exponential average."""
    d = net.diffusive[c]
    n = float(net.lane[c].count)
    if d.smoothing > 0.0:
        elapsed = time - d.counted_at
        n = d.counted + (n - d.counted) * (elapsed / (d.smoothing + elapsed))
        d.counted_at = time
    d.counted = n


@inlined
def set_unconstrained_rates(net: Any, p: int, nominal: bool, time: float) -> float:
    """Set ``wanted``, packets/s, of port p's active lanes (``nominal``: intensity 1); return the fraction to send.

    The nominal rates, which nodes report, are those with alpha = 1 (eq. 5).
    """
    port = net.port[p]
    total = 0.0
    for c in range(port.lane, port.lane + port.lanes):
        d = net.diffusive[c]
        d.wanted = 0.0
        if d.active == 1:
            intensity = 1.0 if nominal else d.intensity
            read_count(net, c, time)
            own = d.counted if d.counts == 1 else 0.0
            wanted = diffusive_rate(intensity, d.told_rate, d.gain, d.told_backlog, own)
            d.wanted = max(0.0, wanted)
            total += d.wanted
    return proportional_share(net.diffusive[port.lane].capacity, total)


@compiled
def set_lane_rates(net: Any, p: int, time: float) -> None:
    """Update the credits of all lanes of port p, and set their rates, packets/s, by the DFC law."""
    port = net.port[p]
    part = set_unconstrained_rates(net, p, False, time)
    for c in range(port.lane, port.lane + port.lanes):
        update_credit(net, c, time)
        net.diffusive[c].rate = part * net.diffusive[c].wanted
        update_credit(net, c, time)


@inlined
def send_feedback(net: Any, p: int, e: int) -> None:
    """Write nominal rates and backlogs of port p's lanes into the lanes that feed them, by e's rows of ``feedback``."""
    packet = net.packet
    part = set_unconstrained_rates(net, p, True, packet[e].time)
    for k in range(packet[e].hop, packet[e].flow):
        d = net.diffusive[net.feedback[k, 0]]
        rate = part * d.wanted if d.active == 1 else math.nan
        to = net.diffusive[net.feedback[k, 1]]
        if packet[e].marked == 0:
            to.rate_0 = rate
            to.backlog_0 = d.counted
        else:
            to.rate_1 = rate
            to.backlog_1 = d.counted


@inlined
def receive_feedback(net: Any, p: int, e: int) -> None:
    """Read the reports for lanes of port p, by event e's rows of ``feedback``, and set the rates of all its lanes."""
    packet = net.packet
    for k in range(packet[e].hop, packet[e].flow):
        d = net.diffusive[net.feedback[k, 1]]
        rate = d.rate_0 if packet[e].marked == 0 else d.rate_1
        if rate >= 0.0:  # of an inactive flow nothing is reported
            d.told_rate = rate
            d.told_backlog = d.backlog_0 if packet[e].marked == 0 else d.backlog_1
    set_lane_rates(net, p, packet[e].time)


@compiled
def process_feedback(net: Any, p: int, e: int) -> None:
    """Process event e, which sends or receives the DFC feedback of port p, and schedule it again a period later.

    A report takes a period to arrive, which stands in ``sent_at``: there are two slots, one written
    while the other is read.
    """
    if net.packet[e].number == SEND_FEEDBACK:
        send_feedback(net, p, e)
    else:
        receive_feedback(net, p, e)
    it = net.packet[e]
    it.marked = 1 - it.marked
    push(net, e, p, it.time + net.sent_at[e], it.key)


@inlined
def begin_of(net: Any, p: int) -> float:
    """Return the earliest time, s, at which DFC port p can send its next packet; inf if its lanes are empty."""
    port = net.port[p]
    least = math.inf
    for c in range(port.lane, port.lane + port.lanes):
        if net.lane[c].count > 0:
            least = min(least, net.diffusive[c].ready)
    return max(port.free, least)


@inlined
def enter_rated(net: Any, p: int, c: int, e: int) -> None:
    """Append packet e to lane c of DFC port p; if the lane was not active, activate it and set the port's rates."""
    packet = net.packet
    time = packet[e].time
    it = net.lane[c]
    packet[e].next = -1
    if it.count == 0:
        update_credit(net, c, time)
        it.head = e
    else:
        packet[it.tail].next = e
    it.tail = e
    it.count += 1
    net.port[p].waiting += 1
    net.port[p].bytes += queue_bytes(net, p, e)
    if net.diffusive[c].active == 0:
        net.diffusive[c].active = 1
        set_lane_rates(net, p, time)


@inlined
def largest_credit(net: Any, p: int, time: float) -> int:
    """Return the lane of port p with the largest credit among lanes with a packet due; the first of equals, or -1."""
    port = net.port[p]
    found = -1
    most = 0.0
    for c in range(port.lane, port.lane + port.lanes):
        d = net.diffusive[c]
        if net.lane[c].count > 0 and d.ready <= time:
            credit = d.credit + (time - d.settled) * d.rate
            if found < 0 or credit > most:
                most = credit
                found = c
    return found


@inlined
def take_rated(net: Any, p: int, c: int, time: float) -> int:
    """Remove the first packet from lane c of DFC port p, take 1 from the credit, and return the packet's row.

    When the next one may leave is not said where there is none: that is known when it comes.
    """
    it = net.lane[c]
    e = int64(it.head)
    it.head = net.packet[e].next
    it.count -= 1
    d = net.diffusive[c]
    credit = d.credit + ((time - d.settled) * d.rate - 1.0)
    d.settled = time
    if it.count > 0:
        d.ready = ready_at(credit, d.rate, time)
    else:
        credit = min(credit, 1.0)
    d.credit = credit
    net.port[p].waiting -= 1
    net.port[p].bytes -= queue_bytes(net, p, e)
    return e


@inlined
def leave_rated(net: Any, p: int, time: float) -> int:
    """Remove the first packet from the lane of port p with the largest credit and return its row; one must be due."""
    c = largest_credit(net, p, time)
    return take_rated(net, p, c, time)
