"""SACK: recovery from the scoreboard of selective ACKs, by a pipe (Fall and Floyd 1996, Sect. 4; cf. RFC 6675, 5)."""

from __future__ import annotations

from typing import Any

from dfcmodel.packets.recoveries.base import (
    LossRecovery,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
)
from dfcmodel.packets.recoveries.ns2 import is_new_loss, recover_without_loss
from hopflow.tcp_constants import DUP_THRESH

__all__ = ["SackRecovery", "enter_recovery", "is_repaired", "leave_recovery"]


def enter_recovery(s: Any) -> Any:
    """Return the sender at the start of recovery, with the lost packet to retransmit (RFC 6675, 5, 4.1 to 4.3)."""
    s = retransmit(restart_timer(reduce_window(s)), s.snd_una)
    return s._replace(recovering=1.0, timing=0.0, pipe=s.snd_max - s.snd_una - DUP_THRESH)


def is_repaired(s: Any, e: Any) -> bool:
    """Return whether an ACK ends recovery: it covers ``recover``, no loss waits to be sent again (RFC 6675, 5, A)."""
    return bool(s.snd_una - 1.0 >= s.recover and e.unrepaired == 0.0)


def leave_recovery(s: Any, e: Any) -> Any:
    """Return the sender at the end of recovery: ``recovering`` is 0, and ``recover`` is as before any loss."""
    return s._replace(recovering=0.0, recover=recover_without_loss(e))


def transmit_or_enter(s: Any, e: Any) -> Any:
    """Return the sender after a duplicate ACK outside recovery: limited transmit, or a recovery (RFC 6675, 5, 1-4)."""
    s = s._replace(burst=0.0)
    if s.dupacks < DUP_THRESH:  # step 3
        return limited_transmit(s)
    if s.dupacks == DUP_THRESH and is_new_loss(s, e):
        return enter_recovery(s)
    return s


class SackRecovery(LossRecovery):
    """Recovery of ns-2's Agent/TCP/Sack1: the window is cut at once, and the sender waits until ``pipe`` is below it.

    ``pipe`` decreases by one at each duplicate ACK, and by two at a partial ACK: the retransmission and the original
    have both left the network (Fall and Floyd 1996, Sect. 4). RFC 6675 counts from the scoreboard instead (SetPipe).

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import SackRecovery
    >>> Packets(recovery=SackRecovery()).recovery
    SackRecovery()
    """

    selective = True

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery at the third duplicate ACK; in recovery one packet fewer in the pipe."""
        if s.recovering == 0.0:
            return transmit_or_enter(s, e)
        if is_repaired(s, e):
            return leave_recovery(s, e)
        return s._replace(pipe=s.pipe - 1.0)

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender: out of recovery at the ACK that covers ``recover``; a partial ACK restarts the timer."""
        if is_repaired(s, e):
            return leave_recovery(s, e)
        s = restart_timer(s)
        return s._replace(pipe=s.pipe - 2.0, backoff=1.0)

    @staticmethod
    def on_timeout(s: Any, e: Any) -> Any:
        """Return the sender out of recovery; losses of packets sent earlier are no new loss events (RFC 6675, 5.1)."""
        return s._replace(recovering=0.0, inflation=0.0, dupacks=0.0, recover=s.snd_max - 1.0)
