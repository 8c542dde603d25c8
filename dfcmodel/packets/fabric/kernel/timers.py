"""Timers of the flows at an interface: a binary heap, by time and at equal times by flow."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .layout import int64

__all__ = ["first_timer", "has_timer", "set_timer", "take_timer"]


@inlined
def has_timer(net: Any, p: int) -> bool:
    """Return whether any flow at interface p has a timer."""
    return bool(net.port[p].pending > 0)


@inlined
def first_timer(net: Any, p: int) -> float:
    """Return the time, s, of interface p's next timer; there must be one."""
    return float(net.timer[net.port[p].timers].time)


@inlined
def is_before(net: Any, at: int, time: float, f: int) -> bool:
    """Return whether the timer in row ``at`` precedes a timer of flow f at ``time``."""
    it = net.timer[at]
    return bool(it.time < time or (it.time == time and it.flow < f))


@inlined
def write_timer(net: Any, at: int, time: float, f: int) -> None:
    """Write a timer of flow f at ``time``, s, into row ``at``."""
    net.timer[at].time = time
    net.timer[at].flow = f


@inlined
def copy_timer(net: Any, to: int, at: int) -> None:
    """Copy the timer in row ``at`` to row ``to``."""
    net.timer[to].time = net.timer[at].time
    net.timer[to].flow = net.timer[at].flow


@inlined
def set_timer(net: Any, p: int, f: int, time: float) -> None:
    """Add a timer of flow f at ``time``, s, to interface p's heap; the caller enlists p for its window."""
    port = net.port[p]
    at = int64(port.timers)
    k = int64(port.pending)
    port.pending += 1
    while k > 0:
        above = (k - 1) >> 1
        if is_before(net, at + above, time, f):
            break
        copy_timer(net, at + k, at + above)
        k = above
    write_timer(net, at + k, time, f)


@inlined
def take_timer(net: Any, p: int) -> int:
    """Remove interface p's next timer and return its flow; there must be one."""
    port = net.port[p]
    at = int64(port.timers)
    flow = int64(net.timer[at].flow)
    port.pending -= 1
    n = int64(port.pending)
    if n == 0:
        return flow
    time, f = net.timer[at + n].time, int64(net.timer[at + n].flow)
    k = 0
    while 2 * k + 1 < n:
        below = 2 * k + 1
        other = net.timer[at + below]
        if below + 1 < n and is_before(net, at + below + 1, other.time, other.flow):
            below += 1
        if not is_before(net, at + below, time, f):
            break
        copy_timer(net, at + k, at + below)
        k = below
    write_timer(net, at + k, time, f)
    return flow
