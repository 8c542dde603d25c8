"""Senders at the rate of a rule, as `dfcmodel.packets.kernel.sources` has them, where nothing is lost."""

from __future__ import annotations

import math
from typing import Any

from .jit import call_event, compiled, inlined
from .layout import DATA, int64
from .timers import set_timer
from .windows import FAULT, LATE, TIMEOUT, take

__all__ = ["create", "receive_ack"]

ON_ACK, ON_TIME = 0, 2
STEPS = 16.0
"""Packet times of the first link after which the clocks of a rule are moved on at the latest."""


@inlined
def gap_of(s: Any) -> float:
    """Return the time between two packets of a flow, s."""
    return float(max(s.gap, 1.0 / max(s.rate, 1e-9)))


@compiled
def call_rule(net: Any, f: int, event: int, now: float, a: float, b: float, c: float) -> None:
    """Let an event of a flow's rule change its rate; the numbers are those of `call_event`."""
    s = net.flow[f]
    rule = net.rule[s.rule]
    rule.cwnd = s.rate
    call_event(net.events[s.kind, event], rule, now, a, b, c)
    s.rate = rule.cwnd


@inlined
def move_clocks(net: Any, f: int, now: float) -> None:
    """Let a rule see the time that has passed, and what was sent in it."""
    s = net.flow[f]
    call_rule(net, f, ON_TIME, now, now - s.clocked, float(s.since), 0.0)
    s.clocked = now
    s.since = 0


@inlined
def is_due(net: Any, p: int, f: int, now: float) -> bool:
    """Return whether a flow with a rule that changes creates a packet now; if not, schedule when it is asked again."""
    s = net.flow[f]
    if now != s.due or s.sent >= s.packets:
        return False
    if s.clocked < 0.0:
        s.clocked = now
    move_clocks(net, f, now)
    if now >= s.paced_at + gap_of(s) and s.waits < 0:
        return True
    if now >= s.paced_at + gap_of(s):
        s.blocked = 1
        s.due = now + STEPS * s.gap
    else:
        s.due = min(s.paced_at + gap_of(s), now + STEPS * s.gap)
    set_timer(net, p, f, s.due)
    return False


@inlined
def create(net: Any, p: int, f: int, now: float) -> int:
    """Return the packet that a flow creates now; -1: none."""
    s = net.flow[f]
    if s.rule >= 0 and not is_due(net, p, f, now):
        return -1
    e = take(net)
    it = net.packet[e]
    it.time = now
    it.kind = DATA
    it.marked = 0
    it.flow = f
    it.hop = s.way
    it.number = s.sent
    s.sent += 1
    s.paced_at = now
    if s.repairs == 1 and s.deadline == math.inf:
        s.deadline = now + net.clock[TIMEOUT]
    s.due = now + gap_of(s)
    if s.rule >= 0:
        s.since += 1
        s.due = min(s.due, now + STEPS * s.gap)
        if s.sent < s.packets:
            set_timer(net, p, f, s.due)
    return e


@inlined
def receive_ack(net: Any, p: int, e: int, now: float) -> None:
    """Take an ACK: the timer of the flow begins again, and its rule sees a round-trip time and the mark."""
    it = net.packet[e]
    f = int64(it.flow)
    s = net.flow[f]
    if s.rule >= 0:
        s.rtt = now - net.sent_at[e]
        call_rule(net, f, ON_ACK, now, s.rtt, 1.0, float(it.marked))
        move_clocks(net, f, now)
    if s.repairs == 1:
        if now > s.deadline:
            net.counters[FAULT] = LATE
        s.snd_una = it.number + 1
        s.deadline = now + net.clock[TIMEOUT] if s.snd_una < s.sent else math.inf
