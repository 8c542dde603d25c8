"""The retransmission timer: RFC 6298, or in ns-2's clock ticks."""

from __future__ import annotations

from typing import Any

from .calendar_queue import push, take
from .jit import inlined
from .layout import CLASSES

__all__ = ["STOP", "back_off", "measure", "schedule", "set_timer", "timeout_span", "wake_at"]

WAKE = -1  # number of a timer event
STOP = -9  # and of the event at which a flow sends no new packets any more
NOW, END, CHECK = 0, 1, 2  # indices in `clock`: event time, end of window, next timer check
NS2, LEAST, JITTER = 3, 4, 5  # convention, minimum timeout, upper end of the random packet delay
ACK_DELAY = 6  # longest delay of an ACK
WINDOW = 7  # where the next window begins
TICK = 0.01
MOST_TIMER = 60.0


@inlined
def timeout_span(senders: Any, f: int) -> float:
    """Return the retransmission timeout, s."""
    s = senders.flow[f]
    span = min(max(s.current, senders.clock[LEAST]) * s.backoff, MOST_TIMER)
    return max(span, 2.0 * TICK if senders.clock[NS2] == 1.0 else 0.0)


@inlined
def measure(senders: Any, f: int) -> None:
    """Update the RTT estimate with the round-trip time of the timed packet."""
    s = senders.flow[f]
    now = senders.clock[NOW]
    rtt = now - s.timed_at
    if senders.clock[NS2] == 1.0:
        off = (now - rtt + s.phase) % TICK
        ticks = max(1, int((rtt + off) / TICK))
        srtt = int(s.srtt)
        variance = int(s.variance)
        if srtt != 0:
            delta = ticks - (srtt >> 3)
            srtt = max(1, srtt + delta)
            variance = max(1, variance + abs(delta) - (variance >> 2))
        else:
            srtt = ticks << 3
            variance = ticks << 1
        s.srtt = float(srtt)
        s.variance = float(variance)
        s.current = float((variance * 8 + srtt) >> 3) * TICK
    else:
        if s.srtt == 0.0:
            s.srtt = rtt
            s.variance = 0.5 * rtt
        else:
            s.variance += 0.25 * (abs(rtt - s.srtt) - s.variance)
            s.srtt += 0.125 * (rtt - s.srtt)
        s.current = s.srtt + 4.0 * s.variance


@inlined
def back_off(senders: Any, f: int) -> None:
    """Double the timeout."""
    s = senders.flow[f]
    if s.backoff < 64.0 or timeout_span(senders, f) < MOST_TIMER:
        s.backoff *= 2.0
    if senders.clock[NS2] == 1.0 and s.backoff > 8.0:
        s.variance += float(int(s.srtt) >> 3)
        s.srtt = 0.0


@inlined
def wake_at(net: Any, f: int, time: float, agent: int) -> None:
    """Schedule a timer event of flow f: ``agent`` is f for its sender, F + f for its receiver."""
    e = take(net)
    net.packet[e].number = WAKE
    net.packet[e].hop = 0  # an ACK of nothing has this number, too, and a hop
    net.packet[e].flow = f
    ports = len(net.port) - 1
    push(net, e, ports, time, CLASSES * ports + agent)


@inlined
def schedule(net: Any, senders: Any, f: int, time: float, agent: int) -> None:
    """Schedule a timer event if it is in this window; otherwise `schedule_due_timers` finds it."""
    clock = senders.clock
    if time < clock[END]:
        wake_at(net, f, time, agent)
    elif time < clock[CHECK]:
        clock[CHECK] = time


@inlined
def set_timer(net: Any, senders: Any, f: int) -> None:
    """Restart the retransmission timer."""
    deadline = senders.clock[NOW] + timeout_span(senders, f)
    senders.flow[f].deadline = deadline
    schedule(net, senders, f, deadline, f)
