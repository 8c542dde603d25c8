"""RACK-TLP: loss detection by time, and tail loss probes (RFC 8985), with PRR (RFC 6937)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dfcmodel.packets.recoveries.base import (
    MIN_ALARM,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
    send_new,
    set_alarm,
)
from dfcmodel.packets.recoveries.prr import PRRRecovery, reduce_on_ack
from dfcmodel.packets.recoveries.sack import leave_recovery
from hopflow import maximum, minimum
from hopflow.tcp_constants import DUP_THRESH, INITIAL_PTO

__all__ = ["RackRecovery"]


class RackRecovery(PRRRecovery):
    """Recovery by RACK-TLP (RFC 8985): a packet is lost if it is late, not if three later packets have arrived.

    A packet is lost if a packet sent after it is reported, and if the round trip of that packet and the reordering
    window have passed since its transmission. The window is a quarter of the minimum round trip (``reordering``) if
    packets were reordered before, or if fewer than three are selectively acknowledged outside of recovery; otherwise
    it is 0. If nothing is reported for two round trips, the sender transmits a probe, a new packet or the last one
    again. Its ACK shows losses of the tail before the retransmission timer expires.

    ACKs identify the transmission that they acknowledge, as with exact timestamps, which distinguishes a probe that
    repairs a loss from an unnecessary one. There is no DSACK (RFC 2883), so that the window is not restored. After a
    timeout all packets are sent again, as in the other recoveries (RFC 8985, 6.3, retransmits only late packets).
    Before the first ACK no probe is scheduled, unless there was a handshake.

    Parameters
    ----------
    max_ack_delay
        Maximum time, s, by which a receiver delays the ACK of a single packet in flight (RFC 8985, 7.2).
    reordering
        Reordering window in minimum round trips. For values up to 1 it is at most the smoothed round trip.
    reordering_seen
        1: assume reordering from the start, as for a sprayed flow; 0: only after a packet was reordered.

    With a rule of deliveries it detects losses and sends probes; the rule sets the window, without a reduction.

    Examples
    --------
    >>> from dfcmodel import Packets
    >>> from dfcmodel.recoveries import RackRecovery
    >>> Packets(recovery=RackRecovery()).recovery
    RackRecovery()
    """

    by_time = True

    class State(NamedTuple):
        """``prr_delivered``, ``recover_fs`` of RFC 6937; ``reordering_seen`` and the probe of RFC 8985, 5.2 and 7.1.

        ``tlp_end``: -1 without an unacknowledged probe; ``tlp_time``: time at which the probe was sent, s.
        """

        prr_delivered: float = 0.0
        recover_fs: float = 0.0
        reordering_seen: float = 0.0
        tlp_end: float = -1.0
        tlp_is_retrans: float = 0.0
        tlp_time: float = 0.0
        max_ack_delay: float = 0.2
        reordering: float = 0.25

    @staticmethod
    def on_report(s: Any, e: Any) -> Any:
        """Return the sender with a new ``reorder_window``, s (RFC 8985, 6.2, steps 3 and 4)."""
        reordered = maximum(s.reordering_seen, e.reordered)
        window = minimum(s.reordering * e.min_rtt, maximum(s.reordering, 1.0) * e.srtt)
        if reordered == 0.0 and (s.recovering == 1.0 or s.sacked >= DUP_THRESH):
            window = 0.0
        return s._replace(reordering_seen=reordered, reorder_window=window)

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery ends at the ACK covering ``recover``, or begins after losses; sets the alarm."""
        if s.recovering == 1.0:
            s = leave_recovery(s, e) if s.snd_una - 1.0 >= s.recover else reduce_on_ack(s, e)
        else:
            s = end_probe(s, e)
        if s.recovering == 0.0 and e.unrepaired == 1.0:
            s = enter_by_time(s, e)
        return schedule(s, e)

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender: recovery begins if packets are lost; otherwise limited transmit sends (RFC 3042)."""
        if s.recovering == 1.0:
            s = reduce_on_ack(s, e)
        elif e.unrepaired == 1.0:
            s = enter_by_time(s, e)
        else:
            s = limited_transmit(s)
            s = s._replace(burst=0.0)
        return schedule(s, e)

    @staticmethod
    def on_alarm(s: Any, e: Any) -> Any:
        """Return the sender after newly lost packets (RFC 8985, 6.2, step 5), or with a probe (7.3)."""
        if s.recovering == 1.0:
            if e.newly_lost > 0.0:
                pipe = s.pipe - e.newly_lost
                s = s._replace(pipe=pipe, pipe_limit=pipe + 1.0)
        elif e.unrepaired == 1.0:
            s = enter_by_time(s, e)
        elif s.sacked == 0.0 and s.tlp_end < 0.0 and s.snd_una < s.snd_max:
            return probe(s, e)
        return schedule(s, e)

    @staticmethod
    def on_timeout(s: Any, e: Any) -> Any:
        """Return the sender out of recovery and without a probe (RFC 8985, 7.4.1)."""
        s = set_alarm(s, math.inf)
        return s._replace(recovering=0.0, inflation=0.0, dupacks=0.0, recover=s.snd_max - 1.0, tlp_end=-1.0)


def enter_by_time(s: Any, e: Any) -> Any:
    """Return the sender at the start of recovery: lost packets leave the pipe, and one packet is sent at once."""
    s = restart_timer(reduce_window(s))
    flight = s.snd_max - s.snd_una
    pipe = flight - s.sacked - maximum(1.0, e.newly_lost)
    return s._replace(
        recovering=1.0, timing=0.0, tlp_end=-1.0, burst=math.inf, pipe=pipe, pipe_limit=pipe + 1.0,
        prr_delivered=e.delivered, prr_out=0.0, recover_fs=flight,
    )  # fmt: skip


def schedule(s: Any, e: Any) -> Any:
    """Return the sender with an alarm at the earlier of the next loss by time and the probe timeout (RFC 8985, 7.2)."""
    if e.next_loss < math.inf:
        return set_alarm(s, maximum(e.next_loss - e.time, MIN_ALARM))
    idle = s.snd_una == s.snd_max and s.snd_nxt >= s.size
    if s.recovering == 1.0 or s.sacked > 0.0 or idle or s.tlp_end >= 0.0:
        return set_alarm(s, math.inf)
    after = INITIAL_PTO
    if e.srtt > 0.0:
        after = 2.0 * e.srtt
    flight = maximum(s.snd_max - s.snd_una, minimum(s.size - s.snd_una, s.cwnd))
    if flight < 2.0:
        after = after + s.max_ack_delay
    return set_alarm(s, maximum(minimum(after, e.rto_left), MIN_ALARM))


def probe(s: Any, e: Any) -> Any:
    """Return the sender that sends a probe: a new packet, or the last one again if there is none (RFC 8985, 7.3)."""
    s = restart_timer(s)
    if s.snd_nxt < s.size:
        s = send_new(s)
        return s._replace(burst=0.0, tlp_end=s.snd_max + 1.0, tlp_is_retrans=0.0, tlp_time=e.time)
    s = retransmit(s, s.snd_max - 1.0)
    return s._replace(burst=0.0, timing=0.0, tlp_end=s.snd_max, tlp_is_retrans=1.0, tlp_time=e.time)


def end_probe(s: Any, e: Any) -> Any:
    """Return the sender after an ACK; a retransmitted probe that was acknowledged shows a loss (RFC 8985, 7.4.2)."""
    if s.tlp_end < 0.0 or s.snd_una < s.tlp_end:
        return s
    if s.tlp_is_retrans == 1.0 and e.time - e.rtt >= s.tlp_time - MIN_ALARM:
        s = reduce_window(s)
    return s._replace(tlp_end=-1.0)
