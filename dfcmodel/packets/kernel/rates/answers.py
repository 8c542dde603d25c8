"""What a sender at the rate of a rule does with ACKs, and with the answers of a receiver agent."""

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
    """Let the rule see what an agent acknowledges and marks, take the credits, and repair what is missing."""
    s = senders.flow[f]
    it = net.packet[e]
    told = net.block[e]
    if told[ACKS] > 0 or it.marked == 1:
        now = senders.clock[NOW]
        feed_back(senders, f, now, net.sent_at[e], float(told[ACKS]), float(it.marked))
    s.credits += float(told[CREDITS])
    acknowledge(net, senders, f, int64(it.number), int64(told[SACK]), int64(told[NACK]))


@compiled
def receive_rated(net: Any, senders: Any, f: int, e: int) -> None:
    """Process an ACK at a sender at the rate of a rule, which goes on if it has something to send again."""
    s = senders.flow[f]
    rests = not has_next(senders, f)
    if s.agent >= 0:
        receive_answer(net, senders, f, e)
    else:
        now = senders.clock[NOW]
        if s.reports > 0:
            report_telemetry(net, senders, f, e)
        feed_back(senders, f, now, net.sent_at[e], 1.0, float(net.packet[e].marked))
        acknowledge_plainly(net, senders, f, e)
    if rests and has_next(senders, f):
        resume(net, senders, f)
