"""Loss recovery of Linux 6.12: RACK-TLP (RFC 8985) with PRR as ``tcp_cwnd_reduction`` sends (cf. RFC 9937)."""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.packets.recoveries.base import limited_transmit
from dfcmodel.packets.recoveries.rack import RackRecovery, end_probe, enter_by_time, probe, schedule
from dfcmodel.packets.recoveries.sack import leave_recovery
from hopflow import maximum, minimum

__all__ = ["LinuxRecovery"]


class LinuxRecovery(RackRecovery):
    """RACK-TLP with proportional rate reduction as in Linux 6.12's tcp_input.c, ``tcp_cwnd_reduction``.

    It differs from `RackRecovery`, whose reduction is that of RFC 6937, in four points:

    1. Below the window an ACK permits as many packets as it delivers, and one more only if it advances ``snd_una`` and
       shows no new loss, as in RFC 9937 (``SafeACK``). RFC 6937 permits one more at each ACK, so that retransmissions
       into a full buffer are lost as well.
    2. Above the window packets are sent in proportion to the window before the reduction (``prior_cwnd``), not to the
       packets in flight then.
    3. The retransmission timer is SRTT + max(min_rto, 4 RTTVAR) (``tcp_rtt_estimator``), not max(min_rto, SRTT + 4
       RTTVAR) (RFC 6298).
    4. If there are still lost packets at the end of recovery, retransmitted or not, another recovery begins at that
       ACK with another reduction of the window (``tcp_time_to_recover``).

    Parameters
    ----------
    max_ack_delay
        Maximum time, s, by which a receiver delays the ACK of a single packet in flight (RFC 8985, 7.2).

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import LinuxRecovery
    >>> Packets(recovery=LinuxRecovery()).recovery
    LinuxRecovery()
    """

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery ends at the ACK covering ``recover``, or begins after losses; sets the alarm."""
        if s.recovering == 1.0:
            pipe = s.pipe - (e.delivered + e.newly_lost)
            if s.snd_una - 1.0 < s.recover:
                s = s._replace(pipe=pipe)
                s = reduce_as_linux(s, e.delivered, 0.0 if e.newly_lost > 0.0 else 1.0)
            elif has_lost(s, e):
                s = enter_as_linux(s, e)
                s = s._replace(pipe=pipe, pipe_limit=pipe + 1.0)
            else:
                s = leave_recovery(s, e)
        else:
            s = end_probe(s, e)
            if e.unrepaired == 1.0:
                s = enter_as_linux(s, e)
        return schedule(s, e)

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery begins if packets are lost; otherwise limited transmit sends (RFC 3042)."""
        if s.recovering == 1.0:
            s = s._replace(pipe=s.pipe - (e.delivered + e.newly_lost))
            s = reduce_as_linux(s, e.delivered, 0.0)
        elif e.unrepaired == 1.0:
            s = enter_as_linux(s, e)
        else:
            s = limited_transmit(s)
            s = s._replace(burst=0.0)
        return schedule(s, e)

    @staticmethod
    def on_alarm(s: Any, e: Any) -> Any:
        """Return the sender after new losses, as at an ACK of a packet (``tcp_rack_reo_timeout``), or with a probe."""
        if s.recovering == 1.0:
            if e.newly_lost > 0.0:
                s = s._replace(pipe=s.pipe - e.newly_lost)
                s = reduce_as_linux(s, 1.0, 0.0)
        elif e.unrepaired == 1.0:
            s = enter_as_linux(s, e)
        elif s.sacked == 0.0 and s.tlp_end < 0.0 and s.snd_una < s.snd_max:
            return probe(s, e)
        return schedule(s, e)


def has_lost(s: Any, e: Any) -> bool:
    """Return whether a lost packet has not arrived yet, retransmitted or not (``lost_out`` above 0).

    Below a selectively acknowledged packet there are holes; they are lost unless one is not late yet.
    """
    return bool(e.unrepaired == 1.0 or (s.sacked > 0.0 and e.next_loss == math.inf))


def enter_as_linux(s: Any, e: Any) -> Any:
    """Return the sender at the start of recovery; ``recover_fs`` keeps the window before it (``prior_cwnd``)."""
    prior_cwnd = float(int(s.cwnd))
    s = enter_by_time(s, e)
    return s._replace(recover_fs=prior_cwnd)


def reduce_as_linux(s: Any, delivered: float, safe: float) -> Any:
    """Return the sender with ``pipe_limit`` set after an ACK of ``delivered`` packets; ``safe``: 1 more (else 0).

    ``safe``: 1 for an ACK that advances ``snd_una`` and shows no new loss.
    """
    target = float(int(s.cwnd))
    reported = s.prr_delivered + delivered
    if s.pipe > target:
        count = math.ceil(reported * target / s.recover_fs) - s.prr_out
    else:
        count = minimum(target - s.pipe, maximum(reported - s.prr_out, delivered) + safe)
    if s.prr_out == 0.0:
        count = maximum(count, 1.0)  # the first packet is retransmitted at once
    return s._replace(prr_delivered=reported, pipe_limit=s.pipe + maximum(0.0, count))
