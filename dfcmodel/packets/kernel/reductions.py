"""Proportional rate reduction of senders with selective acknowledgements (RFC 6937).

The reference is `dfcmodel.packets.reference_reductions`.
"""

from __future__ import annotations

import math
from typing import Any

from .jit import compiled
from .selective import is_held

__all__ = ["begin_reduction", "reduce_on_ack"]


@compiled
def begin_reduction(flow: Any, f: int) -> None:
    """Begin a recovery with the third duplicate ACK; the first lost packet is about to be sent again."""
    s = flow[f]
    s.pipe = s.prr_limit = s.snd_max - s.top
    s.prr_delivered = 1
    s.prr_out = 1
    s.recover_fs = s.snd_max - s.snd_una


@compiled
def reduce_on_ack(senders: Any, f: int, before: int, top: int) -> None:
    """Set how much may be in flight after an ACK in recovery (RFC 6937, 3, with PRR-SSRB).

    ``before`` is the number of packets acknowledged before the ACK, ``top`` the highest selectively acknowledged one.
    Holes below the highest packet that arrived are lost: paths keep the order.
    """
    s = senders.flow[f]
    delivered = s.snd_una + s.sacked - before
    lost = 0
    for n in range(max(top + 1, s.snd_una), s.top):
        if not is_held(senders, f, n):
            lost += 1
    s.pipe -= delivered + lost
    s.prr_delivered += delivered
    if s.pipe > s.cwnd:
        count = math.ceil(s.prr_delivered * s.cwnd / s.recover_fs) - s.prr_out
    else:
        count = min(int(s.cwnd) - s.pipe, max(s.prr_delivered - s.prr_out, delivered) + 1)
    s.prr_limit = s.pipe + max(0, count)
