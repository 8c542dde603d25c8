"""Links that follow a trace of rates (`dfcmodel.RateTrace`) or of delays (`dfcmodel.DelayTrace`) in a fluid run.

A rate is constant between the steps at which it changes. A delay makes the way between two queues longer and shorter. What
a queue sends is on the wire as a curve, by the step in which it arrives. Where a way becomes longer, the curve stands still
for as many steps. Where it becomes shorter, what was sent later comes together with the last of what is under way, as
packets that keep their order do.
"""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.engine.fluid import whole_and_part
from dfcmodel.engine.kernel.records import PER_FLOW_RATE, SENT
from dfcmodel.engine.link_tables import traced_ways
from dfcmodel.network.path_elements import RateTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dfcmodel.engine.link_tables import Way
    from dfcmodel.engine.plans import Plan
    from dfcmodel.network.path_elements import DelayTrace

__all__ = [
    "RateChange",
    "delay_changes",
    "rate_changes",
    "set_delays",
    "set_rates",
]


class RateChange(NamedTuple):
    """A link's rate from a step on: the step, the link's place in the plan's order, packets per step."""

    step: int
    link: int
    rate: float


def rate_changes(plan: Plan, steps: int) -> dict[int, list[RateChange]]:
    """Return by step what changes there, in a run of some steps; times are rounded to the nearest step.

    Where several times of a trace are in one step, the last of them holds.
    """
    found: dict[int, dict[int, RateChange]] = {}
    names = plan.scenario.link_table.names
    for element in plan.scenario.elements:
        if not isinstance(element, RateTrace):
            continue
        i = list(plan.layout.order).index(names.index(element.link))
        for time, rate in _times_of(element, element.rates, steps * plan.step):
            step = round(time / plan.step)
            amount = math.floor(rate * plan.step / plan.quantum) * plan.quantum
            if step < steps:
                found.setdefault(step, {})[i] = RateChange(step, i, amount)
    return {step: list(of_links.values()) for step, of_links in found.items()}


def _times_of(element: RateTrace | DelayTrace, values: Sequence[float], end: float) -> Iterator[tuple[float, float]]:
    """Yield the times of a trace up to the end of a run, s, and the values from then on."""
    n = 0
    while True:
        base = n * element.period if n else 0.0
        for time, value in zip(element.times, values, strict=True):
            if base + time >= end:
                return
            yield base + time, value
        if element.period == math.inf:
            return
        n += 1


def set_rates(plan: Plan, changes: list[RateChange]) -> None:
    """Set the rates of links in the state of a plan."""
    links, queues = plan.network.links, plan.network.queues
    for change in changes:
        links["rate"][change.link] = links["pace"][change.link] = change.rate
        if change.link < plan.layout.per_flow_links:
            queues["service"][slice(*plan.layout.queues[change.link])] = change.rate


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
    for time, delay in _times_of(trace, trace.delays, (steps + way.steps) * h):
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
