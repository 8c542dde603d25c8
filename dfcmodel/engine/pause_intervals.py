"""When the pauses of a fluid run took effect and ended, from when they were turned on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.network.class_pauses import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dfcmodel.engine.plans import Plan

__all__ = ["times_of_pauses"]


def times_of_pauses(plan: Plan, switches: Any) -> Iterator[tuple[int, int, int, Any]]:
    """Yield the paused link, who asks for it, the class, and the times in s at which pauses took effect and ended.

    As `dfcmodel.results.pauses.intervals_of` takes them.

    Parameters
    ----------
    plan
        Whose run it was.
    switches
        What was turned on and off, in order (`kernel.records.SWITCH`).
    """
    order, pauses = plan.layout.order, plan.feedback.pauses
    flows = plan.scenario.flows
    for n in range(len(pauses)):
        paused, by = int(pauses["paused"][n]), order[pauses["pausing"][n]]
        link = order[paused] if paused >= 0 else paused
        way = float(pauses["wait"][n]) + float(pauses["part"][n])
        counted = pauses["first"][n] < pauses["end"][n]
        priority = flows[plan.layout.flow_of[pauses["first"][n]]].priority if counted else ALL
        yield link, by, priority, (switches["time"][switches["pause"] == n] + way) * plan.step
