"""How senders at the rate of a rule repair losses.

Go-back-N, as reliable connections of RoCE do: the receiver takes packets in order alone. The first one beyond a gap is
answered by an ACK that tells of it, with the last number that came in order; the sender goes back to the one after that.
Selective repair, as in IRN (Mittal et al. 2018): the receiver keeps what comes out of order, and names it in its ACK; the
sender sends again what is missing before it. In both a timer repairs losses where nothing is acknowledged.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .layout import int64
from .selective_repairs import acknowledge_up_to, lose_at_timeout, next_again, receive_sack
from .timers import LEAST, NOW, schedule, wake_at

__all__ = [
    "GAP",
    "GO_BACK_N",
    "SELECTIVE",
    "acknowledge",
    "expire_rated",
    "has_next",
    "take_in_order",
    "take_next",
    "watch_progress",
]

GO_BACK_N, SELECTIVE = 1, 2
GAP = 4  # flag of an ACK: a packet is missing
RTO_LOW, RTO_HIGH, FEW, SINCE = 0, 1, 2, 3  # places in ``own`` of a flow with selective repair
NEVER = float("inf")


@inlined
def take_in_order(senders: Any, packet: Any, e: int, f: int) -> int:
    """Return 1 if a packet is the next one of its flow, otherwise 0.

    Flag the first one beyond a gap, and one before a packet of which the header alone has come already (``beyond``).
    """
    s = senders.flow[f]
    number = int64(packet[e].number)
    if number == s.came:
        s.came = number + 1
        s.held = 0
        packet[e].ecn |= GAP * (s.beyond == s.came)
        return 1
    if number > s.came and s.held == 0:
        s.held = 1
        packet[e].ecn |= GAP
    return 0


@inlined
def has_next(senders: Any, f: int) -> bool:
    """Return whether a flow at the rate of a rule has a packet that may be sent."""
    s = senders.flow[f]
    if s.repair != SELECTIVE:
        return bool(s.sent < s.size)
    return bool(s.again > 0 or (s.sent < s.size and float(s.sent - s.snd_una) < s.most))


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
    """Start the timer of a flow, if something is not acknowledged; stop it otherwise."""
    s = senders.flow[f]
    s.deadline = NEVER
    if s.snd_una < s.snd_max:
        span = senders.clock[LEAST]
        if s.repair == SELECTIVE:
            s.own[SINCE] = senders.clock[NOW]
            span = s.own[RTO_LOW] if is_few(senders, f) else s.own[RTO_HIGH]
        s.deadline = senders.clock[NOW] + span
        schedule(net, senders, f, s.deadline, f)


@inlined
def is_few(senders: Any, f: int) -> bool:
    """Return whether so few packets are in flight that the short timeout holds."""
    s = senders.flow[f]
    return bool(float(s.snd_max - s.snd_una) <= s.own[FEW])


@compiled
def resume(net: Any, senders: Any, f: int) -> None:
    """Schedule the next packet of a flow that had none to send."""
    s = senders.flow[f]
    s.due = max(senders.clock[NOW], s.pace_at + max(s.line_gap, 1.0 / max(s.cwnd, 1e-9)))
    wake_at(net, f, s.due, f)


@compiled
def go_back(net: Any, senders: Any, f: int) -> None:
    """Send again from the first packet that is not acknowledged on."""
    s = senders.flow[f]
    rests = s.sent >= s.size
    s.sent = s.snd_una
    s.loss_events += 1
    if rests:
        resume(net, senders, f)


@compiled
def acknowledge_selectively(net: Any, senders: Any, f: int, e: int) -> None:
    """Note what an ACK acknowledges, and what is lost by it."""
    it = net.packet[e]
    s = senders.flow[f]
    rests = not has_next(senders, f)
    if it.number >= s.snd_una:
        acknowledge_up_to(senders, f, int64(it.number) + 1)
        watch_progress(net, senders, f)
    if net.block[e, 0] >= 0:
        receive_sack(senders, f, int64(net.block[e, 0]))
    if rests and has_next(senders, f):
        resume(net, senders, f)


@compiled
def acknowledge(net: Any, senders: Any, f: int, e: int) -> None:
    """Note what an ACK acknowledges, and repair what it tells of."""
    it = net.packet[e]
    s = senders.flow[f]
    if s.repair == SELECTIVE:
        acknowledge_selectively(net, senders, f, e)
        return
    if it.number >= s.snd_una:
        s.snd_una = it.number + 1
        s.sent = max(s.sent, s.snd_una)
        watch_progress(net, senders, f)
    if it.ecn & GAP != 0:
        go_back(net, senders, f)


@compiled
def expire_rated(net: Any, senders: Any, f: int) -> None:
    """Repair losses where nothing was acknowledged for the retransmission timeout.

    The short timeout of selective repair is extended where more packets are in flight by then.
    """
    s = senders.flow[f]
    if s.repair == SELECTIVE:
        last = s.own[SINCE] + s.own[RTO_HIGH]
        if senders.clock[NOW] < last and not is_few(senders, f):
            s.deadline = last
            schedule(net, senders, f, last, f)
            return
        rests = not has_next(senders, f)
        s.timeouts += 1
        lose_at_timeout(senders, f)
        if rests and has_next(senders, f):
            resume(net, senders, f)
    else:
        s.timeouts += 1
        go_back(net, senders, f)
    watch_progress(net, senders, f)
