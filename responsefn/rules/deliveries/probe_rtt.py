"""ProbeRTT of both versions of BBR: few packets in flight for a while, to see the round-trip time without a queue."""

from __future__ import annotations

from typing import Any

__all__ = ["has_ended", "held_down", "window_to_restore"]


def window_to_restore(s: Any) -> Any:
    """Return the window to which a flow that enters ProbeRTT comes back (BBRSaveCwnd), packets."""
    return s.cwnd if s.recovering == 0.0 else max(s.prior_cwnd, s.cwnd)


def held_down(s: Any, q: Any, e: Any, most: Any) -> Any:
    """Return the state within ProbeRTT after an ACK; the time runs from when ``most`` packets or fewer are in flight."""
    s = s._replace(limited_until=e.delivered + e.in_flight)
    if s.probe_rtt_done_stamp > 0.0:
        return s._replace(probe_rtt_round_done=max(s.probe_rtt_round_done, s.round_start))
    if e.in_flight > most:
        return s
    return s._replace(
        probe_rtt_done_stamp=e.time + q.probe_rtt_duration, probe_rtt_round_done=0.0,
        next_round_delivered=e.delivered,
    )  # fmt: skip


def has_ended(s: Any, e: Any) -> Any:
    """Return whether ProbeRTT ends: its duration and a round trip have passed."""
    timed = s.probe_rtt_done_stamp > 0.0 and s.probe_rtt_round_done > 0.0
    return timed and e.time > s.probe_rtt_done_stamp
