"""What is on its way and what waits, flow by flow and queue by queue, as amounts."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import NO_FEEDBACK
from tests.oracles.fluid.lines import floor
from tests.oracles.fluid.losses import LossCurve, places

if TYPE_CHECKING:
    from dfcmodel.engine.plan import FluidPlan

__all__ = ["Traffic"]


class Traffic:
    """The packets in a network: of each flow at each of its queues, the first ones its host's.

    Attributes
    ----------
    queue
        Packets that wait, shape (C,).
    way, late
        Packets per step on the way to the next queue or the receiver, the next to arrive first; the part of
        a step that comes a step later.
    backlog
        Packets that wait at links whose flows share them, shape (L,): their parts at queues are rounded.
    came
        Packets that ever came to a queue, shape (C,).
    delivered
        Packets that came to the receivers, shape (F,).
    lost
        Packets lost at a queue since the last record, shape (C,).
    curves
        What each queue lost and marked of flows that hear of it.
    """

    def __init__(self, plan: FluidPlan) -> None:
        flows, queues = plan.network.flows, plan.network.queues[:-1]
        self.quantum = plan.quantum
        C, F = len(queues), len(flows)
        self.up, self.lag, self.flow_of = (queues[name].astype(np.int64) for name in ("origin", "lag", "flow"))
        self.weight = queues["weight"].copy()
        self.way = [deque([0.0] * lag) for lag in self.lag]
        self.late, self.queue, self.came, self.lost = (np.zeros(C) for _ in range(4))
        self.backlog = np.zeros(len(plan.order))
        self.delivered, self.first_loss = np.zeros(F), np.full(F, np.nan)
        self.curves = [LossCurve(plan.quantum) for _ in range(C)]
        self.paths = [plan.network.path[flow["path_first"] : flow["path_end"]] for flow in flows]
        self.hears = (flows["source"] != NO_FEEDBACK)[self.flow_of]

    def arrive(self, c: int) -> float:
        """Take what comes to a queue in this step from its way; return it."""
        amount = float(self.way[self.up[c]].popleft())
        self.came[c] += amount
        return amount

    def deliver(self, f: int) -> float:
        """Take what comes to a receiver in this step from its way; return it."""
        way = self.way[self.paths[f][-1] if len(self.paths[f]) else f]
        amount = way.popleft() if way else 0.0
        self.delivered[f] += amount
        return amount

    def depart(self, c: int, amount: float) -> None:
        """Send packets on their way: a part arrives after the lag, the rest a step later."""
        part = float(floor(np.array(self.weight[c] * amount), self.quantum))
        self.way[c].append(part + self.late[c])
        self.late[c] = amount - part

    def lose(self, c: int, lost: float, when: float, begin: float, end: float, marked: float = 0.0) -> None:
        """Note what is lost or marked, at ``when`` s, of the packets from ``begin`` to ``end`` that came to a queue."""
        self.count(c, lost, when)
        if self.hears[c]:
            self.curves[c].add(begin, end, lost, marked, self.read(c))

    def mark(self, c: int, begin: float, end: float, marked: float) -> None:
        """Note what is marked of the packets from ``begin`` to ``end``, which have left a queue."""
        if self.hears[c]:
            self.curves[c].mark(begin, end, marked, self.read(c))

    def count(self, c: int, lost: float, when: float) -> None:
        """Count what is lost at ``when`` s."""
        f = int(self.flow_of[c])
        self.lost[c] += lost
        if lost > 0.0 and np.isnan(self.first_loss[f]):
            self.first_loss[f] = when

    def push_out(self, c: int, lost: float, when: float) -> None:
        """Drop of what waits in a queue, from its head."""
        self.count(c, lost, when)
        if self.hears[c]:
            self.curves[c].push_out(self.came[c], float(self.queue[c]), lost, self.read(c))
        self.queue[c] -= lost

    def read(self, c: int) -> float:
        """Return how many of the packets that left a queue their receiver has taken in."""
        f = int(self.flow_of[c])
        later = self.paths[f][list(self.paths[f]).index(c) + 1 :]
        return places([self.curves[d] for d in later], self.delivered[f], after=False)[0]

    def inside(self, c: int) -> Any:
        """Return what is on the way from a queue to the next or the receiver."""
        return sum(self.way[c]) + self.late[c]

    def drop_tail(self, c: int, lost: float, new: float, fits: float, when: float) -> None:
        """Drop of what came to a queue in this step, ``new`` in all, after the part of it that ``fits``."""
        if lost > 0.0:
            end = self.came[c]
            early = float(floor(np.array(fits * new), self.quantum))
            self.queue[c] -= lost
            self.lose(c, lost, when, min(end - new + early, end - lost), end)
