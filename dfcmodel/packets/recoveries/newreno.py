"""NewReno: fast recovery up to the ACK of all packets sent before the loss was detected (RFC 6582)."""

from __future__ import annotations

from typing import Any, NamedTuple

from dfcmodel.packets.recoveries.base import (
    LossRecovery,
    grow_window,
    limited_transmit,
    restart_timer,
    retransmit,
)
from dfcmodel.packets.recoveries.ns2 import NEWRENO_BURST, is_new_loss
from dfcmodel.packets.recoveries.reno import enter_fast_recovery
from hopflow import maximum
from hopflow.tcp_constants import DUP_THRESH

__all__ = ["NewRenoRecovery"]


class NewRenoRecovery(LossRecovery):
    """Fast recovery that repairs one packet per RTT (RFC 6582, 3.2, Impatient: one timer restart per recovery).

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import NewRenoRecovery
    >>> Packets(recovery=NewRenoRecovery()).recovery
    NewRenoRecovery()
    """

    class State(NamedTuple):
        """``partial``: 1 after the first partial ACK of a recovery."""

        partial: float = 0.0

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: in recovery an inflated window; otherwise recovery at the third duplicate."""
        if s.dupacks < DUP_THRESH:  # RFC 5681, 3.2, step 1, and RFC 3042
            s = limited_transmit(s)
            return s._replace(burst=0.0)
        s = s._replace(burst=NEWRENO_BURST)
        if s.recovering == 1.0:
            return s._replace(inflation=s.inflation + 1.0)  # RFC 6582, 3.2, step 2: as RFC 5681
        if s.dupacks == DUP_THRESH and is_new_loss(s, e):
            s = enter_fast_recovery(s)
            return s._replace(partial=0.0)
        return s

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender: out of recovery at a full ACK, else with the next hole to resend (RFC 6582, 3.2, 3)."""
        if s.snd_una - 1.0 >= s.recover:  # full acknowledgment
            s = grow_window(s)
            return s._replace(recovering=0.0, inflation=0.0)
        if s.partial == 0.0:  # only the first partial ACK restarts the timer: Impatient variant (RFC 6582, 4)
            s = restart_timer(s)
        if e.timed == 1.0:
            s = s._replace(timing=0.0, backoff=1.0)
        if s.inflation > e.acked:  # deflate by the acknowledged packets, add one packet
            s = s._replace(inflation=s.inflation - (e.acked - 1.0))
        else:
            s = s._replace(cwnd=s.cwnd - (e.acked - s.inflation), inflation=1.0)
        s = retransmit(s, s.snd_una)
        return s._replace(cwnd=maximum(1.0, s.cwnd), partial=1.0, burst=NEWRENO_BURST)
