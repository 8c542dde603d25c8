"""Receivers: they count what is delivered, and answer it where the sender follows ACKs."""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .layout import ACK, int64
from .timers import set_timer
from .windows import enlist, push, release

__all__ = ["deliver"]


@compiled
def start_followers(net: Any, f: int, time: float) -> None:
    """Let flow f be complete at a time to come, and start those that have waited for it as the last one."""
    if len(net.follow) == 0:
        return
    for place in range(net.follow[f].begin, net.follow[f].end):
        d = int64(net.followers[place])
        it = net.follow[d]
        it.missing -= 1
        it.ready = max(it.ready, time)
        if it.missing > 0:
            continue
        start = it.ready + it.delay
        net.flow[d].due = start
        p = int64(net.hop[net.flow[d].way].port)
        set_timer(net, p, d, start)
        enlist(net, p, start)


@inlined
def deliver(net: Any, records: Any, e: int, time: float, rank: int) -> None:
    """Deliver a packet to its receiver at a time to come, and let its ACK arrive at the interface of the host.

    Nothing is lost, so that packets come in order.
    """
    it = net.packet[e]
    f = int64(it.flow)
    s = net.flow[f]
    s.came += 1
    row = int(time * records.scale)
    if row < len(records.delivered) - 1:
        records.delivered[row, f] += 1.0
        if s.came >= s.packets and not s.finished >= 0.0:
            s.finished = time
            start_followers(net, f, time)
    it.hop += 1
    to = int64(net.hop[it.hop].port)
    if to < 0:  # the sender, who follows no ACKs
        release(net, e)
        return
    it.kind = ACK
    push(net, e, to, time, rank)
