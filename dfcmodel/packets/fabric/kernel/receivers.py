"""Receivers: they count what is delivered, and answer it where the sender follows ACKs."""

from __future__ import annotations

from typing import Any

from .jit import inlined
from .layout import ACK, int64
from .windows import push, release

__all__ = ["deliver"]


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
    it.hop += 1
    to = int64(net.hop[it.hop].port)
    if to < 0:  # the sender, who follows no ACKs
        release(net, e)
        return
    it.kind = ACK
    push(net, e, to, time, rank)
