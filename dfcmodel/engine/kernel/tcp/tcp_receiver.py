"""The receiver of a window-controlled flow: missing packets and cumulative acknowledgements.

Packets arrive or are lost as a whole: fractional losses of stretches add up until they make a packet, and that packet
is a *hole*. The cumulative acknowledgement rcv_nxt points at the first hole. A retransmitted packet fills its hole, if
there is one, and rcv_nxt advances to the next hole, past packets that were received out of order (RFC 9293, 3.10.7.4).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.kernels.marks import compiled, inlined

from ..quantum import TINY, quantize

__all__ = ["receive", "receive_fast_path", "time_of_emission"]


@inlined
def time_of_emission(flow: Any, f: int, k: int, emitted: Any) -> Any:
    """Return the step, with a fraction, in which flow f's last packet received by step k left; move ``sent_before``.

    ``emitted[:, f]``, a ring, holds the packets emitted by flow f up to a step. A packet older than the ring gets the
    age of the ring. Positions of successive calls do not decrease.
    """
    position = flow.rcv_position
    mask = emitted.shape[0] - 1
    j = max(flow.sent_before, k - mask + 1)
    while emitted[j & mask, f] < position and j < k:
        j += 1
    flow.sent_before = j
    begin = emitted[(j - 1) & mask, f]
    end = emitted[j & mask, f]
    if position >= end or position <= begin:  # older than the ring
        return float(j)
    return j - (end - position) / (end - begin)


@compiled
def fill_holes(flow: Any, holes: Any, first: float, end: float) -> float:
    """Fill the holes from sequence number ``first`` to ``end``; return the number of packets filled."""
    low = max(first, flow.rcv_nxt)
    high = min(flow.rcv_max, end)
    filled = 0.0
    c = int(low)
    while low < high - TINY:
        edge = min(c + 1.0, flow.rcv_max)
        until = min(edge, high)
        hole = holes[flow.holes_at + (c & flow.holes_mask)]
        beyond = hole.extent * (edge - until) / (edge - c)
        if hole.missing > beyond:
            filled += hole.missing - beyond
            hole.missing = beyond
        low = until
        c += 1
    return filled


@inlined
def advance_rcv_nxt(flow: Any, holes: Any, quantum: float) -> None:
    """Advance rcv_nxt to the first hole, and into a partly filled hole in proportion."""
    c = int(flow.rcv_nxt)
    while c < flow.rcv_max:
        edge = min(c + 1.0, flow.rcv_max)
        if c < flow.scanned_to:
            hole = holes[flow.holes_at + (c & flow.holes_mask)]
            if hole.missing > 1e-6:
                done = 1.0 - hole.missing / hole.extent
                flow.rcv_nxt = max(flow.rcv_nxt, quantize(c + done * (edge - c), quantum))
                return
            hole.missing = 0.0
        flow.rcv_nxt = max(flow.rcv_nxt, edge)
        c += 1


class Resent(NamedTuple):
    """Retransmitted packets that arrive together."""

    end: Any  # sequence number after the last packet
    packets: Any
    missing: Any  # fraction lost on the way
    complete: Any  # whether no further packets of the retransmission follow


@inlined
def receive_resent(flow: Any, holes: Any, resent: Any, quantum: float) -> Any:
    """Receive retransmitted packets, a `Resent`; return (their ACKs, ACKs among these that advance rcv_nxt).

    A packet is processed when it is complete; a part of a packet is held until the rest arrives.
    """
    flow.resent_held += resent.packets
    flow.resent_held_lost += resent.missing * resent.packets
    n_complete = flow.resent_held if resent.complete else math.floor(flow.resent_held + TINY)
    missed = flow.resent_held_lost / flow.resent_held
    at = resent.end - flow.resent_held
    flow.resent_held_lost -= missed * n_complete
    flow.resent_held -= n_complete
    acks = 0.0
    advancing = 0.0
    while n_complete > TINY:
        piece = min(1.0, n_complete)
        flow.fractional_loss += missed * piece
        if missed > 0.0 and flow.fractional_loss >= 1.0:
            flow.fractional_loss -= 1.0
        else:
            acks += piece
            before = flow.rcv_nxt
            filled = fill_holes(flow, holes, at, at + piece)
            if filled > 0.0:
                advance_rcv_nxt(flow, holes, quantum)
            if flow.rcv_nxt > before:  # otherwise a duplicate ACK, whatever was filled (RFC 5681, 2)
                advancing += filled
        at += piece
        n_complete -= piece
    return acks, advancing


@inlined
def start_packet(flow: Any, holes: Any, c: int, start: float, lost_part: float) -> None:
    """Begin new packet c at position ``start``: lost if ``lost_part``, a fraction, and earlier losses add up to 1."""
    lost = lost_part > 0.0 and flow.fractional_loss + lost_part >= 1.0 and start < c + 1e-6
    if lost:
        flow.fractional_loss -= 1.0
    hole = holes[flow.holes_at + (c & flow.holes_mask)]
    hole.missing = 0.0
    hole.extent = TINY if lost else 0.0  # TINY marks a packet that is lost as a whole
    flow.scanned_to = c + 1.0


@inlined
def receive_new(flow: Any, holes: Any, fresh: float, lost_part: float) -> Any:
    """Receive ``fresh`` new packets, fraction ``lost_part`` lost; return (their ACKs, those that advance rcv_nxt)."""
    start = flow.rcv_max
    in_order = flow.rcv_nxt >= start - 1e-6
    flow.rcv_max = start + fresh
    acks = 0.0
    advancing = 0.0
    while start < flow.rcv_max - TINY:
        c = int(start)
        if c >= flow.scanned_to:
            start_packet(flow, holes, c, start, lost_part)
        until = min(c + 1.0, flow.rcv_max)
        flow.fractional_loss += lost_part * (until - start)
        hole = holes[flow.holes_at + (c & flow.holes_mask)]
        if hole.extent > 0.0:
            hole.missing += until - start
            hole.extent += until - start
            in_order = False
        else:
            acks += until - start
            if in_order:
                advancing += until - start
        start = until
    return acks, advancing


@inlined
def receive(flow: Any, log: Any, holes: Any, arrived: float, lost: float, quantum: float) -> Any:
    """Receive ``arrived`` packets of ``arrived`` + ``lost`` sent; return (ACKs, those ACKs that advance rcv_nxt).

    Parameters
    ----------
    flow, log, holes
        Its record, the emission logs, the rings of holes.
    arrived, lost, quantum
        In packets.

    Returns
    -------
    tuple of float
        The ACKs, and how many of them advance rcv_nxt: one per packet that fills the first hole, and one per packet
        that arrives in order. The others are duplicates (RFC 5681, 2).
    """
    total = arrived + lost
    lost_part = 1.0 - (1.0 - lost / total)
    acks = 0.0
    advancing = 0.0
    while total > 0.0:
        entry = log[flow.log_at + (flow.log_first & flow.log_mask)]
        begin = entry.sequence + (flow.rcv_position - entry.position)
        remainder = math.inf  # the last stretch of the log is still open
        if flow.log_end - flow.log_first > 1:
            following = log[flow.log_at + ((flow.log_first + 1) & flow.log_mask)]
            remainder = following.position - flow.rcv_position
            if remainder <= TINY:
                flow.log_first += 1
                continue
        stretch = min(total, remainder)
        flow.rcv_position += stretch
        total -= stretch
        resent = min(stretch, max(0.0, flow.rcv_max - begin))
        if resent > TINY:
            complete = stretch == remainder or begin + resent >= flow.rcv_max - TINY
            retransmission = Resent(begin + resent, resent, lost_part, complete)
            more, more_advancing = receive_resent(flow, holes, retransmission, quantum)
            acks += more
            advancing += more_advancing
        if stretch - resent > TINY:
            more, more_advancing = receive_new(flow, holes, stretch - resent, lost_part)
            acks += more
            advancing += more_advancing
    advance_rcv_nxt(flow, holes, quantum)
    return acks, advancing


@inlined
def receive_fast_path(flow: Any, arrived: float) -> bool:
    """Receive ``arrived`` packets if new, in order and without losses; otherwise return False and change nothing."""
    if flow.rcv_nxt != flow.rcv_max or flow.log_end - flow.log_first != 1:
        return False
    if abs(flow.rcv_position + flow.offset - flow.rcv_max) > 1e-6:
        return False
    flow.rcv_position += arrived
    flow.rcv_max += arrived
    flow.rcv_nxt = flow.rcv_max
    return True
