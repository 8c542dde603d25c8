"""Receivers: they count what is delivered, and answer it where the sender follows ACKs."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from .layout import ACK, int64
from .timers import set_timer
from .windows import SAMPLED, enlist, push, release

__all__ = ["deliver"]


@compiled
def start_followers(net: Any, f: int, time: float) -> None:
    """Start the flows that have waited for flow f as the last one; it is complete at a time to come."""
    if len(net.follow) == 0:
        return
    for place in range(net.follow[f].begin, net.follow[f].end):
        d = int64(net.followers[place].flow)
        it = net.follow[d]
        it.missing -= 1
        it.ready = max(it.ready, time + net.followers[place].delay)
        if it.missing > 0:
            continue
        net.flow[d].due = it.ready
        p = int64(net.hop[net.flow[d].way].port)
        set_timer(net, p, d, it.ready)
        enlist(net, p, it.ready)


@compiled
def count_later(net: Any, records: Any, f: int, time: float) -> None:
    """Count a packet that is delivered in a sample to come; all others are counted at the end of theirs."""
    net.counted[f] += 1
    row = int(time * records.scale)
    if row < len(records.delivered) - 1:
        records.delivered[row, f] += 1.0


@compiled
def complete(net: Any, records: Any, f: int, time: float) -> None:
    """Let flow f be complete at a time to come, if that is not beyond the end."""
    if int(time * records.scale) < len(records.delivered) - 1:
        net.finished[f] = time
        start_followers(net, f, time)


@inlined
def deliver(net: Any, records: Any, e: int, time: float, rank: int) -> None:
    """Deliver a packet to its receiver at a time to come, and let its ACK arrive at the interface of the host.

    Nothing is lost, so that packets come in order.
    """
    it = net.packet[e]
    f = int64(it.flow)
    s = net.flow[f]
    s.came += 1
    if it.marked == 1 and int(time * records.scale) < len(records.delivered) - 1:
        s.marks += 1
    if time >= net.clock[SAMPLED]:
        count_later(net, records, f, time)
    if s.came == s.packets:
        complete(net, records, f, time)
    it.hop += 1
    to = int64(net.hop[it.hop].port)
    if to < 0:  # the sender, who follows no ACKs
        release(net, e)
        return
    it.kind = ACK
    push(net, e, to, time, rank)
