"""Delays of links that follow a trace (`dfcmodel.DelayTrace`): ways between queues that get longer and shorter.

What a queue sends is on the wire as a curve, by the step in which it arrives. Where a way becomes longer, the curve
stands still for as many steps. Where it becomes shorter, what was sent later comes together with the last of what is
under way, as packets that keep their order do.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.records import PER_FLOW_RATE, SENT
from dfcmodel.engine.rates_over_time import times_of
from dfcmodel.engine.ways_with_traces import traced_ways
from dfcmodel.network.time_steps import whole_and_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dfcmodel.engine.plans import Plan
    from dfcmodel.engine.ways_with_traces import Way

__all__ = ["delay_changes", "set_delays"]


def delay_changes(plan: Plan, steps: int) -> dict[int, dict[int, float]]:
    """Return by step the new lengths of ways in a run of some steps, in steps, by the queues where they begin.

    Times are rounded to whole steps. A way becomes shorter by a step in each step, as the order is kept.
    """
    found: dict[int, dict[int, float]] = {}
    for way in traced_ways(plan.scenario, plan.layout):
        lengths = _lengths(way, plan.step, steps)
        now = way.steps
        for n, (step, length) in enumerate(lengths):
            end = lengths[n + 1][0] if n + 1 < len(lengths) else steps
            while step < end and now != length:
                now = max(length, now - 1.0)
                found.setdefault(step, {})[way.queue] = length
                step += 1
    return found


def _lengths(way: Way, h: float, steps: int) -> list[tuple[int, float]]:
    """Return from which steps on a way has which length for what begins it then, the last of several in a step."""
    trace = way.trace
    found: dict[int, float] = {0: 0.0}
    for time, delay in times_of(trace, trace.delays, (steps + way.steps) * h):
        found[max(0, round(time / h - way.steps))] = delay
    return [(step, way.steps + delay / h) for step, delay in sorted(found.items())]


def set_delays(plan: Plan, k: int, lengths: Mapping[int, float]) -> None:
    """Set the lengths of ways, in steps by their queues, in the state of a plan before its step ``k``.

    A way does not become shorter than what is under way on it.
    """
    queues, wire = plan.network.queues, plan.network.wire
    for c, length in lengths.items():
        queue = queues[c]
        lag = int(queue["lag"])
        sent = _sent(plan, c)
        last = wire[(k - 1 + lag) % len(wire), c] if k else sent
        if length < lag + 1.0 - queue["weight"]:
            rows = [wire[(k + n) % len(wire), c] for n in range(lag)]
            length = max(length, float(bisect.bisect_left(rows, last)))
        whole, part = whole_and_part(length)
        for n in range(lag, int(whole)):
            wire[(k + n) % len(wire), c] = sent
        queue["lag"], queue["weight"] = whole, 1.0 - part


def _sent(plan: Plan, c: int) -> float:
    """Return what a queue has sent so far, packets."""
    i = int(plan.network.queues["link"][c])
    alone = c < len(plan.network.flows) or plan.network.links["kind"][i] == PER_FLOW_RATE
    return float(plan.network.queues["sent"][c] if alone else plan.shared[SENT, c])
