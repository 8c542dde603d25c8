"""Routes that switches choose or that change with time, and links that fail, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.layout import EXPIRES
from dfcmodel.packets.kernel.spraying import BY_EPOCH

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan

__all__ = ["lay_out_routing"]


def lay_out_routing(plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the choices of switches, when links are down, and the paths of flows by time.

    The ports among which a switch chooses are processed together: they get a circle of mates.
    """
    for p, together in plan.routing.items():
        arrays["port"]["mate"][p] = (*together, *together)[together.index(p) + 1]
    return {
        **_choices(plan, len(arrays["hop"])),
        **_failures(plan),
        **_epochs(plan, arrays["flow"]),
    }


def _choices(plan: Plan, hops: int) -> dict[str, Any]:
    choice = np.zeros((hops if plan.choices else 1, 2), dtype=np.int32)
    candidates: list[int] = []
    for row, others in plan.choices.items():
        ends = others == (EXPIRES,)
        choice[row] = len(candidates), EXPIRES if ends else len(others)
        candidates += () if ends else others
    return {"choice": choice, "candidates": np.array(candidates, dtype=np.int32)}


def _failures(plan: Plan) -> dict[str, Any]:
    counts = np.array([len(times) for times in plan.down_times], dtype=np.int64)
    down = np.array([time for times in plan.down_times for time in times]).reshape(-1, 2)
    ends = np.cumsum(counts)
    rows = np.transpose([ends - counts, ends]) if len(down) else np.zeros((1, 2), dtype=np.int64)
    return {"down": down, "downs": np.ascontiguousarray(rows)}


def _epochs(plan: Plan, flow: Any) -> dict[str, Any]:
    given = plan.spraying.rerouting if plan.spraying is not None else None
    if plan.spraying is None or given is None:
        return {
            "epochs": np.zeros(0),
            "routes": np.zeros((1, 1, 2), dtype=np.int32),
            "turns": np.zeros(0, dtype=np.int32),
        }
    lenders = plan.spraying.lenders
    routes = np.zeros((len(flow), len(given.times) + 1, 2), dtype=np.int32)
    turns: list[int] = []
    for f, epochs in enumerate(given.turns):
        for n, paths in enumerate(epochs):
            routes[lenders + f, n] = len(turns), len(paths)
            turns += paths
    flow["drawn"][plan.spraying.count > 0] += BY_EPOCH
    return {"epochs": given.times, "routes": routes, "turns": np.array(turns, dtype=np.int32)}
