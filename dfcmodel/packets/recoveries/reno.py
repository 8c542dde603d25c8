"""Reno: fast retransmit and fast recovery up to the first ACK of new data (RFC 5681, 3.2)."""

from __future__ import annotations

from typing import Any

from dfcmodel.packets.recoveries.base import (
    LossRecovery,
    grow_window,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
)
from dfcmodel.packets.recoveries.ns2 import is_new_loss
from hopflow.tcp_constants import DUP_THRESH

__all__ = ["RenoRecovery", "enter_fast_recovery"]


def enter_fast_recovery(s: Any) -> Any:
    """Return the sender after the third duplicate ACK (RFC 5681, 3.2, steps 2 and 3)."""
    s = retransmit(restart_timer(reduce_window(s)), s.snd_una)
    return s._replace(recovering=1.0, inflation=DUP_THRESH, timing=0.0)


class RenoRecovery(LossRecovery):
    """Fast recovery that ends with the first ACK of new data.

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import RenoRecovery
    >>> Packets(recovery=RenoRecovery()).recovery
    RenoRecovery()
    """

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: in recovery an inflated window; otherwise recovery at the third duplicate ACK."""
        if s.recovering == 1.0:
            return s._replace(inflation=s.inflation + 1.0)  # RFC 5681, 3.2, step 4
        if s.dupacks < DUP_THRESH:  # step 1 and RFC 3042
            s = limited_transmit(s)
            return s._replace(burst=0.0)
        if s.dupacks == DUP_THRESH and is_new_loss(s, e):
            return enter_fast_recovery(s)
        return s

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender out of recovery, with a deflated window (RFC 5681, 3.2, step 6)."""
        s = grow_window(s)
        return s._replace(recovering=0.0, inflation=0.0)
