"""How senders at the rate of a rule repair losses.

Go-back-N, as reliable connections of RoCE do: the receiver takes packets in order alone. The first one beyond a gap is
answered by an ACK that tells of it, with the last number that came in order; the sender goes back to the one after that.
Selective repair, as in IRN (Mittal et al. 2018): the receiver keeps what comes out of order, and names it in its ACK; the
sender sends again what is missing before it. In both a timer repairs losses where nothing is acknowledged.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..codes import GAP, SELECTIVE
from ..layout import NACK, SACK, int64
from ..tcp.timers import MIN_RTO, NOW, schedule, wake_at
from .selective_repairs import (
    acknowledge_up_to,
    lose_at_timeout,
    next_again,
    receive_nack,
    receive_sack,
)

__all__ = [
    "acknowledge",
    "acknowledge_plainly",
    "expire_rated",
    "has_next",
    "resume",
    "take_next",
    "watch_progress",
]

RTO_LOW, RTO_HIGH, FEW_PACKETS, SINCE = (
    0,
    1,
    2,
    3,
)  # places in ``own`` of a flow with selective repair
NEVER = float("inf")


@inlined
def window_of(senders: Any, f: int) -> float:
    """Return the window of a flow whose rate rule bounds its packets in flight."""
    s = senders.flow[f]
    if s.bound == 1:
        return float(s.ssthresh)
    return float(senders.rule[s.rule].rule_state[s.bound - 2])


@inlined
def has_next(senders: Any, f: int) -> bool:
    """Return whether a flow at the rate of a rule has a packet that may be sent."""
    s = senders.flow[f]
    if s.credits < 1.0:
        return False
    in_flight = float(s.sent - s.snd_una)
    new = s.sent < s.size and not (s.bound > 0 and in_flight >= window_of(senders, f))
    if s.repair != SELECTIVE:
        return bool(new)
    return bool(s.again > 0 or (new and in_flight < s.most))


@inlined
def take_next(senders: Any, f: int) -> int:
    """Return the packet of a flow at the rate of a rule that is sent now: one that is sent again first."""
    s = senders.flow[f]
    number = int64(-1)
    if s.repair == SELECTIVE:
        number = next_again(senders, f)
    if number < 0:
        number = int64(s.sent)
        s.sent += 1
    return number


@compiled
def watch_progress(net: Any, senders: Any, f: int) -> None:
    """Start the timer of a flow, if something is not acknowledged or it waits for credits; stop it otherwise."""
    s = senders.flow[f]
    s.deadline = NEVER
    if s.snd_una < s.snd_max or (s.credits < 1.0 and s.sent < s.size):
        span = senders.clock[MIN_RTO]
        if s.repair == SELECTIVE:
            s.own[SINCE] = senders.clock[NOW]
            span = s.own[RTO_LOW] if is_few(senders, f) else s.own[RTO_HIGH]
        s.deadline = senders.clock[NOW] + span
        schedule(net, senders, f, s.deadline, f)


@inlined
def is_few(senders: Any, f: int) -> bool:
    """Return whether so few packets are in flight that the short timeout holds."""
    s = senders.flow[f]
    return bool(float(s.snd_max - s.snd_una) <= s.own[FEW_PACKETS])


@compiled
def resume(net: Any, senders: Any, f: int) -> None:
    """Schedule the next packet of a flow that had none to send."""
    s = senders.flow[f]
    s.due = max(senders.clock[NOW], s.pace_at + max(s.line_gap, 1.0 / max(s.cwnd, 1e-9)))
    wake_at(net, f, s.due, f)


@compiled
def go_back(senders: Any, f: int, number: int) -> None:
    """Send again from a packet on, but not what is acknowledged."""
    s = senders.flow[f]
    s.sent = max(int64(s.snd_una), min(number, int64(s.sent)))
    s.loss_events += 1


@compiled
def acknowledge(net: Any, senders: Any, f: int, number: int, sack: int, nack: int) -> None:
    """Note that all up to a packet is acknowledged, and one beyond it (-1: none); repair what is missing.

    ``nack`` is a packet that the receiver asks for again, -1 for none.
    """
    s = senders.flow[f]
    if number >= s.snd_una:
        if s.repair == SELECTIVE:
            acknowledge_up_to(senders, f, number + 1)
        else:
            s.snd_una = number + 1
            s.sent = max(s.sent, s.snd_una)
        watch_progress(net, senders, f)
    if sack >= 0:
        receive_sack(senders, f, sack)
    if nack >= 0:
        if s.repair == SELECTIVE:
            receive_nack(senders, f, nack)
        else:
            go_back(senders, f, nack)


@compiled
def acknowledge_plainly(net: Any, senders: Any, f: int, e: int) -> None:
    """Take an ACK of a receiver without an agent, which says whether a packet is missing by itself."""
    s = senders.flow[f]
    if s.repair == 0 and s.bound == 0:
        return
    it = net.packet[e]
    number = int64(it.number)
    sack = int64(-1)
    nack = int64(-1)
    if s.repair == SELECTIVE:
        sack = int64(net.block[e, SACK])
        if it.ecn & GAP != 0:
            nack = int64(net.block[e, NACK])
    elif it.ecn & GAP != 0:
        nack = number + 1
    acknowledge(net, senders, f, number, sack, nack)


@compiled
def expire_rated(net: Any, senders: Any, f: int) -> None:
    """Repair losses where nothing was acknowledged for the retransmission timeout; one packet needs no credit.

    Without repair nothing is taken to be in flight any more: a window is open again. The short timeout of selective repair is extended where more packets are in flight by then.
    """
    s = senders.flow[f]
    if s.repair == SELECTIVE:
        last = s.own[SINCE] + s.own[RTO_HIGH]
        if senders.clock[NOW] < last and not is_few(senders, f):
            s.deadline = last
            schedule(net, senders, f, last, f)
            return
    if s.snd_una == s.snd_max and s.sent >= s.size:  # it waited for credits, and has been stopped
        s.deadline = NEVER
        return
    rests = not has_next(senders, f)
    s.timeouts += 1
    s.credits = max(s.credits, 1.0)
    if s.repair == SELECTIVE:
        lose_at_timeout(senders, f)
    elif s.repair == 0:
        s.snd_una = s.snd_max
    elif s.snd_una < s.snd_max:
        go_back(senders, f, int64(s.snd_una))
    if rests and has_next(senders, f):
        resume(net, senders, f)
    watch_progress(net, senders, f)
