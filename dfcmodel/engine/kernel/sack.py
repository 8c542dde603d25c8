"""What selective acknowledgements tell a sender (RFC 2018, RFC 6675): which packets are lost.

A packet counts as lost when three beyond it have arrived (RFC 6675, 4, IsLost). Which ones they are stands
in the receiver's ring of holes: those below what an ACK reports were decided before it left.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled

__all__ = ["advance_sack", "start_sack"]

THRESHOLD = 3.0


@compiled
def start_sack(flow: Any) -> None:
    """Begin a recovery: in flight is what was sent and not reported (RFC 6675, 5, step 4.3)."""
    flow.pipe = flow.snd_max - flow.snd_una - flow.dup_acks
    flow.sack_scanned = int(flow.snd_una)
    flow.sack_next = int(flow.snd_una)


@compiled
def advance_sack(flow: Any, holes: Any, ack: Any) -> None:
    """Take ACKs and newly known losses out of what is in flight (RFC 6675, 4, SetPipe)."""
    if ack.acks <= 0.0:
        return
    flow.pipe -= ack.acks
    end = min(flow.recover, ack.rcv_max - THRESHOLD)
    while flow.sack_scanned + 1.0 <= end:
        hole = holes[flow.holes_at + (flow.sack_scanned & flow.holes_mask)]
        if hole.extent > 0.0:
            flow.pipe -= 1.0
        flow.sack_scanned += 1
    flow.pipe = max(0.0, flow.pipe)
