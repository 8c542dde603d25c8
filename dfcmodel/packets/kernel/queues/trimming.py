"""Packets that a switch cuts to their headers, which go on in their place (NDP: Handley et al. 2017, Sect. 3.1)."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import release
from ..codes import TRIMMED
from ..layout import NACK, SACK, int64
from ..rates.repairs import GAP, SELECTIVE
from ..tcp.bit_maps import RECEIVED, has_bit

__all__ = ["CUT", "HEADER_SIZE", "cut_packet", "receive_header"]

CUT = 8  # flag of a packet: only its header is left
HEADER_SIZE = 6  # size class of such a packet


@compiled
def cut_packet(net: Any, e: int) -> None:
    """Cut a packet to its header."""
    it = net.packet[e]
    it.size = HEADER_SIZE
    it.ecn |= CUT
    net.trimmed[e] = it.hop


@inlined
def has_packet(senders: Any, f: int, number: int) -> bool:
    """Return whether a receiver that keeps what comes out of order has a packet."""
    return bool(number < senders.flow[f].came or has_bit(senders, f, RECEIVED, number))


@compiled
def receive_header(world: Any, e: int, time: float) -> bool:
    """Record a packet of which the header alone has come as dropped where it was cut; return whether it is answered.

    A receiver whose sender repairs losses asks for the packet at once. An agent answers by itself. Others treat it as
    one that was dropped.
    """
    net, senders, records = world
    it = net.packet[e]
    s = senders.flow[it.flow]
    h = int64(net.trimmed[e])
    rows = len(records.lost) - 1
    row = min(int(time * records.scale), rows)
    records.lost[row, h] += 1
    if row < rows:
        records.causes[h, TRIMMED] += 1
        if not records.first_drops[h, TRIMMED] <= time:
            records.first_drops[h, TRIMMED] = time
        if not s.first_loss <= time:
            s.first_loss = time
    has_come = s.repair == SELECTIVE and has_packet(senders, int64(it.flow), int64(it.number))
    if s.agent < 0 and (s.repair == 0 or has_come):
        release(net, e)
        return False
    if row < rows:
        it.ecn &= ~CUT  # a flag that stays tells of what is processed ahead of the end of a run
    if s.agent >= 0:
        return True
    if s.repair == SELECTIVE:
        it.ecn |= GAP
        net.block[e, SACK] = -1
        net.block[e, NACK] = it.number
        it.number = s.came - 1
        return True
    if it.number == s.came or (it.number > s.came and s.held == 0):
        s.held = 1
        it.ecn |= GAP
    if it.number > s.came and (s.beyond <= s.came or it.number < s.beyond):
        s.beyond = it.number  # it has overtaken what is before it
    it.number = s.came - 1
    return True
