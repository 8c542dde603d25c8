"""Proportional rate reduction with the slow-start reduction bound: SACK recovery as in Linux (RFC 6937)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dfcmodel.packets.recoveries.base import restart_timer
from dfcmodel.packets.recoveries.sack import (
    SackRecovery,
    is_repaired,
    leave_recovery,
    transmit_or_enter,
)
from hopflow import maximum, minimum

__all__ = ["PRRRecovery"]


class PRRRecovery(SackRecovery):
    """SACK recovery in which each ACK permits a number of packets: PRR with the slow-start reduction bound.

    A missing packet below the highest selectively acknowledged one is lost: paths preserve the order.

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import PRRRecovery
    >>> Packets(recovery=PRRRecovery()).recovery
    PRRRecovery()
    """

    class State(NamedTuple):
        """Packets delivered in recovery, and in flight at its start: ``prr_delivered``, ``recover_fs`` of RFC 6937."""

        prr_delivered: float = 0.0
        recover_fs: float = 0.0

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery at the third duplicate; in recovery it sends in proportion to deliveries."""
        if s.recovering == 0.0:
            s = transmit_or_enter(s, e)
            if s.recovering == 1.0:
                return begin_reduction(s)
            return s
        if is_repaired(s, e):
            return leave_recovery(s, e)
        return reduce_on_ack(s, e)

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender: out of recovery at the ACK that covers ``recover``; otherwise it sends in proportion."""
        if is_repaired(s, e):
            return leave_recovery(s, e)
        s = restart_timer(reduce_on_ack(s, e))
        return s._replace(backoff=1.0)


def begin_reduction(s: Any) -> Any:
    """Return the sender of `enter_recovery` with PRR's counters; one packet is resent already (RFC 6937, 3)."""
    flight = s.snd_max - s.highest_sacked
    return s._replace(
        pipe=flight, pipe_limit=flight, prr_delivered=1.0, prr_out=1.0,
        recover_fs=s.snd_max - s.snd_una,
    )  # fmt: skip


def reduce_on_ack(s: Any, e: Any) -> Any:
    """Return the sender with ``pipe_limit`` set after an ACK (RFC 6937, 3, with the bound PRR-SSRB)."""
    pipe = s.pipe - (e.delivered + e.newly_lost)
    delivered = s.prr_delivered + e.delivered
    if pipe > s.cwnd:
        count = math.ceil(delivered * s.cwnd / s.recover_fs) - s.prr_out
    else:
        count = minimum(float(int(s.cwnd)) - pipe, maximum(delivered - s.prr_out, e.delivered) + 1.0)
    return s._replace(pipe=pipe, prr_delivered=delivered, pipe_limit=pipe + maximum(0.0, count))
