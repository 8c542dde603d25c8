"""Laws of flow control between the two ends of a link, called by address: `dfcmodel.network.queueing.link_laws`.

A row of ``law`` has both ends of a link for a class: the sender is a lane of the port of the link, the receiver the
ports behind it, which count together. Functions that run per packet are calls, not inlined: a law costs as much.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_law, compiled

from ..calendar_queue import CROWDED, push, release, take
from ..codes import ENDED, REPORT
from ..layout import CLASSES, int64
from ..queues.buffers import queue_bytes
from .pauses import RENEWALS, Switch, record_switch, stop_lane
from .ports import INTERFACE

__all__ = [
    "FIELDS",
    "begin_sending",
    "count_at_ingress",
    "count_refused",
    "end_sending",
    "may_be_sent",
    "receive_report",
    "update_blocked",
    "waits_by_law",
]

MAY_SEND, SENDS, RECEIVES, ARRIVES, LEAVES = 0, 1, 2, 3, 4  # columns of the addresses of a law
IS_ANSWER, IS_SEND, IS_MESSAGE = 1, 2, 3  # what is refused
FIELDS = ("", "", "send", "message")  # their names


@compiled
def record_failure(net: Any, w: Any, event: int, what: int, value: float, now: float) -> None:
    """Record a law's first invalid value (``what``: index in `FIELDS`) in its row ``w``; the run stops soon after."""
    if w.failed == 0:
        w.failed = what
        w.failed_in = event
        w.failed_at = now
        w.failed_value = value
    net.counters[CROWDED] = 1


@compiled
def apply_law(net: Any, k: int, event: int, now: float, size: float, held: float) -> None:
    """Call function ``event`` of the law in row k with time, s, packet size and backlog (``held``), both in packets."""
    w = net.law[k]
    w.seen[0] = now
    w.seen[1] = size
    w.seen[2] = held
    call_law(net.laws[w.kind, event], w)
    w.seen[3] = 0.0
    if event == MAY_SEND and not (w.may_send == 0.0 or w.may_send == 1.0):
        record_failure(net, w, event, IS_ANSWER, w.may_send, now)


@compiled
def size_at(net: Any, p: int, e: int) -> float:
    """Return the buffer space of packet e at port p, in data packets of full size."""
    return queue_bytes(net, p, e) / net.times[p * CLASSES].taken


@compiled
def row_ahead(net: Any, e: int) -> int:
    """Return the row of the law of the link on which packet e leaves next; -1 if that link has none."""
    h = int64(net.packet[e].hop) + 1
    if net.hop[h].port < 0:
        return -1
    k = int64(net.hop[h].ingress)
    return k if k >= 0 and net.law[k].kind >= 0 else -1


@compiled
def may_be_sent(net: Any, e: int, now: float) -> bool:
    """Return whether the law of the link on which packet e leaves next permits it now; True if the link has none."""
    k = row_ahead(net, e)
    if k < 0:
        return True
    p = int64(net.hop[int64(net.packet[e].hop) + 1].port)
    apply_law(net, k, MAY_SEND, now, size_at(net, p, e), 0.0)
    return bool(net.law[k].may_send != 0.0)


@compiled
def update_blocked(net: Any, records: Any, u: int, c: int, now: float) -> None:
    """Block or unblock lane c of port u, as the link's law decides on its first packet, and record each change."""
    k = int64(net.lawful[c])
    if k < 0:
        return
    w = net.law[k]
    first = net.lane[c]
    e = int64(-1)
    if first.count > 0:
        e = int64(net.lane[first.first].head if net.port[u].kind == INTERFACE else first.head)
    blocked = 1 if e >= 0 and not may_be_sent(net, e, now) else 0
    if blocked != w.blocked:
        w.blocked = blocked
        stop_lane(net, u, c, 2 * blocked - 1)
        record_switch(net, records, Switch(now, int64(w.asks), blocked, u, net.feeder[k].priority))


@compiled
def waits_by_law(net: Any, u: int, e: int, now: float) -> tuple[bool, bool]:
    """Return (whether packet e cannot leave port u at once, apart from waiting packets; whether its buffer is full)."""
    port = net.port[u]
    hop = net.hop[int64(net.packet[e].hop)]
    c = int64(hop.lane)
    busy = port.free >= now or port.paused > 0 or net.lane[c].paused > 0
    waits = busy or port.waiting > 0
    if not waits and not may_be_sent(net, e, now):
        busy = True
        waits = True
    k = int64(hop.ingress)
    if k < 0 or (net.law[k].kind < 0 and not waits):
        return busy, False
    return busy, net.feeder[k].count + queue_bytes(net, u, e) > net.feeder[k].room


@compiled
def send_report(net: Any, k: int, event: int, now: float) -> None:
    """Send the message that function ``event`` of the law in row k has set at the receiver, if any, to the sender."""
    w = net.law[k]
    wanted = w.receiver[0]
    message = w.receiver[1]
    w.receiver[0] = 0.0
    w.receiver[1] = 0.0
    if wanted == 0.0:
        return
    if wanted != 1.0:
        record_failure(net, w, event, IS_SEND, wanted, now)
        return
    if math.isnan(message):
        record_failure(net, w, event, IS_MESSAGE, message, now)
        return
    q = int64(net.feeder[k].port)
    m = take(net)
    it = net.packet[m]
    it.number = REPORT
    it.flow = q
    it.hop = k
    it.size = 0
    net.sent_at[m] = message
    push(net, m, int64(net.port[q].queue), now + w.latency, -1 - int64(w.asks))


@compiled
def change_held(net: Any, u: int, k: int, e: int, more: int, now: float) -> None:
    """Add (more 1) or remove (-1) packet e in the count of ingress k, and call the law's ARRIVES or LEAVES function."""
    row = net.feeder[k]
    row.count += float(more) * queue_bytes(net, u, e)
    if net.law[k].kind < 0:
        return
    event = ARRIVES if more > 0 else LEAVES
    held = row.count / net.times[u * CLASSES].taken
    apply_law(net, k, event, now, size_at(net, u, e), held)
    send_report(net, k, event, now)


@compiled
def count_at_ingress(net: Any, u: int, e: int, now: float) -> None:
    """Count accepted packet e at its ingress at port u, if it has one, and call the law of that link."""
    k = int64(net.hop[int64(net.packet[e].hop)].ingress)
    if k >= 0:
        change_held(net, u, k, e, 1, now)


@compiled
def count_refused(net: Any, u: int, e: int, now: float) -> None:
    """Report packet e, dropped on arrival at port u, to the law of its incoming link as one that leaves at once."""
    k = int64(net.hop[int64(net.packet[e].hop)].ingress)
    if k >= 0:
        change_held(net, u, k, e, 1, now)
        change_held(net, u, k, e, -1, now)


@compiled
def begin_sending(net: Any, records: Any, u: int, e: int, now: float) -> None:
    """Call the law of the outgoing link for packet e at port u before its hop advances; schedule its end at ingress."""
    it = net.packet[e]
    h = int64(it.hop)
    k = row_ahead(net, e)
    if k >= 0:
        p = int64(net.hop[h + 1].port)
        apply_law(net, k, SENDS, now, size_at(net, p, e), 0.0)
    c = int64(net.hop[h].lane)
    at_host = net.port[u].kind == INTERFACE
    if at_host and net.lane[c].level > 0:
        c = int64(net.lane[c].level)
    update_blocked(net, records, u, c, now)
    k = int64(net.hop[h].ingress)
    if at_host or k < 0:
        return
    m = take(net)
    net.packet[m].number = ENDED
    net.packet[m].flow = it.flow
    net.packet[m].hop = k
    net.packet[m].size = it.size
    spent = net.times[u * CLASSES + int64(it.size)].transmission
    push(net, m, u, now + spent + net.port[u].spent, RENEWALS + u)


@compiled
def end_sending(net: Any, u: int, e: int) -> None:
    """Remove the packet of event e, which has left port u, from its ingress's count, call the law, and release e."""
    it = net.packet[e]
    change_held(net, u, int64(it.hop), e, -1, it.time)
    release(net, e)


@compiled
def receive_report(net: Any, records: Any, u: int, e: int) -> None:
    """Process and release message e of a law at sending port u: call the law, and block or unblock the lane."""
    now = net.packet[e].time
    k = int64(net.packet[e].hop)
    net.law[k].seen[3] = net.sent_at[e]
    release(net, e)
    apply_law(net, k, RECEIVES, now, 0.0, 0.0)
    update_blocked(net, records, u, int64(net.feeder[k].lane), now)
