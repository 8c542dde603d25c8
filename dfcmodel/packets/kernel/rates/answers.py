"""Processing of ACKs, and of answers of receiver agents, by senders at the rate of a rule."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import ACKS, CREDITS, NACK, SACK, int64
from ..tcp.timers import NOW
from .repairs import acknowledge, acknowledge_plainly, has_next, resume
from .sources import feed_back
from .telemetry import report_telemetry

__all__ = ["receive_rated"]


@compiled
def receive_answer(net: Any, senders: Any, f: int, e: int) -> None:
    """Process answer e of a receiver agent at flow f: call the rule for ACKs or a mark, add credits, list losses."""
    s = senders.flow[f]
    it = net.packet[e]
    answer = net.block[e]
    if answer[ACKS] > 0 or it.marked == 1:
        now = senders.clock[NOW]
        feed_back(senders, f, now, net.sent_at[e], float(answer[ACKS]), float(it.marked))
    s.credits += float(answer[CREDITS])
    acknowledge(net, senders, f, int64(it.number), int64(answer[SACK]), int64(answer[NACK]))


@compiled
def receive_rated(net: Any, senders: Any, f: int, e: int) -> None:
    """Process ACK e at flow f, which sends at the rate of a rule; schedule a packet if it had none and now has."""
    s = senders.flow[f]
    was_idle = not has_next(senders, f)
    if s.agent >= 0:
        receive_answer(net, senders, f, e)
    else:
        now = senders.clock[NOW]
        if s.reports > 0:
            report_telemetry(net, senders, f, e)
        feed_back(senders, f, now, net.sent_at[e], 1.0, float(net.packet[e].marked))
        acknowledge_plainly(net, senders, f, e)
    if was_idle and has_next(senders, f):
        resume(net, senders, f)
