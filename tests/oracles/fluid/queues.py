"""Links whose flows have queues with a rate each, and what all links have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.fluid.drops import drop_in_turn, time_until_full

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

    Floats = NDArray[np.float64]

__all__ = ["RateQueues"]


class RateQueues:
    """Link i, whose flows have queues with a rate each: DFC, and FIFO of one flow."""

    def __init__(self, plan: FluidPlan, i: int, traffic: Traffic) -> None:
        self.plan, self.traffic = plan, traffic
        self.limit = float(plan.network.links["limit"][i])
        self.cells = np.arange(plan.queues_at(i).start, plan.queues_at(i).stop)
        flows = len(self.cells)
        shared = bool(plan.network.links["shared"][i])
        self.buffers = [slice(0, flows)] if shared else [slice(n, n + 1) for n in range(flows)]

    def serve(self, k: int, budget: Floats) -> None:
        """Serve them in step k, each at most its ``budget``; drop what exceeds a buffer of what came."""
        traffic, cells = self.traffic, self.cells
        came = np.array([traffic.arrive(c) for c in cells])
        waits = traffic.queue[cells] + came
        leaves = np.minimum(waits, budget)
        traffic.queue[cells] = waits - leaves
        for c, amount in zip(cells, leaves, strict=True):
            traffic.depart(c, amount)
        for own in self.buffers:
            excess = traffic.queue[cells[own]].sum() - self.limit
            if excess > 0.0:
                fits = time_until_full(excess, came[own].sum() - leaves[own].sum())
                fresh = np.minimum(came[own], traffic.queue[cells[own]])
                lost = drop_in_turn(fresh, excess, self.plan.quantum)
                for c, amount, new in zip(cells[own], lost, came[own], strict=True):
                    traffic.drop_tail(c, amount, new, fits, k * self.plan.step + fits * self.plan.step)
