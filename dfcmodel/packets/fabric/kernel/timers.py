"""Timers of the flows at an interface: a binary heap, by time and at equal times by flow."""

from __future__ import annotations

from typing import Any

from .jit import inlined
from .layout import int64

__all__ = ["first_timer", "has_timer", "set_timer", "take_timer"]


@inlined
def has_timer(net: Any, p: int) -> bool:
    """Return whether a flow of an interface has a timer."""
    return bool(net.port[p].pending > 0)


@inlined
def first_timer(net: Any, p: int) -> float:
    """Return the time of the next timer, s."""
    return float(net.timer[net.port[p].timers])


@inlined
def set_timer(net: Any, p: int, f: int, time: float) -> None:
    """Add a timer of flow f."""
    timer, timed, port = net.timer, net.timed, net.port[p]
    at = int64(port.timers)
    k = int64(port.pending)
    port.pending += 1
    while k > 0:
        above = (k - 1) >> 1
        if timer[at + above] < time or (timer[at + above] == time and timed[at + above] < f):
            break
        timer[at + k] = timer[at + above]
        timed[at + k] = timed[at + above]
        k = above
    timer[at + k] = time
    timed[at + k] = f


@inlined
def take_timer(net: Any, p: int) -> int:
    """Remove the next timer and return its flow."""
    timer, timed, port = net.timer, net.timed, net.port[p]
    at = int64(port.timers)
    found = int64(timed[at])
    port.pending -= 1
    n = int64(port.pending)
    time, f = timer[at + n], int64(timed[at + n])
    k = 0
    while 2 * k + 1 < n:
        below = 2 * k + 1
        if below + 1 < n and (
            timer[at + below + 1] < timer[at + below]
            or (
                timer[at + below + 1] == timer[at + below]
                and timed[at + below + 1] < timed[at + below]
            )
        ):
            below += 1
        if time < timer[at + below] or (time == timer[at + below] and f < timed[at + below]):
            break
        timer[at + k] = timer[at + below]
        timed[at + k] = timed[at + below]
        k = below
    timer[at + k] = time
    timed[at + k] = f
    return found
