"""Routes that switches choose or that change with time, and links that fail, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.layout import EXPIRES
from dfcmodel.packets.kernel.links.spraying import BY_EPOCH

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PacketPlan
    from dfcmodel.packets.sprayed import Rerouting, Spraying

__all__ = ["lay_out_routing"]


def lay_out_routing(plan: PacketPlan, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays of choices, failures and paths over time, by name; set mates and draws in ``arrays``, in place.

    The ports among which a switch chooses are processed together: they get a circle of mates.
    """
    for p, together in plan.routing.items():
        arrays["port"]["mate"][p] = (*together, *together)[together.index(p) + 1]
    rows: dict[str, Any] = {}
    if plan.choices:
        rows |= _choices(plan, len(arrays["hop"]))
    if plan.outages:
        rows |= _failures(plan)
    if plan.spraying is not None and plan.spraying.rerouting is not None:
        rows |= _epochs(plan.spraying, plan.spraying.rerouting, arrays["flow"])
    return rows


def _choices(plan: PacketPlan, hops: int) -> dict[str, Any]:
    """Return, by name, choices of ``hops`` rows of hops, mostly none, and the rows among which switches choose."""
    choice = np.zeros((hops, 2), dtype=np.int32)
    candidates: list[int] = []
    for row, others in plan.choices.items():
        expires = others == (EXPIRES,)
        choice[row] = len(candidates), EXPIRES if expires else len(others)
        candidates += () if expires else others
    return {"choice": choice, "candidates": np.array(candidates, dtype=np.int32)}


def _failures(plan: PacketPlan) -> dict[str, Any]:
    """Return by name the pairs (from, until), s, at which links are down, and each port's range of pairs."""
    counts = np.zeros(len(plan.ports), dtype=np.int64)
    counts[list(plan.outages)] = list(map(len, plan.outages.values()))
    down = np.concatenate(list(plan.outages.values()))
    after = np.cumsum(counts)
    rows = np.transpose([after - counts, after])
    return {"down": down, "downs": np.ascontiguousarray(rows)}


def _epochs(spraying: Spraying, rerouting: Rerouting, flow: Any) -> dict[str, Any]:
    """Return times, s, of route changes and flows' paths between, by name; set how rows ``flow`` draw, in place."""
    lenders = spraying.lenders
    routes = np.zeros((len(flow), len(rerouting.times) + 1, 2), dtype=np.int32)
    turns: list[int] = []
    for f, epochs in enumerate(rerouting.turns):
        for n, paths in enumerate(epochs):
            routes[lenders + f, n] = len(turns), len(paths)
            turns += paths
    flow["drawn"][spraying.count > 0] += BY_EPOCH
    return {"epochs": rerouting.times, "routes": routes, "turns": np.array(turns, dtype=np.int32)}
