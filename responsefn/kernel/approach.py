"""Number of loss events until the mean rate of a run is near a given rate."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import compiled, entry

from .cycles import advance
from .flow import PACKETS, REMAINING, STATE, STEPS, TIME, Flow, apply_loss

__all__ = ["follow_approach", "run"]

SUCCESSIVE_MEANS, SUCCESSIVE_CYCLES = 3, 2
"""Successive means that must be near; fewer where each is a single cycle, since that repeats."""


@compiled
def follow_approach(flow, steps, packets, target, out):
    """Write the number of loss events until means of the rate over ``events`` stay near ``rate``, or infinity.

    ``target`` is the rate, the events and the maximum of steps. The other entries of ``out`` are the mean rates over
    the last two complete intervals between powers of two of means.
    """
    run, limits = flow.run, flow.limits
    rate, events, max_steps = target
    out[0] = math.inf
    out[1] = math.nan
    out[2] = math.nan
    now = 0.0
    losses = 0.0
    means = 0
    near = 0
    interval_packets = 0.0
    interval_start = 0.0
    if not apply_loss(run, flow.loss, now, flow.rtt, flow.fault):
        return
    needed = SUCCESSIVE_CYCLES if events == 1 else SUCCESSIVE_MEANS
    while losses < limits.cycles:
        sent = 0.0
        start = now
        for _ in range(events):
            if not advance(flow, steps, packets, now):
                return
            sent += run[PACKETS]
            now += run[TIME]
            if run[STEPS] > max_steps:
                return
            if not apply_loss(run, flow.loss, now, max(flow.rtt, run[STATE] * flow.service), flow.fault):
                return
        losses += events
        means += 1
        interval_packets += sent
        if abs(sent / (now - start) / rate - 1.0) > limits.same:
            near = 0
        else:
            near += 1
            if near == needed:
                out[0] = losses - (needed - 1) * events
                return
        if means & (means - 1) == 0:
            out[2] = out[1]
            out[1] = interval_packets / (now - interval_start)
            interval_packets = 0.0
            interval_start = now


@entry
def run(cases, functions, limits, targets, numbers, results):
    """Write after how many loss events each case is within ``limits.same`` of its entry of ``rates``.

    Each mean is over an entry of ``events``. Infinite where ``limits.cycles`` loss events, or the entry of
    ``max_steps``, do not suffice.
    """
    packets, rtts, service, starts = cases
    steps, loss = functions
    rates, events, max_steps = targets
    out, fault = results
    for i in range(len(packets)):
        numbers[STEPS] = 0.0
        numbers[REMAINING] = 0.0
        for n in range(starts.shape[1]):
            numbers[STATE + n] = starts[i, n]
        flow = Flow(numbers, loss[0], rtts[i], service, limits[0], fault)
        target = rates[i], events[i], max_steps[i]
        follow_approach(flow, steps[0], packets[i], target, out[i])
        fault[0] = 0.0
