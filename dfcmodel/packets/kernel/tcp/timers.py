"""The retransmission timer: RFC 6298, or in ns-2's clock ticks."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..calendar_queue import push, take
from ..codes import WAKE
from ..layout import CLASSES, CLOCK
from .ns2 import is_ns2, measure_ticks, restart_estimate
from .tcp_constants import MAX_BACKOFF, MAX_RTO, RTO_DEVIATIONS, RTTVAR_GAIN, SRTT_GAIN

__all__ = ["back_off", "rto_with_backoff", "schedule", "set_timer", "update_rtt_estimate", "wake_at"]

NOW, END, CHECK, WINDOW = map(CLOCK.index, ("now", "end", "check", "window"))
MIN_RTO, MIN_BACKED_OFF = map(CLOCK.index, ("min_rto", "min_backed_off"))
JITTER, ACK_DELAY = map(CLOCK.index, ("jitter", "ack_delay"))
SAMPLE_ROW, SAMPLE_START, SAMPLE_END = map(CLOCK.index, ("sample_row", "sample_start", "sample_end"))


@inlined
def rto_with_backoff(senders: Any, f: int) -> float:
    """Return flow f's retransmission timeout, s, with backoff: from the minimum to 60 s (RFC 6298, 2.4, 2.5, 5.5)."""
    s = senders.flow[f]
    span = min(max(s.current, senders.clock[MIN_RTO]) * s.backoff, MAX_RTO)
    return max(span, senders.clock[MIN_BACKED_OFF])


@inlined
def update_rtt_estimate(senders: Any, f: int) -> None:
    """Update flow f's RTT estimate with the time since its timed packet was sent (RFC 6298, 2 and 4).

    Linux bounds the term of the variation, not the sum (``tcp_rtt_estimator``, net/ipv4/tcp_input.c).
    """
    s = senders.flow[f]
    now = senders.clock[NOW]
    rtt = now - s.timed_at
    if is_ns2(senders):
        measure_ticks(senders, f, now, rtt)
        return
    if s.srtt == 0.0:
        s.srtt = rtt  # RFC 6298, 2.2
        s.variance = 0.5 * rtt
    else:
        s.variance += RTTVAR_GAIN * (abs(rtt - s.srtt) - s.variance)  # 2.3
        s.srtt += SRTT_GAIN * (rtt - s.srtt)
    variation = RTO_DEVIATIONS * s.variance
    if s.linux_timer == 1:
        variation = max(variation, senders.clock[MIN_RTO])
    s.current = s.srtt + variation


@inlined
def back_off(senders: Any, f: int) -> None:
    """Double flow f's timeout, up to the maximum (RFC 6298, 5.5)."""
    s = senders.flow[f]
    if s.backoff < MAX_BACKOFF or rto_with_backoff(senders, f) < MAX_RTO:
        s.backoff *= 2.0
    restart_estimate(senders, f)


@inlined
def wake_at(net: Any, f: int, time: float, endpoint: int) -> None:
    """Insert a timer event of flow f at a time, s; ``endpoint``: f for its sender, F + f for its receiver."""
    e = take(net)
    net.packet[e].number = WAKE
    net.packet[e].hop = 0  # an ACK of no packet has the same number, but a hop
    net.packet[e].flow = f
    push(net, e, net.home[endpoint], time, CLASSES * (len(net.port) - 1) + endpoint)


@inlined
def schedule(net: Any, senders: Any, f: int, time: float, endpoint: int) -> None:
    """Insert flow f's timer event, as `wake_at`, if it is in this window; otherwise only lower clock[CHECK] to it."""
    clock = senders.clock
    if time < clock[END]:
        wake_at(net, f, time, endpoint)
    elif time < clock[CHECK]:
        clock[CHECK] = time


@inlined
def set_timer(net: Any, senders: Any, f: int) -> None:
    """Restart flow f's retransmission timer from now on (RFC 6298, 5.1 and 5.3)."""
    deadline = senders.clock[NOW] + rto_with_backoff(senders, f)
    senders.flow[f].deadline = deadline
    schedule(net, senders, f, deadline, f)
