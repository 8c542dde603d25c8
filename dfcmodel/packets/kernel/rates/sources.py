"""Scheduled actions of senders: starts, delayed packets, timeouts, and sources without a window."""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import OUT
from ..layout import BLIND, NATIVE, ON_ACK, ON_TIMEOUT, RATED, int64
from ..random_numbers import uniform
from ..tcp.arrivals import CALLED, COMPLETE, GROWING, add_data, arrive
from ..tcp.late_packets import process_alarm
from ..tcp.native_rules import on_native_timer
from ..tcp.receivers import start_followers
from ..tcp.rules import call_rule
from ..tcp.senders import expire, send
from ..tcp.timers import CHECK, END, NOW, wake_at
from .repairs import expire_rated, has_next, take_next, watch_progress

__all__ = [
    "draw_period",
    "end_source",
    "feed_back",
    "move_clocks",
    "on_timer",
    "schedule_due_timers",
    "send_by_rate",
    "send_without_control",
    "start_idle_period",
]

CLOCK_INTERVAL = 16.0
CONSTANT, REGULAR, RANDOM = 0, 1, 2  # and the kinds of `arrivals`
AT_THE_END = 1e-6
"""Part of a packet time before the end of an on period in which no packet is sent: due times are rounded sums."""
ENDLESS = 2**31 - 2  # maximum number of packets of a flow


@inlined
def draw_period(net: Any, senders: Any, f: int, mean: float) -> float:
    """Return the length of an on, off or idle period of flow f, s: ``mean``, or exponential with this mean."""
    if senders.flow[f].onoff == REGULAR:
        return mean
    return -mean * math.log(1.0 - uniform(net.stream, len(net.port) - 1 + f))


@inlined
def send_without_control(net: Any, senders: Any, f: int) -> None:
    """Send the due packet of flow f, a source without congestion control, and schedule the next one."""
    counters = net.counters
    s = senders.flow[f]
    now = senders.clock[NOW]
    if s.due < 0.0:
        s.due = now
        if s.onoff != CONSTANT:
            s.off_at = now + draw_period(net, senders, f, s.on)
    if now != s.due or s.sent >= s.size:
        return
    senders.out[counters[OUT], 0] = s.sent
    senders.out[counters[OUT], 1] = 0
    counters[OUT] += 1
    s.sent += 1
    if s.sent >= s.size:
        return
    s.due += s.gap
    while s.due >= s.off_at - AT_THE_END * s.gap:
        s.due = max(s.due, s.off_at + draw_period(net, senders, f, s.off))
        s.off_at = s.due + draw_period(net, senders, f, s.on)
    wake_at(net, f, s.due, f)


@compiled
def move_clocks(senders: Any, f: int, now: float) -> None:
    """Call the time event of flow f's rate rule, with the time and packets sent since the last such event."""
    s = senders.flow[f]
    step = now - s.clocked
    call_rule(senders, f, ON_TIMEOUT, step, float(s.since), 0.0)
    s.clocked = now
    s.since = 0


@compiled
def feed_back(senders: Any, f: int, now: float, sent: float, acks: float, marked: float) -> None:
    """Call flow f's rate rule for ``acks`` packets, ``marked`` with a mark, sent at ``sent``, then its time event."""
    s = senders.flow[f]
    s.rtt = now - sent
    call_rule(senders, f, ON_ACK, s.rtt, acks, marked)
    move_clocks(senders, f, now)


@compiled
def send_by_rate(net: Any, senders: Any, f: int) -> bool:
    """Send a packet of rate sender f if it is due; return whether to wake the flow again, at its ``due``.

    The clock event of the rule is called at each event of the flow, at least every `CLOCK_INTERVAL` packet times of its
    first link. The flow sends nothing while its last packet waits at the interface of its host.
    """
    counters = net.counters
    s = senders.flow[f]
    now = senders.clock[NOW]
    if s.due < 0.0:
        s.due = now
        s.clocked = now
    if now != s.due or not has_next(senders, f):
        return False
    move_clocks(senders, f, now)
    gap = max(s.line_gap, 1.0 / max(s.cwnd, 1e-9))
    if now >= s.pace_at + gap:
        if s.lane >= 0 and net.lane[s.lane].count > 0:
            s.blocked = 1
            s.due = now + CLOCK_INTERVAL * s.line_gap
            return True
        senders.out[counters[OUT], 0] = take_next(senders, f)
        senders.out[counters[OUT], 1] = 0
        counters[OUT] += 1
        s.credits -= 1.0
        s.since += 1
        s.pace_at = now
        if s.repair > 0 or s.bound > 0:
            idle = s.snd_una == s.snd_max
            s.snd_max = max(s.snd_max, s.sent)
            if idle or s.deadline == math.inf:
                watch_progress(net, senders, f)
    s.due = min(s.pace_at + gap, now + CLOCK_INTERVAL * s.line_gap)
    return has_next(senders, f)


@inlined
def start_idle_period(net: Any, senders: Any, f: int) -> None:
    """Schedule window sender f's next transfer after an idle period, if all data of the last one are acknowledged."""
    s = senders.flow[f]
    if s.snd_una == s.size and s.due < 0.0:
        s.due = senders.clock[NOW] + draw_period(net, senders, f, s.off)
        wake_at(net, f, s.due, f)


@compiled
def end_source(net: Any, senders: Any, f: int) -> None:
    """Stop flow f: it sends no new data; with loss repair it still retransmits; complete it if all has arrived."""
    s = senders.flow[f]
    sent = s.sent
    if s.recovery >= 0:
        sent = s.snd_max
        s.onoff = CONSTANT  # no further transfer
        if s.supply == GROWING:
            s.supply, s.due = COMPLETE, math.inf
    elif s.repair > 0:
        sent = s.snd_max
    if sent < s.size:
        s.size = sent
        s.cut_at = senders.clock[NOW]
    if s.total >= s.size and not s.finished >= 0.0:
        # packets may have passed ports up to the end of the window already, and be delivered after the stop
        s.finished = max(senders.clock[NOW], s.came_at)
        start_followers(net, senders, f, s.finished)


@inlined
def on_timer(net: Any, senders: Any, f: int) -> None:
    """Process all events of sender f that are due now: start, next transfer, delayed packet, alarm, timeout."""
    s = senders.flow[f]
    if s.recovery == BLIND:
        if s.onoff >= CALLED:
            arrive(net, senders, f)
        else:
            send_without_control(net, senders, f)
        return
    if s.recovery == RATED:
        if s.deadline == senders.clock[NOW]:
            expire_rated(net, senders, f)
        if send_by_rate(net, senders, f):
            wake_at(net, f, s.due, f)
        return
    now = senders.clock[NOW]
    held = s.held_until == now
    sending = held or s.due == now
    if s.supply == GROWING and s.due == now:
        add_data(net, senders, f)
    if held:
        s.held_until = math.inf
    elif sending and s.supply == 0:
        s.due = -1.0
        if s.onoff != CONSTANT and s.snd_una == s.size:
            s.size = min(s.size + int(s.on), ENDLESS)
    if s.listed == NATIVE and on_native_timer(net, senders, f):
        sending = True
    for turn in range(3):
        if turn == 1:
            if s.alarm != now:
                continue
            held = False
            sending = process_alarm(net, senders, f)
        elif turn == 2:
            if s.deadline != now:
                return
            held = False
            sending = expire(net, senders, f)
        if sending:
            send(net, senders, f, 0, held)


@inlined
def schedule_due_timers(net: Any, senders: Any, now: float) -> None:
    """Schedule the timers that expire up to the end of this window; set CHECK to the earliest time after it."""
    flow = senders.flow
    end = senders.clock[END]
    next_deadline = math.inf
    for k in range(len(senders.begun)):
        f = int64(senders.begun[k])
        for timer in range(3):
            agent = timer & 1
            deadline = flow[f].deadline if timer == 0 else flow[f].ack_due
            if timer == 2:
                deadline = flow[f].alarm
            if deadline < end:
                if deadline >= now:
                    wake_at(net, f, deadline, f + agent * len(flow))
            elif deadline < next_deadline:
                next_deadline = deadline
    senders.clock[CHECK] = next_deadline
