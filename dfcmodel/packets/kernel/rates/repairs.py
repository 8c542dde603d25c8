"""Loss repair of senders at the rate of a rule.

Go-back-N, as in reliable connections of RoCE: the receiver accepts only packets in order. The ACK of the first packet
beyond a gap has a flag, and the last number received in order; the sender continues from the next number.
Selective repair, as in IRN (Mittal et al. 2018): the receiver keeps packets out of order, and its ACK contains their
number; the sender retransmits the missing packets before them. In both a timer repairs losses without ACKs.
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
    next_retransmission,
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
)  # indices in ``own`` of a flow with selective repair
NEVER = float("inf")


@inlined
def window_of(senders: Any, f: int) -> float:
    """Return the limit, packets, of the packets in flight of flow f, whose rate rule must set one (``bound`` > 0)."""
    s = senders.flow[f]
    if s.bound == 1:
        return float(s.ssthresh)
    return float(senders.rule[s.rule].rule_state[s.bound - 2])


@inlined
def has_next(senders: Any, f: int) -> bool:
    """Return whether flow f, at the rate of a rule, has a packet that credits and window permit; ignores the rate."""
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
    """Return the number of the packet that flow f sends now, a retransmission first; only if `has_next` is true."""
    s = senders.flow[f]
    number = int64(-1)
    if s.repair == SELECTIVE:
        number = next_retransmission(senders, f)
    if number < 0:
        number = int64(s.sent)
        s.sent += 1
    return number


@compiled
def watch_progress(net: Any, senders: Any, f: int) -> None:
    """Restart the retransmission timer of flow f if packets are unacknowledged or it lacks credits; else stop it."""
    s = senders.flow[f]
    s.deadline = NEVER
    if s.snd_una < s.snd_max or (s.credits < 1.0 and s.sent < s.size):
        span = senders.clock[MIN_RTO]
        if s.repair == SELECTIVE:
            s.own[SINCE] = senders.clock[NOW]
            span = s.own[RTO_LOW] if has_short_timeout(senders, f) else s.own[RTO_HIGH]
        s.deadline = senders.clock[NOW] + span
        schedule(net, senders, f, s.deadline, f)


@inlined
def has_short_timeout(senders: Any, f: int) -> bool:
    """Return whether so few packets of flow f are in flight that its short timeout applies."""
    s = senders.flow[f]
    return bool(float(s.snd_max - s.snd_una) <= s.own[FEW_PACKETS])


@compiled
def resume(net: Any, senders: Any, f: int) -> None:
    """Schedule the next packet of flow f, which had none to send, at the time that its rate permits."""
    s = senders.flow[f]
    s.due = max(senders.clock[NOW], s.pace_at + max(s.line_gap, 1.0 / max(s.cwnd, 1e-9)))
    wake_at(net, f, s.due, f)


@compiled
def go_back(senders: Any, f: int, number: int) -> None:
    """Send again from packet ``number`` on (go-back-N), but nothing that is acknowledged; counts a loss event."""
    s = senders.flow[f]
    s.sent = max(int64(s.snd_una), min(number, int64(s.sent)))
    s.loss_events += 1


@compiled
def acknowledge(net: Any, senders: Any, f: int, number: int, sack: int, nack: int) -> None:
    """Process an ACK of all packets up to and with ``number``, of ``sack``, and a request for ``nack`` (-1: none)."""
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
    """Process ACK e from a receiver without an agent: release data, and repair a gap that it flags."""
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
    """Process the retransmission timeout of rate sender f: repair losses; permit one packet without a credit.

    Without loss repair the packets in flight no longer count, which opens the window. The short timeout of selective
    repair is extended if more packets are in flight than its range.
    """
    s = senders.flow[f]
    if s.repair == SELECTIVE:
        last = s.own[SINCE] + s.own[RTO_HIGH]
        if senders.clock[NOW] < last and not has_short_timeout(senders, f):
            s.deadline = last
            schedule(net, senders, f, last, f)
            return
    if s.snd_una == s.snd_max and s.sent >= s.size:  # it waited for credits, and was stopped
        s.deadline = NEVER
        return
    was_idle = not has_next(senders, f)
    s.timeouts += 1
    s.credits = max(s.credits, 1.0)
    if s.repair == SELECTIVE:
        lose_at_timeout(senders, f)
    elif s.repair == 0:
        s.snd_una = s.snd_max
    elif s.snd_una < s.snd_max:
        go_back(senders, f, int64(s.snd_una))
    if was_idle and has_next(senders, f):
        resume(net, senders, f)
    watch_progress(net, senders, f)
