"""What a sender at the rate of a rule does with the answers of a receiver agent."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .layout import ACKS, CREDITS, NACK, SACK, int64
from .repairs import acknowledge, has_next, resume
from .sources import feed_back
from .timers import NOW

__all__ = ["receive_answer"]


@compiled
def receive_answer(net: Any, senders: Any, f: int, e: int) -> None:
    """Let the rule see what is acknowledged and marked, take the credits, and repair what is missing."""
    s = senders.flow[f]
    it = net.packet[e]
    told = net.block[e]
    if told[ACKS] > 0 or it.marked == 1:
        now = senders.clock[NOW]
        feed_back(senders, f, now, net.sent_at[e], float(told[ACKS]), float(it.marked))
    rests = not has_next(senders, f)
    s.credits += float(told[CREDITS])
    if rests and has_next(senders, f):
        resume(net, senders, f)
    acknowledge(net, senders, f, int64(it.number), int64(told[SACK]), int64(told[NACK]))
