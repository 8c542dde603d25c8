"""The receiver of a window-controlled flow: which packets are missing, and what is acknowledged.

Packets arrive or are lost whole: what the network says is missing of a stretch is gathered until it
makes a packet, and that one is a *hole*. The cumulative acknowledgement rcv_nxt stands at the first
hole. A retransmitted packet fills the hole where it belongs, if there is one, and rcv_nxt moves on to
the next: it jumps over what was received before (RFC 9293, 3.10.7.4).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.kernels.marks import compiled, inlined

from ..quantum import TINY, quantize

__all__ = ["receive", "receive_fast_path", "time_of_emission"]


@inlined
def time_of_emission(flow: Any, f: int, k: int, emitted: Any) -> Any:
    """Return when what the receiver took in last was sent, in steps, before step k.

    ``emitted[:, f]`` is what flow f had emitted, by step, a ring; a packet older than the ring is as old
    as that. Positions of successive calls do not decrease.
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
    """Fill the holes from sequence number ``first`` to ``end``; return how many packets they were."""
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
    """Move rcv_nxt up to the first hole; inside a hole that is being filled, in proportion."""
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
    """Packets that come for the second time."""

    end: Any  # sequence number behind the last one
    packets: Any
    missing: Any  # the part of them that was lost
    complete: Any  # whether no more of them follow


@inlined
def receive_resent(flow: Any, holes: Any, resent: Any, quantum: float) -> Any:
    """Take in packets that were sent again, a `Resent`; return their ACKs, and how many move rcv_nxt.

    A packet is processed when it is whole; a part of one is held until the rest has come.
    """
    flow.resent_held += resent.packets
    flow.resent_held_lost += resent.missing * resent.packets
    whole = flow.resent_held if resent.complete else math.floor(flow.resent_held + TINY)
    missed = flow.resent_held_lost / flow.resent_held
    at = resent.end - flow.resent_held
    flow.resent_held_lost -= missed * whole
    flow.resent_held -= whole
    acks = 0.0
    advancing = 0.0
    while whole > TINY:
        piece = min(1.0, whole)
        flow.fractional_loss += missed * piece
        if missed > 0.0 and flow.fractional_loss >= 1.0:
            flow.fractional_loss -= 1.0
        else:
            acks += piece
            before = flow.rcv_nxt
            filled = fill_holes(flow, holes, at, at + piece)
            if filled > 0.0:
                advance_rcv_nxt(flow, holes, quantum)
            if flow.rcv_nxt > before:  # else a duplicate ACK, whatever was filled (RFC 5681, 2)
                advancing += filled
        at += piece
        whole -= piece
    return acks, advancing


@inlined
def start_packet(flow: Any, holes: Any, c: int, start: float, missing: float) -> None:
    """Decide whether packet c is lost: it is when so much is missing as makes one."""
    lost = missing > 0.0 and flow.fractional_loss + missing >= 1.0 and start < c + 1e-6
    if lost:
        flow.fractional_loss -= 1.0
    hole = holes[flow.holes_at + (c & flow.holes_mask)]
    hole.missing = 0.0
    hole.extent = TINY if lost else 0.0  # a mark: all of the packet is
    flow.scanned_to = c + 1.0


@inlined
def receive_new(flow: Any, holes: Any, fresh: float, missing: float) -> Any:
    """Take in ``fresh`` packets never seen before; return their ACKs, and how many move rcv_nxt."""
    start = flow.rcv_max
    in_order = flow.rcv_nxt >= start - 1e-6
    flow.rcv_max = start + fresh
    acks = 0.0
    advancing = 0.0
    while start < flow.rcv_max - TINY:
        c = int(start)
        if c >= flow.scanned_to:
            start_packet(flow, holes, c, start, missing)
        until = min(c + 1.0, flow.rcv_max)
        flow.fractional_loss += missing * (until - start)
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
def receive(flow: Any, log: Any, holes: Any, arrived: float, gone: float, quantum: float) -> Any:
    """Take in ``arrived`` packets and the ``gone`` lost among them; move rcv_nxt.

    Parameters
    ----------
    flow, log, holes
        Its record, the emission logs, the rings of holes.
    arrived, gone, quantum
        In packets.

    Returns
    -------
    tuple of float
        The ACKs that answer, and how many of them move rcv_nxt: one for each hole filled that was the first,
        and one for each packet that came in order. The others are duplicates (RFC 5681, 2).
    """
    total = arrived + gone
    missing = 1.0 - (1.0 - gone / total)
    acks = 0.0
    advancing = 0.0
    while total > 0.0:
        here = log[flow.log_at + (flow.log_first & flow.log_mask)]
        begin = here.sequence + (flow.rcv_position - here.position)
        rest = math.inf  # of what is still being sent
        if flow.log_end - flow.log_first > 1:
            after = log[flow.log_at + ((flow.log_first + 1) & flow.log_mask)]
            rest = after.position - flow.rcv_position
            if rest <= TINY:
                flow.log_first += 1
                continue
        stretch = min(total, rest)
        flow.rcv_position += stretch
        total -= stretch
        resent = min(stretch, max(0.0, flow.rcv_max - begin))
        if resent > TINY:
            complete = stretch == rest or begin + resent >= flow.rcv_max - TINY
            again = Resent(begin + resent, resent, missing, complete)
            more, moving = receive_resent(flow, holes, again, quantum)
            acks += more
            advancing += moving
        if stretch - resent > TINY:
            more, moving = receive_new(flow, holes, stretch - resent, missing)
            acks += more
            advancing += moving
    advance_rcv_nxt(flow, holes, quantum)
    return acks, advancing


@inlined
def receive_fast_path(flow: Any, arrived: float) -> bool:
    """Do what `receive` does where new data came in order and nothing is missing; else return False."""
    if flow.rcv_nxt != flow.rcv_max or flow.log_end - flow.log_first != 1:
        return False
    if abs(flow.rcv_position + flow.offset - flow.rcv_max) > 1e-6:
        return False
    flow.rcv_position += arrived
    flow.rcv_max += arrived
    flow.rcv_nxt = flow.rcv_max
    return True
