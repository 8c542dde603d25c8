"""Tahoe: fast retransmit, then slow start from the first unacknowledged packet (RFC 5681, 3.2, no fast recovery)."""

from __future__ import annotations

from typing import Any

from dfcmodel.packets.recoveries.base import (
    LossRecovery,
    limited_transmit,
    reduce_window,
    restart_timer,
)
from dfcmodel.packets.recoveries.ns2 import is_new_loss
from hopflow.tcp_constants import DUP_THRESH

__all__ = ["TahoeRecovery"]


class TahoeRecovery(LossRecovery):
    """Fast retransmit without fast recovery: all packets from the lost one on are sent again.

    Jacobson 1988. The window rule sets the window; `responsefn.Tahoe` sets it to one packet.

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import TahoeRecovery
    >>> Packets(recovery=TahoeRecovery()).recovery
    TahoeRecovery()
    """

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: two duplicates each send a new packet (RFC 3042); the third shows a loss: go back."""
        if s.dupacks < DUP_THRESH:
            return limited_transmit(s)
        if s.dupacks == DUP_THRESH and is_new_loss(s, e):
            s = restart_timer(reduce_window(s))
            return s._replace(timing=0.0, snd_nxt=s.snd_una)
        return s

    @staticmethod
    def on_timeout(s: Any, e: Any) -> Any:
        """Return the sender after a timeout unchanged: it keeps its duplicate ACKs, as ns-2's Agent/TCP does."""
        return s
