"""User-defined receiver agents, called by address: their answers to packets and to timers.

All events of an agent are in one calendar queue, so that its flows share its state in order of time.
The fields of an answer that a packet does not have are in its row of ``block``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.kernels.marks import call_agent, compiled

from ..calendar_queue import FAULT, OUT, WRONG, release, take
from ..codes import SELECTIVE
from ..layout import ACKS, CLASSES, CREDITS, DUE, NACK, OF_RATE, SACK, int64
from .timers import NOW, schedule

__all__ = ["ON_PACKET", "ON_TIMER", "answer_packet", "expire_agent"]

ON_PACKET, ON_TIMER = 0, 1  # columns of the addresses of an agent
ANSWER = 5  # number of answer fields, which precede the remembered state
LARGEST_NUMBER = 2147483646.0


class Arrival(NamedTuple):
    """A packet that a receiver agent gets: number, mark, trimmed or not; number -1: its timer has expired."""

    number: int
    marked: int
    trimmed: int  # 1: only the header of the packet arrived


@compiled
def is_integer(value: float, minimum: float, maximum: float) -> bool:
    """Return whether a floating-point value is whole and in [minimum, maximum]."""
    return minimum <= value <= maximum and value == math.floor(value)


@compiled
def apply_agent(net: Any, senders: Any, f: int, arrival: Any, event: int) -> bool:
    """Call flow f's agent for ON_PACKET or ON_TIMER, set its timer; return whether it answers. Invalid: run stops."""
    s = senders.flow[f]
    w = senders.agent[s.agent]
    now = senders.clock[NOW]
    for k in range(w.of_flow):
        w.state[w.first_of_flow - ANSWER + k] = senders.agent_state[f, k]
    w.ack = 0.0
    w.nack = -1.0
    w.mark = 0.0
    w.credits = 0.0
    w.timer = s.ack_due
    w.seen[0] = now
    w.seen[1] = float(f)
    w.seen[2] = float(arrival.number)
    w.seen[3] = float(s.came)
    w.seen[4] = float(arrival.marked)
    w.seen[5] = senders.agent_sizes[f]
    w.seen[6] = s.total
    w.seen[7] = s.timed_at
    w.seen[8] = net.times[int64(net.hop[s.turn - 1].port) * CLASSES].transmission
    w.seen[9] = float(arrival.trimmed)
    call_agent(senders.agents[w.kind, event], w)
    for k in range(w.of_flow):
        senders.agent_state[f, k] = w.state[w.first_of_flow - ANSWER + k]
    is_valid = is_integer(w.ack, 0.0, LARGEST_NUMBER) and is_integer(w.nack, -1.0, LARGEST_NUMBER)
    is_valid = is_valid and is_integer(w.mark, 0.0, 1.0) and is_integer(w.credits, 0.0, LARGEST_NUMBER)
    is_valid = is_valid and (w.timer > now or (w.timer == now and event == ON_PACKET))
    if not is_valid:
        if net.counters[WRONG] == 0:
            values = (w.ack, w.nack, w.mark, w.credits, w.timer, now, float(event))
            for k in range(len(values)):
                senders.exchange[k] = values[k]
            net.counters[WRONG] = f + 1
        net.counters[FAULT] = 1
        return False
    if w.timer != s.ack_due:
        s.ack_due = w.timer
        if s.ack_due < math.inf:
            schedule(net, senders, f, s.ack_due, len(senders.flow) + f)
    return bool(w.ack > 0.0 or w.nack >= 0.0 or w.mark == 1.0 or w.credits > 0.0)


@compiled
def write_answer(net: Any, senders: Any, f: int, e: int, sack: int) -> None:
    """Write the last answer of flow f's agent, and SACK ``sack`` (-1: none), into row e of ``packet``, now the ACK."""
    s = senders.flow[f]
    w = senders.agent[s.agent]
    it = net.packet[e]
    it.number = s.came - 1
    it.size = OF_RATE
    it.ecn = 0
    it.marked = 1 if w.mark == 1.0 else 0
    answer = net.block[e]
    answer[SACK] = sack
    answer[NACK] = int64(w.nack)
    answer[CREDITS] = int64(w.credits)
    answer[ACKS] = int64(w.ack)


@compiled
def answer_packet(net: Any, senders: Any, f: int, e: int, trimmed: int) -> bool:
    """Call flow f's agent for packet e (``trimmed`` 1: a header); return True: e is its answer now, False: e is freed.

    ``trimmed`` is 1 if only the header of the packet arrived.
    """
    s = senders.flow[f]
    it = net.packet[e]
    number = int64(it.number)
    s.timed_at = net.sent_at[e]
    if not apply_agent(net, senders, f, Arrival(number, int64(it.marked), trimmed), ON_PACKET):
        release(net, e)
        return False
    out_of_order = s.repair == SELECTIVE and number >= s.came and trimmed == 0
    write_answer(net, senders, f, e, number if out_of_order else -1)
    return True


@compiled
def expire_agent(net: Any, senders: Any, f: int) -> None:
    """Call flow f's agent as its timer expires, and add its answer, if any, to ``out``."""
    s = senders.flow[f]
    s.ack_due = math.inf
    if not apply_agent(net, senders, f, Arrival(-1, 0, 0), ON_TIMER):
        return
    e = take(net)
    net.packet[e].flow = f
    net.packet[e].hop = s.turn
    net.sent_at[e] = s.timed_at
    write_answer(net, senders, f, e, -1)
    senders.out[0, 0] = -1 - e
    senders.out[0, 1] = DUE
    net.counters[OUT] = 1
