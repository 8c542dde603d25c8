"""Receivers: they count delivered packets, and send ACKs if the sender uses them."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .layout import ACK, int64
from .timers import set_timer
from .windows import SAMPLED, enlist, push, release

__all__ = ["deliver"]


@compiled
def start_followers(net: Any, f: int, time: float) -> None:
    """Count flow f, complete at a future ``time``, for its followers; schedule the flows that wait for no other one."""
    if len(net.follow) == 0:
        return
    for row in range(net.follow[f].begin, net.follow[f].end):
        d = int64(net.followers[row].flow)
        it = net.follow[d]
        it.missing -= 1
        it.ready = max(it.ready, time + net.followers[row].delay)
        if it.missing > 0:
            continue
        net.flow[d].due = it.ready
        p = int64(net.hop[net.flow[d].first_hop].port)
        set_timer(net, p, d, it.ready)
        enlist(net, p, it.ready)


@compiled
def count_later(net: Any, records: Any, f: int, time: float) -> None:
    """Record a packet of flow f that is delivered at ``time``, after the present sample."""
    net.counted[f] += 1
    row = int(time * records.scale)
    if row < len(records.delivered) - 1:
        records.delivered[row, f] += 1.0


@compiled
def complete(net: Any, records: Any, f: int, time: float) -> None:
    """Set flow f's completion time, a future one, and start its followers, unless that is after the end of the run."""
    if int(time * records.scale) < len(records.delivered) - 1:
        net.finished[f] = time
        start_followers(net, f, time)


@inlined
def deliver(net: Any, records: Any, e: int, time: float, rank: int) -> None:
    """Deliver packet e at a future time, s; it becomes the ACK, scheduled at its host, or is released if unused.

    There are no losses, so that packets arrive in order.
    """
    it = net.packet[e]
    f = int64(it.flow)
    s = net.flow[f]
    s.delivered += 1
    if it.marked == 1 and int(time * records.scale) < len(records.delivered) - 1:
        s.marks += 1
    if time >= net.clock[SAMPLED]:
        count_later(net, records, f, time)
    if s.delivered == s.packets:
        complete(net, records, f, time)
    it.hop += 1
    to = int64(net.hop[it.hop].port)
    if to < 0:  # the sender uses no ACKs
        release(net, e)
        return
    it.kind = ACK
    push(net, e, to, time, rank)
