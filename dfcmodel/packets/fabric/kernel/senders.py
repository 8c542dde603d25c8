"""Senders at the rate of a rule, as in `dfcmodel.packets.kernel.rates.sources`, without losses."""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_event, compiled, inlined

from .layout import int64
from .timers import set_timer
from .windows import FAULT, LATE, TIMEOUT

__all__ = ["catch_up", "create", "leave", "receive_ack"]

ON_ACK, ON_TIME = 0, 2
CLOCK_INTERVAL = 16.0
"""Maximum interval between clock events of a rule, in packet times of the first link."""


@inlined
def gap_of(net: Any, f: int) -> float:
    """Return the time, s, between two packets of flow f, which has a rule, at the lower of its rate and line rate."""
    return float(max(net.flow[f].gap, 1.0 / max(net.rate[net.flow[f].rule].rate, 1e-9)))


@compiled
def call_rule(net: Any, k: int, event: int, *numbers: float) -> None:
    """Call an event of rule k, which may change its rate; the numbers are the arguments of `call_event`."""
    s, rule = net.rate[k], net.rule[k]
    rule.cwnd = s.rate
    call_event(net.events[s.kind, event], rule, *numbers)
    s.rate = rule.cwnd


@inlined
def call_clock_event(net: Any, k: int, now: float) -> None:
    """Call the time event of rule k with the time, and the packets created, since the last such event."""
    s = net.rate[k]
    call_rule(net, k, ON_TIME, now, now - s.clocked, float(s.since), 0.0)
    s.clocked = now
    s.since = 0


@inlined
def is_due(net: Any, f: int, now: float) -> bool:
    """Call flow f's rule for the elapsed time; set ``due``, the next check; return whether a packet is permitted."""
    flow = net.flow[f]
    k = int64(flow.rule)
    s = net.rate[k]
    if s.idle == 0:
        call_clock_event(net, k, now)
    earliest = s.paced_at + gap_of(net, f)
    flow.due = now + CLOCK_INTERVAL * flow.gap
    if now >= earliest:
        return True
    flow.due = min(earliest, flow.due)
    return False


@compiled
def catch_up(net: Any, f: int, until: float) -> None:
    """Call the time events of flow f that were due before ``until``, while its packet is in the interface.

    Such a flow creates no packet, so that it needs no timers: it catches up when its packet leaves, an ACK arrives or a
    sample ends. With N flows at an interface a packet waits for N packet times, which would be
    N / `CLOCK_INTERVAL` timers per packet.
    """
    flow = net.flow[f]
    if flow.waits == 0 or flow.sent >= flow.packets:
        return
    while flow.due < until:
        if is_due(net, f, flow.due):
            net.rate[flow.rule].blocked = 1


@compiled
def leave(net: Any, p: int, f: int, now: float) -> None:
    """Process the departure of flow f's packet, under a rule, from interface p; set the timer of the next one."""
    flow = net.flow[f]
    s = net.rate[flow.rule]
    catch_up(net, f, now)
    flow.waits = 0
    if flow.sent >= flow.packets:
        return
    if s.blocked == 1:
        s.blocked = 0
        flow.due = now
    set_timer(net, p, f, flow.due)


@compiled
def permit_by_rule(net: Any, p: int, f: int, now: float) -> bool:
    """Return whether flow f's rule permits a packet now, and book it; otherwise set f's timer at interface p."""
    flow = net.flow[f]
    s = net.rate[flow.rule]
    if s.clocked < 0.0:
        s.clocked = now
    if not is_due(net, f, now):
        set_timer(net, p, f, flow.due)
        return False
    s.paced_at = now
    s.since += 1
    flow.due = min(now + gap_of(net, f), flow.due)
    return True


@inlined
def create(net: Any, p: int, f: int, now: float) -> bool:
    """Count a packet that flow f creates now; return False, with its timer set, if its rule permits none yet."""
    s = net.flow[f]
    if s.rule < 0:
        s.due = now + s.gap
    elif not permit_by_rule(net, p, f, now):
        return False
    s.sent += 1
    if s.deadline == math.inf:
        s.deadline = now + net.clock[TIMEOUT]
    return True


@inlined
def receive_ack(net: Any, e: int, now: float) -> None:
    """Process ACK e at its sender: restart the retransmission timer, and call the rule with RTT and mark."""
    it = net.packet[e]
    s = net.flow[it.flow]
    k = int64(s.rule)
    if k >= 0 and (it.marked == 1 or net.rate[k].idle == 0):
        catch_up(net, int64(it.flow), now)
        net.rate[k].idle = 0
        call_rule(net, k, ON_ACK, now, now - net.sent_at[e], 1.0, float(it.marked))
        call_clock_event(net, k, now)
    if s.deadline == s.deadline:  # not nan: the sender repairs losses
        if now > s.deadline:
            net.counters[FAULT] = LATE
        s.snd_una += 1  # ACKs arrive in order
        s.deadline = now + net.clock[TIMEOUT] if s.snd_una < s.sent else math.inf
