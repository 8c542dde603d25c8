"""Rows of flows that start when others have finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.layout import FOLLOW, FOLLOWER

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_followers"]


def lay_out_followers(plan: PacketPlan) -> dict[str, Any]:
    """Return the rows of flows that wait for others, by their names in both kernels."""
    waiting = plan.scenario.followers
    rows = np.zeros(len(waiting.missing), FOLLOW)
    for name, values in (("begin", waiting.begin[:-1]), ("end", waiting.begin[1:]),
                         ("missing", waiting.missing), ("ready", plan.earliest)):  # fmt: skip
        rows[name] = values
    followers = np.zeros(len(waiting.flow), FOLLOWER)
    followers["flow"], followers["delay"] = waiting.flow, plan.delays_after
    return {"follow": rows, "followers": followers}
