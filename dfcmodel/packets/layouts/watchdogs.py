"""Watchdogs of ports in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.codes import POLL
from dfcmodel.packets.kernel.layout import ROUTES, STORM, WATCHDOG
from dfcmodel.packets.kernel.links.watchdogs import POLLS
from dfcmodel.packets.kernel.queues.managers import ALL_LANES
from dfcmodel.packets.layouts.ports import Event, class_lanes

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_watchdogs", "polls_of"]


def lay_out_watchdogs(plan: PacketPlan, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return rows of watchdogs and of ports that choose, and memory for storms; set each port's first in ``arrays``.

    Each port at which packets are routed has a watchdog that never drops.

    The number of storms is bounded: each takes the intervals that declare it and the intervals that end it. The last
    row is for storms after the end of the run.
    """
    plain, effects = arrays["port"]["plain"], arrays["port"]["effects"]
    rows = np.zeros(len(plan.watchdogs) + len(plan.routing), WATCHDOG)
    lanes = class_lanes(plan, arrays["hop"], arrays["lane"]) if plan.watchdogs else {}
    storms = 1
    for g, p in enumerate(sorted(plan.routing), len(plan.watchdogs)):
        rows[g]["port"], rows[g]["lane"], rows[g]["next"] = p, ALL_LANES, -1
        plain[p] = -1 - g
        effects[p] |= ROUTES
    for g, dog in enumerate(plan.watchdogs):
        lane = lanes.get((dog.port, dog.priority), -1)
        rows[g] = (
            dog.first, dog.period, dog.min_paused, 0.0, 0.0, 0, dog.port, lane, -1 - min(plain[dog.port], 0),
            dog.bad_polls, dog.good_polls, 0, 0, 0, 0,
        )  # fmt: skip
        plain[dog.port] = -1 - g
        effects[dog.port] |= ROUTES
        storms += int(plan.end / dog.period) // (dog.bad_polls + dog.good_polls) + 2
    return {"watchdog": rows, "detected": np.zeros(storms, STORM)}


def polls_of(plan: PacketPlan, arrays: dict[str, Any]) -> list[Event]:
    """Return the event of the first poll of each watchdog."""
    queue = arrays["port"]["queue"]
    return [Event(int(queue[dog.port]), dog.first, POLLS, POLL, 0, g) for g, dog in enumerate(plan.watchdogs)]
