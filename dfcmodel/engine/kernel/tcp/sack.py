"""What selective acknowledgements tell a sender (RFC 2018, RFC 6675): which packets are lost.

A packet counts as lost when three beyond it have arrived (RFC 6675, 4, IsLost). Which ones they are stands
in the receiver's ring of holes: those below what an ACK reports were decided before it left.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..quantum import TINY
from .tcp_constants import DUP_THRESH

__all__ = ["advance_sack", "first_is_lost", "start_sack"]


@compiled
def missing_below(flow: Any, holes: Any, end: float) -> float:
    """Return how many packets from snd_una to ``end`` have not arrived."""
    missing = 0.0
    c = int(flow.snd_una)
    while c < end - TINY:
        missing += holes[flow.holes_at + (c & flow.holes_mask)].missing
        c += 1
    return missing


@compiled
def first_is_lost(flow: Any, holes: Any, ack: Any) -> bool:
    """Return whether the ACKs so far tell that the packet at snd_una is lost (RFC 6675, 5, step 2).

    They do without three duplicate ACKs of it where those that reported what arrived beyond it were
    duplicates of an earlier one, in the recovery that has just ended.
    """
    beyond = ack.rcv_max - flow.snd_una
    if beyond < DUP_THRESH or flow.snd_una < flow.recover - TINY:  # RFC 6675, 5.1: after a timeout
        return False
    return bool(beyond - missing_below(flow, holes, ack.rcv_max) >= DUP_THRESH - TINY)


@compiled
def start_sack(flow: Any, holes: Any, ack: Any) -> None:
    """Begin a recovery: in flight is what was sent and not reported (RFC 6675, 4, SetPipe).

    What is lost of it, and the ACKs of the step, are taken out by `advance_sack`.
    """
    if flow.lost_in_pipe == 1:  # Fall and Floyd (1996), 4: less the duplicate ACKs; not with what is resent first
        flow.pipe = flow.snd_max - flow.snd_una - flow.dup_acks + ack.acks - 1.0
        flow.sack_next = int(flow.snd_una)
        return
    unseen = flow.snd_max - ack.rcv_max
    flow.pipe = unseen + missing_below(flow, holes, ack.rcv_max) + ack.acks
    flow.sack_scanned = int(flow.snd_una)
    flow.sack_next = int(flow.snd_una)


@compiled
def advance_sack(flow: Any, holes: Any, ack: Any) -> None:
    """Take ACKs and newly known losses out of what is in flight (RFC 6675, 4, SetPipe)."""
    if ack.acks <= 0.0:
        return
    flow.pipe -= ack.acks
    if flow.lost_in_pipe == 1:  # a partial ACK stands for a packet resent and the lost one
        flow.pipe = max(0.0, flow.pipe - min(ack.acks, ack.advancing))
        return
    end = ack.rcv_max - DUP_THRESH
    while flow.sack_scanned + 1.0 <= end:
        hole = holes[flow.holes_at + (flow.sack_scanned & flow.holes_mask)]
        if hole.extent > 0.0:
            flow.pipe -= 1.0
        flow.sack_scanned += 1
    flow.pipe = max(0.0, flow.pipe)
