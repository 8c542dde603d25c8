"""The retransmission timer of a sender: round-trip times, the timeout, and its expiration.

RFC 6298, without clock granularity. One packet is timed at a time, never a retransmitted one (Karn's algorithm).
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import call_event, compiled, inlined

from ..quantum import TINY
from ..records import ON_TIMEOUT
from .tcp_constants import MAX_BACKOFF, RTO_DEVIATIONS, RTTVAR_GAIN, SRTT_GAIN

__all__ = ["expire_timer", "restart_timer", "sample_rtt", "sample_timed_packet"]


@compiled
def sample_rtt(flow: Any, sample: float, min_rto: float) -> None:
    """Update SRTT, RTTVAR, RTO, at least ``min_rto``, by ``sample``, s (RFC 6298, 2); reset backoff, end the timing.

    In Linux ``min_rto`` bounds the term of the variation, not the sum (``tcp_rtt_estimator``, net/ipv4/tcp_input.c).
    """
    if flow.srtt == 0.0:  # 2.2: the first sample
        flow.srtt = sample
        flow.rttvar = 0.5 * sample
    else:  # 2.3
        flow.rttvar += RTTVAR_GAIN * (abs(sample - flow.srtt) - flow.rttvar)
        flow.srtt += SRTT_GAIN * (sample - flow.srtt)
    flow.backoff = 1.0
    flow.timed_seq = -1.0
    variation = RTO_DEVIATIONS * flow.rttvar
    if flow.linux_timer == 1:
        variation = max(variation, min_rto)
    flow.rto = max(min_rto, flow.srtt + variation)  # 2.4


@inlined
def sample_timed_packet(flow: Any, acked: float, step: Any) -> None:
    """Update the RTT estimate if ``acked`` covers the flow's timed packet (Karn); call before snd_una is set to it.

    The ACKs of a step are spread evenly over it.
    """
    if flow.timed_seq >= 0.0 and acked > flow.timed_seq + TINY:
        part = max(0.0, flow.timed_seq - flow.snd_una) / (acked - flow.snd_una)
        sample_rtt(flow, step.now + part * step.h - flow.timed_at, step.min_rto)


@inlined
def restart_timer(flow: Any, now: float) -> None:
    """Restart the retransmission timer at ``now``, s, with RTO and backoff (RFC 6298, 5.1 and 5.3)."""
    flow.deadline = now + flow.backoff * flow.rto


@compiled
def expire_timer(flow: Any, rule_events: Any, now: float) -> None:
    """Process a flow's retransmission timeout: set its window by the rule, and go back to snd_una (RFC 6298, 5.4-5.6).

    ``rule_events``: addresses of the functions of the rules, of which `on_timeout` sets the window.
    """
    flow.cwnd = min(flow.cwnd, flow.max_window)
    call_event(rule_events[flow.rule, ON_TIMEOUT], flow, now, flow.rtt, 0.0, 0.0)  # RFC 5681, 3.1
    flow.timeouts += 1
    flow.recover = flow.snd_max  # RFC 6582, 3.2, step 4: a recovery ends here
    flow.snd_nxt = flow.snd_una  # RFC 6298, 5.4
    flow.in_recovery = 0
    flow.inflation = 0.0
    flow.partial_ack_seen = 0
    flow.dup_acks = 0.0
    flow.timed_seq = -1.0
    flow.backoff = min(MAX_BACKOFF, 2.0 * flow.backoff)  # RFC 6298, 5.5
    restart_timer(flow, now)  # RFC 6298, 5.6
