"""Loss cycles in which a rule sees the ACKs of a step of a fluid at once, beside the same cycles ACK by ACK."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .rows import MAX_WINDOW, MIN_WINDOW

__all__ = ["follow", "run", "send"]

SMALLEST_AMOUNT = 0.25
"""ACKs: the smallest piece of one that is compared. Shorter steps give smaller pieces, and more calls."""


@compiled
def send(event, state, now, path, count, part):
    """Call a rule for ``count`` ACKs; return the time afterwards, infinite for a wrong window.

    Each call is for the window divided by ``part``, or for one ACK where ``part`` is 0.
    """
    rtt, service = path
    left = count
    while left > 0.0:
        amount = 1.0
        if part > 0.0:
            amount = max(SMALLEST_AMOUNT, state[0] / part)
        amount = min(left, amount)
        r = max(rtt, state[0] * service)
        now += amount * r / state[0]
        call_on_array(event, state, now, r, amount, 0.0)
        if not MIN_WINDOW <= state[0] <= MAX_WINDOW:
            return math.inf
        left -= amount
    return now


@compiled
def follow(events, room, begin, path, count, cycles):
    """Return the relative difference of the times of some cycles of ``count`` ACKs, each ended by a loss.

    ``one`` sees each ACK, ``many`` those of a part of the window. Infinite for a wrong window.
    """
    single, several, loss, part = events
    one, many = room
    rtt, service = path
    now = begin
    other = begin
    for _ in range(cycles):
        now = send(single, one, now, path, count, 0.0)
        other = send(several, many, other, path, count, part)
        if not max(now, other) < math.inf:
            return math.inf
        call_on_array(loss, one, now, max(rtt, one[0] * service), 0.0, 0.0)
        call_on_array(loss, many, other, max(rtt, many[0] * service), 0.0, 0.0)
    return abs((other - begin) / (now - begin) - 1.0)


@entry
def run(samples, begin, path, events, part, room):
    """Write the relative difference of the times from each of n states; ``counts``, ``cycles``, ``out`` have shape (n,).

    ``events`` are the addresses for single ACKs, for several, those of the window divided by ``part``, and for a loss.
    """
    states, counts, cycles, out = samples
    one, many = room
    called = events[0], events[1], events[2], part
    for i in range(len(states)):
        for n in range(states.shape[1]):
            one[n] = states[i, n]
            many[n] = states[i, n]
        out[i] = follow(called, room, begin, path, counts[i], cycles[i])
