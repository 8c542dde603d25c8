"""How many loss events a run needs until its rate is near a given one."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import compiled, entry

from .cycles import advance
from .losses import apply_loss
from .rows import LEFT, MOVES, PACKETS, STATE, TIME, Walk

__all__ = ["reach", "run"]

IN_A_ROW, SINGLE_IN_A_ROW = 3, 2
"""Means that must be near; where each is over a single loss event, as its cycle repeats."""


@compiled
def reach(walk, steps, packets, aim, out):
    """Write after how many loss events means of the rate over ``events`` stay near ``rate``; infinite for never.

    ``aim`` is the rate, the events and the most steps. Also written are the mean rates over the last two intervals
    between powers of two of means that are complete.
    """
    one, limits = walk.one, walk.limits
    rate, events, budget = aim
    out[0] = math.inf
    out[1] = math.nan
    out[2] = math.nan
    now = 0.0
    done = 0.0
    means = 0
    near = 0
    half = 0.0
    half_begun = 0.0
    if not apply_loss(one, walk.loss, now, walk.rtt, walk.wrong):
        return
    needed = SINGLE_IN_A_ROW if events == 1 else IN_A_ROW
    while done < limits.most:
        sent = 0.0
        begun = now
        for _ in range(events):
            if not advance(walk, steps, packets, now):
                return
            sent += one[PACKETS]
            now += one[TIME]
            if one[MOVES] > budget:
                return
            if not apply_loss(
                one, walk.loss, now, max(walk.rtt, one[STATE] * walk.service), walk.wrong
            ):
                return
        done += events
        means += 1
        half += sent
        if abs(sent / (now - begun) / rate - 1.0) > limits.same:
            near = 0
        else:
            near += 1
            if near == needed:
                out[0] = done - (needed - 1) * events
                return
        if means & (means - 1) == 0:
            out[2] = out[1]
            out[1] = half / (now - half_begun)
            half = 0.0
            half_begun = now


@entry
def run(cases, functions, limits, aims, one, found):
    """Write after how many loss events each case is within ``limits.same`` of its entry of ``rates``.

    Each mean is over an entry of ``events``. Infinite where ``limits.most`` loss events and the entry of ``budgets``, in
    steps, do not suffice.
    """
    packets, rtts, service, starts = cases
    steps, loss = functions
    rates, events, budgets = aims
    out, wrong = found
    for i in range(len(packets)):
        one[MOVES] = 0.0
        one[LEFT] = 0.0
        for n in range(starts.shape[1]):
            one[STATE + n] = starts[i, n]
        walk = Walk(one, loss[0], rtts[i], service, limits[0], wrong)
        reach(walk, steps[0], packets[i], (rates[i], events[i], budgets[i]), out[i])
        wrong[0] = 0.0
