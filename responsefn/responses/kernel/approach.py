"""How many loss events a run needs until its rate is near a given one."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from .cycles import advance
from .jit import entry
from .losses import lose
from .rows import LEFT, MOVES, PACKETS, STATE, TIME

__all__ = ["run"]

EVENTS = 64
"""Loss events over which the rate is averaged."""


@entry
def run(packets, rtts, service, starts, steps, loss, one, limits, rates, out, wrong):
    """Write after how many loss events the mean rate first is within ``limits.same`` of ``rates``.

    Infinite where the limits do not suffice.
    """
    for i in range(len(packets)):
        one[MOVES] = 0.0
        one[LEFT] = 0.0
        for n in range(starts.shape[1]):
            one[STATE + n] = starts[i, n]
        now = 0.0
        out[i] = math.inf
        events = 0.0
        far = lose(one, loss[0], now, rtts[i], wrong)
        while far and events < limits[0].most and one[MOVES] < limits[0].budget:
            sent = 0.0
            begun = now
            for _ in range(EVENTS):
                far = far and advance(
                    one, steps[0], packets[i], now, rtts[i], service, limits[0], wrong
                )
                sent += one[PACKETS]
                now += one[TIME]
                far = far and lose(
                    one, loss[0], now, max(rtts[i], one[STATE] * service), wrong
                )
            events += EVENTS
            if far and abs(sent / (now - begun) / rates[i] - 1.0) <= limits[0].same:
                out[i] = events
                far = False
        wrong[0] = 0.0
