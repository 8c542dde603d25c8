"""Rates of links that follow a trace (`dfcmodel.RateTrace`): constant between steps at which they change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.network.path_elements import RateTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dfcmodel.engine.plans import Plan
    from dfcmodel.network.path_elements import DelayTrace

__all__ = ["RateChange", "rate_changes", "set_rates", "times_of"]


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
        for time, rate in times_of(element, element.rates, steps * plan.step):
            step = round(time / plan.step)
            amount = math.floor(rate * plan.step / plan.quantum) * plan.quantum
            if step < steps:
                found.setdefault(step, {})[i] = RateChange(step, i, amount)
    return {step: list(of_links.values()) for step, of_links in found.items()}


def times_of(
    element: RateTrace | DelayTrace, values: Sequence[float], end: float
) -> Iterator[tuple[float, float]]:
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
