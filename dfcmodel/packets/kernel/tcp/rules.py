"""Events of window and rate rules, called by address."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import call_event, inlined

from .timers import NOW

__all__ = ["call_rule"]


@inlined
def call_rule(senders: Any, f: int, event: int, rtt: float, acks: float, marks: float) -> None:
    """Call an event of flow f's compiled rule, which may change its window or rate; numbers as in `call_event`."""
    s = senders.flow[f]
    rule = senders.rule[s.rule]
    rule.cwnd = s.cwnd
    rule.ssthresh = s.ssthresh
    now = senders.clock[NOW] - s.limited_time
    call_event(senders.events[s.kind, event], rule, now, rtt, acks, marks)
    s.cwnd = rule.cwnd
    s.ssthresh = rule.ssthresh
