"""ProbeRTT of both versions of BBR: few packets in flight, to measure the round-trip time without a queue."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.tcp_constants import INITIAL_WINDOW

__all__ = ["BBRState", "has_ended", "hold_probe_rtt", "window_to_restore"]


class BBRState(NamedTuple):
    """Window in packets, pacing in packets/s, and the variables of both versions.

    The variables have the drafts' names. Times are in s.
    """

    cwnd: float = INITIAL_WINDOW
    ssthresh: float = math.inf
    pacing_rate: float = 0.0
    mode: float = 0.0
    min_rtt: float = math.inf
    min_rtt_stamp: float = 0.0
    probe_rtt_done_stamp: float = 0.0
    probe_rtt_round_done: float = 0.0
    prior_cwnd: float = 0.0
    next_round_delivered: float = 0.0
    round_count: float = 0.0
    round_start: float = 0.0
    full_bw: float = 0.0
    full_bw_count: float = 0.0
    cycle_stamp: float = 0.0
    limited_until: float = -1.0
    recovering: float = 0.0
    extra_acked_start: float = 0.0
    extra_acked_delivered: float = 0.0
    extra_acked_now: float = 0.0
    extra_acked_before: float = 0.0


def window_to_restore(s: Any) -> Any:
    """Return the window after ProbeRTT for a flow that enters it (BBRSaveCwnd), packets."""
    return s.cwnd if s.recovering == 0.0 else max(s.prior_cwnd, s.cwnd)


def hold_probe_rtt(s: Any, q: Any, e: Any, max_packets: Any) -> Any:
    """Return the state within ProbeRTT after an ACK; its time starts when at most ``max_packets`` are in flight."""
    s = s._replace(limited_until=e.delivered + e.in_flight)
    if s.probe_rtt_done_stamp > 0.0:
        return s._replace(probe_rtt_round_done=max(s.probe_rtt_round_done, s.round_start))
    if e.in_flight > max_packets:
        return s
    return s._replace(
        probe_rtt_done_stamp=e.time + q.probe_rtt_duration, probe_rtt_round_done=0.0, next_round_delivered=e.delivered
    )


def has_ended(s: Any, e: Any) -> Any:
    """Return whether ProbeRTT ends: its duration and a round trip have passed."""
    timed = s.probe_rtt_done_stamp > 0.0 and s.probe_rtt_round_done > 0.0
    return timed and e.time > s.probe_rtt_done_stamp
