"""Packets of flows with native rules: what each event reports as acknowledged and lost."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

__all__ = ["list_packet"]


@compiled
def list_packet(senders: Any, f: int, at: int, lost: bool) -> None:
    """Add the packet of record ``at`` to the acknowledged or lost packets of the next report; it leaves the flight.

    A record whose packet is listed has 0 bytes.
    """
    n = senders.native[senders.flow[f].native]
    packet = senders.slot[at]
    listed = senders.slot[n.lost_at + n.new_lost if lost else n.acked_at + n.new_acked]
    listed.number = packet.number
    listed.data = packet.data
    listed.bytes = packet.bytes
    listed.sent = packet.sent
    listed.sent_ns = packet.sent_ns
    for k in range(8):
        listed.slot[k] = packet.slot[k]
    packet.bytes = 0
    n.flight -= 1
    if lost:
        n.new_lost += 1
    else:
        n.new_acked += 1
