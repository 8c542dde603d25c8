"""How senders at the rate of a rule repair losses: go-back-N, as reliable connections of RoCE do.

The receiver takes packets in order alone. The first one beyond a gap is answered by an ACK that tells of it, with the last
number that came in order; the sender goes back to the one after that. A timer goes back where nothing is acknowledged.
"""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .layout import int64
from .timers import LEAST, NOW, schedule, wake_at

__all__ = ["GAP", "GO_BACK_N", "acknowledge", "expire_rated", "take_in_order", "watch_progress"]

GO_BACK_N = 1
GAP = 4  # flag of an ACK: a packet is missing
NEVER = float("inf")


@inlined
def take_in_order(senders: Any, packet: Any, e: int, f: int) -> int:
    """Return 1 if a packet is the next one of its flow, otherwise 0.

    Flag the first one beyond a gap, and one before a packet of which the header alone has come already (``hole``).
    """
    s = senders.flow[f]
    number = int64(packet[e].number)
    if number == s.came:
        s.came = number + 1
        s.held = 0
        packet[e].ecn |= GAP * (s.hole == s.came)
        return 1
    if number > s.came and s.held == 0:
        s.held = 1
        packet[e].ecn |= GAP
    return 0


@inlined
def watch_progress(net: Any, senders: Any, f: int) -> None:
    """Start the timer of a flow, if something is not acknowledged; stop it otherwise."""
    s = senders.flow[f]
    s.deadline = NEVER
    if s.snd_una < s.snd_max:
        s.deadline = senders.clock[NOW] + senders.clock[LEAST]
        schedule(net, senders, f, s.deadline, f)


@compiled
def go_back(net: Any, senders: Any, f: int) -> None:
    """Send again from the first packet that is not acknowledged on."""
    s = senders.flow[f]
    rests = s.sent >= s.size
    s.sent = s.snd_una
    s.loss_events += 1
    if rests:
        s.due = max(senders.clock[NOW], s.pace_at + max(s.line_gap, 1.0 / max(s.cwnd, 1e-9)))
        wake_at(net, f, s.due, f)


@compiled
def acknowledge(net: Any, senders: Any, f: int, e: int) -> None:
    """Note what an ACK acknowledges, and go back where it tells of a gap."""
    it = net.packet[e]
    s = senders.flow[f]
    if it.number >= s.snd_una:
        s.snd_una = it.number + 1
        s.sent = max(s.sent, s.snd_una)
        watch_progress(net, senders, f)
    if it.ecn & GAP != 0:
        go_back(net, senders, f)


@compiled
def expire_rated(net: Any, senders: Any, f: int) -> None:
    """Go back where nothing was acknowledged for the least retransmission timeout."""
    senders.flow[f].timeouts += 1
    go_back(net, senders, f)
    watch_progress(net, senders, f)
