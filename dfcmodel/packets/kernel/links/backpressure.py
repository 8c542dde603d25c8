"""Backpressure flow control (Goyal et al. 2022): lanes of flows that pause their flow at the port before.

What runs per packet here is a call, not inlined: ports with other disciplines do not pay for it.
"""

from __future__ import annotations

from typing import Any

from dfcmodel.network.drop_causes import BUFFER_FULL
from hopflow.kernels.marks import compiled

from ..calendar_queue import push, release, take
from ..codes import BACKPRESSURE
from ..layout import BY_BACKPRESSURE, int64
from ..queues.buffers import queue_bytes, record_peak
from .lanes import enter_lane
from .pauses import Switch, record_switch, stop_lane
from .ports import INTERFACE, drop

__all__ = ["enlist_flow", "enqueue_flow", "leave_flow", "stop_flow"]


@compiled
def enlist_flow(net: Any, k: int, c: int) -> None:
    """Add flow lane c to the turns of class lane k of an interface: at the end, or first if its turn has not ended."""
    lane = net.lane
    if lane[k].flow == c:
        lane[c].next = lane[k].first
        lane[k].first = c
        if lane[c].next < 0:
            lane[k].last = c
        return
    lane[c].next = -1
    if lane[k].first < 0:
        lane[k].first = c
    else:
        lane[lane[k].last].next = c
    lane[k].last = c


@compiled
def strike_flow(net: Any, k: int, c: int) -> None:
    """Remove flow lane c, which must be among them, from the turns of class lane k of an interface."""
    lane = net.lane
    before = int64(-1)
    j = int64(lane[k].first)
    while j != c:
        before = j
        j = int64(lane[j].next)
    if before < 0:
        lane[k].first = lane[c].next
    else:
        lane[before].next = lane[c].next
    if lane[k].last == c:
        lane[k].last = before


@compiled
def count_active(net: Any, u: int, c: int) -> None:
    """Update whether lane c of port u is active (not empty, not paused), and the port's number of active lanes."""
    lane = net.lane[c]
    active = 1 if lane.count > 0 and lane.paused == 0 else 0
    if active != net.backflow[c].active:
        net.backflow[int64(net.port[u].lane)].count += active - int64(net.backflow[c].active)
        net.backflow[c].active = active


@compiled
def review_flow(net: Any, records: Any, u: int, c: int, now: float) -> None:
    """Send a pause or resume message upstream if the bytes of lane c crossed its threshold; update its activity."""
    count_active(net, u, c)
    row = net.backflow[c]
    if row.upstream < 0:
        return
    count = max(1, int64(net.backflow[int64(net.port[u].lane)].count))
    wanted = 1 if net.lane[c].bytes > row.limit / count else 0
    if wanted == row.pausing:
        return
    row.pausing = wanted
    q = int64(row.upstream)
    record_switch(net, records, Switch(now, u, wanted, q, row.flow))
    m = take(net)
    it = net.packet[m]
    it.number = BACKPRESSURE
    it.flow = q
    it.hop = row.lane
    it.size = 0
    net.sent_at[m] = float(wanted)
    push(net, m, int64(net.port[q].queue), now + row.delay, -1 - u)


@compiled
def enqueue_flow(world: Any, u: int, e: int, cause: int) -> bool:
    """Drop packet e (``cause`` >= 0, or no room) or queue it at BFC port u; return True: it must be sent at once.

    ``cause``: why it is dropped; -1: it is not, if there is room.
    """
    net, records = world.net, world.records
    port = net.port[u]
    time = net.packet[e].time
    c = int64(net.hop[int64(net.packet[e].hop)].lane)
    waits = port.free >= time or port.paused > 0 or net.lane[c].paused > 0 or port.waiting > 0
    inside = float(port.waiting + port.held) + 1.0
    if port.unit > 0.0:
        inside = port.bytes + queue_bytes(net, u, e)
    if cause >= 0 or (waits and inside > port.room):
        drop(world, u, e, time, time, max(cause, BUFFER_FULL))
        return False
    if not waits:
        return True
    enter_lane(net, u, c, e)
    review_flow(net, records, u, c, time)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting + port.held)
    return False


@compiled
def leave_flow(net: Any, records: Any, u: int, e: int, now: float) -> None:
    """Send a message upstream if the lane that packet e left crossed its threshold; call before e's hop advances."""
    review_flow(net, records, u, int64(net.hop[int64(net.packet[e].hop)].lane), now)


@compiled
def stop_flow(net: Any, u: int, e: int) -> None:
    """Process and release backpressure message e at port u: pause or resume the lane it names, or the whole port."""
    c = int64(net.packet[e].hop)
    more = 1 if net.sent_at[e] == 1.0 else -1
    release(net, e)
    if c < 0:
        net.port[u].paused += more
        return
    lane = net.lane[c]
    before = int64(lane.paused)
    stop_lane(net, u, c, more)
    if net.port[u].by_turns == BY_BACKPRESSURE:
        count_active(net, u, c)
    elif net.port[u].kind == INTERFACE and lane.count > 0 and (before == 0 or lane.paused == 0):
        k = int64(lane.level)
        net.lane[k].count -= more * lane.count
        if more == 1:
            strike_flow(net, k, c)
        else:
            enlist_flow(net, k, c)
