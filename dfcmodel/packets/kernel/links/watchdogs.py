"""Watchdogs of ports: polls, storms that they declare, drops until the restoration."""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.drop_causes import BY_WATCHDOG
from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import DETECTED, push
from ..layout import BY_CLASS, int64
from ..queues.buffers import queue_bytes
from .lanes import discard, unlink_lane
from .pauses import count_class, send_pauses

__all__ = ["POLLS", "is_discarded", "poll", "update_paused_times"]

POLLS = 1 << 22  # and its key: after messages and arrivals


@inlined
def update_paused_time(net: Any, g: int, time: float) -> None:
    """Add the paused time since the last call to the interval of watchdog g, and update whether its lane is paused."""
    it = net.watchdog[g]
    if it.paused == 1:
        it.spent += time - it.since
    it.since = time
    held = net.port[int64(it.port)].paused > 0
    if it.lane >= 0:
        held = held or net.lane[int64(it.lane)].paused > 0
    it.paused = 1 if held else 0


@compiled
def update_paused_times(net: Any, p: int, time: float) -> None:
    """Call `update_paused_time` for each PFC watchdog of port p, after a pause or resume message."""
    g = int64(-1 - net.port[p].plain)
    while g >= 0:
        update_paused_time(net, g, time)
        g = int64(net.watchdog[g].next)


@inlined
def count_drop(net: Any, records: Any, g: int, time: float) -> None:
    """Count a packet that watchdog g drops in the record of its storm, unless the run has ended."""
    if int(time * records.scale) < len(records.lost) - 1:
        net.detected[int64(net.watchdog[g].row)].dropped += 1


@compiled
def is_discarded(net: Any, records: Any, p: int, c: int, time: float) -> bool:
    """Return whether a watchdog in a storm makes the caller drop a packet for lane c of port p; counts the drop."""
    g = int64(-1 - net.port[p].plain)
    while g >= 0:
        it = net.watchdog[g]
        if it.dropping == 1 and (it.lane < 0 or it.lane == c):
            count_drop(net, records, g, time)
            return True
        g = int64(it.next)
    return False


@compiled
def discard_lane(world: Any, g: int, c: int, time: float) -> None:
    """Drop all packets in lane c of the port of watchdog g."""
    net, records = world.net, world.records
    p = int64(net.watchdog[g].port)
    port = net.port[p]
    it = net.lane[c]
    if it.count == 0:
        return
    while it.count > 0:
        e = int64(it.head)
        it.head = net.packet[e].next
        it.count -= 1
        if it.paused == 0:
            port.waiting -= 1
        else:
            port.held -= 1
        taken = queue_bytes(net, p, e)
        port.bytes -= taken
        it.bytes -= taken
        if port.by_turns == BY_CLASS:
            count_class(net, records, p, e, -1, time)
        count_drop(net, records, g, time)
        discard(world, p, e, time, BY_WATCHDOG)
    unlink_lane(net, p, c)


@compiled
def declare(world: Any, g: int, time: float) -> None:
    """Declare a storm at watchdog g: record it (in the last row after the run's end) and drop the waiting packets."""
    net, records = world.net, world.records
    it = net.watchdog[g]
    it.dropping = 1
    row = len(net.detected) - 1
    if int(time * records.scale) < len(records.lost) - 1:
        row = net.counters[DETECTED]
        net.counters[DETECTED] = row + 1
    it.row = row
    net.detected[row].watchdog = g
    net.detected[row].declared = time
    net.detected[row].restored = math.nan
    p = int64(it.port)
    if it.lane >= 0:
        discard_lane(world, g, int64(it.lane), time)
    else:
        for c in range(net.port[p].lane, net.port[p].lane + net.port[p].lanes):
            discard_lane(world, g, c, time)
    send_pauses(net, records, p, time)


@compiled
def poll(world: Any, e: int) -> None:
    """Process poll e of a watchdog: after enough bad (good) intervals declare a storm (its end); schedule the next."""
    net, records = world.net, world.records
    time = net.packet[e].time
    g = int64(net.packet[e].hop)
    it = net.watchdog[g]
    update_paused_time(net, g, time)
    whole = it.polls > 0  # the first interval begins with the first poll
    counted = it.spent == 0.0 if it.dropping == 1 else it.spent >= it.least
    it.spent = 0.0
    it.polls += 1
    it.streak = it.streak + 1 if whole and counted else 0
    if it.streak == (it.good_polls if it.dropping == 1 else it.bad_polls):
        it.streak = 0
        if it.dropping == 0:
            declare(world, g, time)
        else:
            it.dropping = 0
            if int(time * records.scale) < len(records.lost) - 1:
                net.detected[int64(it.row)].restored = time
    push(net, e, int64(net.port[int64(it.port)].queue), it.first + it.polls * it.period, POLLS)
