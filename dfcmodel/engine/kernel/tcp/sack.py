"""Loss detection and the pipe of a sender with selective acknowledgements (RFC 2018, RFC 6675).

A packet counts as lost when three packets beyond it have arrived (RFC 6675, 4, IsLost). The sender reads the missing
packets from the receiver's ring of holes: holes below the data reported by an ACK were final before it was sent.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..quantum import TINY
from .tcp_constants import DUP_THRESH

__all__ = ["advance_sack", "first_is_lost", "start_sack"]


@compiled
def missing_below(flow: Any, holes: Any, end: float) -> float:
    """Return how many packets from snd_una to before sequence number ``end`` have not arrived."""
    missing = 0.0
    c = int(flow.snd_una)
    while c < end - TINY:
        missing += holes[flow.holes_at + (c & flow.holes_mask)].missing
        c += 1
    return missing


@compiled
def first_is_lost(flow: Any, holes: Any, ack: Any) -> bool:
    """Return whether SACK information shows the packet at snd_una to be lost (RFC 6675, 5, step 2).

    This may be so without three duplicate ACKs for it: the ACKs that reported the packets beyond it may have been
    duplicates for an earlier packet, in the recovery that has just ended.
    """
    beyond = ack.rcv_max - flow.snd_una
    if beyond < DUP_THRESH or flow.snd_una < flow.recover - TINY:  # RFC 6675, 5.1: after a timeout
        return False
    return bool(beyond - missing_below(flow, holes, ack.rcv_max) >= DUP_THRESH - TINY)


@compiled
def start_sack(flow: Any, holes: Any, ack: Any) -> None:
    """Set a flow's pipe, packets sent and not reported, and its scan at the start of a SACK recovery (RFC 6675, 4).

    `advance_sack` then subtracts the lost packets and the ACKs of the step.
    """
    if flow.lost_in_pipe == 1:  # Fall and Floyd (1996), 4: less the duplicate ACKs, without the first retransmission
        flow.pipe = flow.snd_max - flow.snd_una - flow.dup_acks + ack.acks - 1.0
        flow.sack_next = int(flow.snd_una)
        return
    unreported = flow.snd_max - ack.rcv_max
    flow.pipe = unreported + missing_below(flow, holes, ack.rcv_max) + ack.acks
    flow.sack_scanned = int(flow.snd_una)
    flow.sack_next = int(flow.snd_una)


@compiled
def advance_sack(flow: Any, holes: Any, ack: Any) -> None:
    """Subtract an ACK's packets and newly detected losses from a flow's pipe (RFC 6675, 4, SetPipe)."""
    if ack.acks <= 0.0:
        return
    flow.pipe -= ack.acks
    if flow.lost_in_pipe == 1:  # a partial ACK stands for a retransmission and the lost packet
        flow.pipe = max(0.0, flow.pipe - min(ack.acks, ack.advancing))
        return
    end = ack.rcv_max - DUP_THRESH
    while flow.sack_scanned + 1.0 <= end:
        hole = holes[flow.holes_at + (flow.sack_scanned & flow.holes_mask)]
        if hole.extent > 0.0:
            flow.pipe -= 1.0
        flow.sack_scanned += 1
    flow.pipe = max(0.0, flow.pipe)
