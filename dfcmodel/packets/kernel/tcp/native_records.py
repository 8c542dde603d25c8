"""Packets of flows with native rules: what each event reports as acknowledged and lost."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

__all__ = ["grow_ring", "list_acked", "list_packet"]


@inlined
def copy_slot(senders: Any, source: int, target: int) -> None:
    """Copy the record of a packet, with the data of the rule, from row ``source`` of ``slot`` to row ``target``."""
    packet, copy = senders.slot[source], senders.slot[target]
    copy.number = packet.number
    copy.data = packet.data
    copy.bytes = packet.bytes
    copy.sent = packet.sent
    copy.sent_ns = packet.sent_ns
    for k in range(8):
        copy.slot[k] = packet.slot[k]


@compiled
def grow_ring(senders: Any, f: int) -> None:
    """Double flow f's ring of records in flight, and the ring of packets to be sent again, which shares its rows.

    It begins small, so that it stays in the cache; there is room behind it.
    """
    d = senders.rule[senders.flow[f].rule]
    history = senders.history
    old = d.sent_mask
    d.sent_mask = 2 * old + 1
    for k in range(d.sent_first, d.sent_last):
        a, b = d.history + (k & old), d.history + (k & d.sent_mask)
        if a != b:
            copy_slot(senders, a, b)
            history[b].sent = history[a].sent
            history[b].delivered_at = history[a].delivered_at
            history[b].first_sent = history[a].first_sent
            history[b].delivered = history[a].delivered
            history[b].lost = history[a].lost
            history[b].in_flight = history[a].in_flight
            history[b].limited = history[a].limited
            history[b].number = history[a].number
    for k in range(d.again_first, d.again_last):
        a, b = d.history + (k & old), d.history + (k & d.sent_mask)
        if a != b:
            history[b].again = history[a].again


@compiled
def list_packet(senders: Any, f: int, at: int, lost: bool) -> None:
    """Move the packet of record ``at`` from the flight to the acknowledged, or ``lost``, packets of the next report.

    The report has a copy of the record, which has 0 bytes from then on.
    """
    s = senders.flow[f]
    n = senders.native[s.native]
    n.in_order = 0
    n.ordered_from = senders.rule[s.rule].sent_last
    n.flight -= 1
    if lost:
        copy_slot(senders, at, n.lost_at + n.new_lost)
        n.new_lost += 1
    else:
        if n.first_acked != n.acked_at:
            for k in range(n.new_acked):
                copy_slot(senders, n.first_acked + k, n.acked_at + k)
            n.first_acked = n.acked_at
        copy_slot(senders, at, n.acked_at + n.new_acked)
        n.new_acked += 1
    senders.slot[at].bytes = 0


@inlined
def list_acked(senders: Any, f: int, at: int) -> None:
    """Move record ``at``'s packet, which leaves the ring, from flight to the acknowledged packets of the next report.

    Such records are reported where they are, as long as they are consecutive: paths without loss copy nothing.
    """
    n = senders.native[senders.flow[f].native]
    if n.new_acked == 0:
        n.first_acked = at
    elif at != n.first_acked + n.new_acked:
        list_packet(senders, f, at, False)
        return
    n.flight -= 1
    n.new_acked += 1
