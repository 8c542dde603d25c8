"""How many loss events a run needs until its rate is near a given one."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from .cycles import advance
from .jit import compiled, entry
from .losses import lose
from .rows import LEFT, MOVES, PACKETS, STATE, TIME

__all__ = ["reach", "run"]

IN_A_ROW = 3
"""Means that must be near."""


@compiled
def reach(one, steps, loss, packets, rtt, service, rate, events, limits, wrong):
    """Return after how many loss events means of the rate over ``events`` stay near ``rate``; infinite for never."""
    now = 0.0
    done = 0.0
    near = 0
    if not lose(one, loss, now, rtt, wrong):
        return math.inf
    while done < limits.most and one[MOVES] < limits.budget:
        sent = 0.0
        begun = now
        for _ in range(events):
            if not advance(one, steps, packets, now, rtt, service, limits, wrong):
                return math.inf
            sent += one[PACKETS]
            now += one[TIME]
            if not lose(one, loss, now, max(rtt, one[STATE] * service), wrong):
                return math.inf
        done += events
        if abs(sent / (now - begun) / rate - 1.0) > limits.same:
            near = 0
        else:
            near += 1
            if near == IN_A_ROW:
                return done - (IN_A_ROW - 1) * events
    return math.inf


@entry
def run(packets, rtts, service, starts, steps, loss, one, limits, rates, events, out, wrong):
    """Write after how many loss events each case is within ``limits.same`` of its entry of ``rates``.

    Each mean is over an entry of ``events``. Infinite where the limits do not suffice.
    """
    for i in range(len(packets)):
        one[MOVES] = 0.0
        one[LEFT] = 0.0
        for n in range(starts.shape[1]):
            one[STATE + n] = starts[i, n]
        out[i] = reach(
            one, steps[0], loss[0], packets[i], rtts[i], service, rates[i], events[i], limits[0], wrong
        )  # fmt: skip
        wrong[0] = 0.0
