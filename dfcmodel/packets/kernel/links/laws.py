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
    "review",
    "waits_by_law",
]

MAY_SEND, SENDS, RECEIVES, ARRIVES, LEAVES = 0, 1, 2, 3, 4  # columns of the addresses of a law
IS_ANSWER, IS_SEND, IS_MESSAGE = 1, 2, 3  # what is refused
FIELDS = ("", "", "send", "message")  # their names


@compiled
def refuse(net: Any, w: Any, event: int, what: int, value: float, now: float) -> None:
    """Record an invalid value that a law returned; the run stops at the end of the window."""
    if w.failed == 0:
        w.failed = what
        w.failed_in = event
        w.failed_at = now
        w.failed_value = value
    net.counters[CROWDED] = 1


@compiled
def apply_law(net: Any, k: int, event: int, now: float, size: float, held: float) -> None:
    """Let the law of row k see a packet or a message."""
    w = net.law[k]
    w.seen[0] = now
    w.seen[1] = size
    w.seen[2] = held
    call_law(net.laws[w.kind, event], w)
    w.seen[3] = 0.0
    if event == MAY_SEND and not (w.may_send == 0.0 or w.may_send == 1.0):
        refuse(net, w, event, IS_ANSWER, w.may_send, now)


@compiled
def size_at(net: Any, p: int, e: int) -> float:
    """Return the size of a packet in packets, as a port counts it."""
    return queue_bytes(net, p, e) / net.times[p * CLASSES].taken


@compiled
def row_ahead(net: Any, e: int) -> int:
    """Return the row of the law that the link which a packet is to be sent over has; -1: none."""
    h = int64(net.packet[e].hop) + 1
    if net.hop[h].port < 0:
        return -1
    k = int64(net.hop[h].ingress)
    return k if k >= 0 and net.law[k].kind >= 0 else -1


@compiled
def may_be_sent(net: Any, e: int, now: float) -> bool:
    """Return whether the law of the link that a packet is to be sent over allows it."""
    k = row_ahead(net, e)
    if k < 0:
        return True
    p = int64(net.hop[int64(net.packet[e].hop) + 1].port)
    apply_law(net, k, MAY_SEND, now, size_at(net, p, e), 0.0)
    return bool(net.law[k].may_send != 0.0)


@compiled
def review(net: Any, records: Any, u: int, c: int, now: float) -> None:
    """Block a lane of a port, or no longer, as the law says of its first packet."""
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
    """Return whether a packet cannot leave a port when it arrives, and whether there is no room for it."""
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
    """Send the message that the receiver of row k has asked for, if any."""
    w = net.law[k]
    wanted = w.receiver[0]
    message = w.receiver[1]
    w.receiver[0] = 0.0
    w.receiver[1] = 0.0
    if wanted == 0.0:
        return
    if wanted != 1.0:
        refuse(net, w, event, IS_SEND, wanted, now)
        return
    if math.isnan(message):
        refuse(net, w, event, IS_MESSAGE, message, now)
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
    """Count a packet of row k that has come to a port, or whose last bit has left it."""
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
    """Count an accepted packet at the ingress that it came over, if any, and apply the law of that link."""
    k = int64(net.hop[int64(net.packet[e].hop)].ingress)
    if k >= 0:
        change_held(net, u, k, e, 1, now)


@compiled
def count_refused(net: Any, u: int, e: int, now: float) -> None:
    """Count a packet that is dropped as it comes: the sender has its room again."""
    k = int64(net.hop[int64(net.packet[e].hop)].ingress)
    if k >= 0:
        change_held(net, u, k, e, 1, now)
        change_held(net, u, k, e, -1, now)


@compiled
def begin_sending(net: Any, records: Any, u: int, e: int, now: float) -> None:
    """Tell the laws of the link, and of the one that a packet came over, that its transmission begins at a port."""
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
    review(net, records, u, c, now)
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
    """Count a packet whose last bit has left a port."""
    it = net.packet[e]
    change_held(net, u, int64(it.hop), e, -1, it.time)
    release(net, e)


@compiled
def receive_report(net: Any, records: Any, u: int, e: int) -> None:
    """Process a message of a law at the port that it is for."""
    now = net.packet[e].time
    k = int64(net.packet[e].hop)
    net.law[k].seen[3] = net.sent_at[e]
    release(net, e)
    apply_law(net, k, RECEIVES, now, 0.0, 0.0)
    review(net, records, u, int64(net.feeder[k].lane), now)
