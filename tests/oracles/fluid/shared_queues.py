"""Links whose flows share what they send, in a step: early drops, service, full buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.engine.kernel.records import FAIR_SHARES, PER_INPUT
from dfcmodel.network.queueing.disciplines import Arrivals, manager_of
from tests.oracles.fluid.drops import (
    RandomNumbers,
    common_length,
    drop_part,
    drop_whole,
    time_until_full,
)
from tests.oracles.fluid.lines import WaitingLine, floor
from tests.oracles.fluid.managed_links import ManagedLink
from tests.oracles.fluid.shares import paces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

    Floats = NDArray[np.float64]

__all__ = ["SharedQueues"]


class SharedQueues:
    """Link i with FIFO queues: one of all flows, one of each, one per input, or one per class."""

    def __init__(self, plan: FluidPlan, i: int, traffic: Traffic, random: RandomNumbers) -> None:
        self.plan, self.place, self.traffic, self.random = plan, i, traffic, random
        self.q, self.h = plan.quantum, plan.step
        self.link = plan.network.links[i]
        self.first = int(self.link["first"])
        self.cells = np.arange(self.first, int(self.link["end"]))
        first = int(self.link["first_band"])
        bands = plan.bands[first : int(self.link["end_band"])]
        self.ranks = bands["rank"].copy()
        self.bands = [slice(int(a) - self.first, int(b) - self.first) for a, b in bands[["first", "end"]].tolist()]
        self.lines = [WaitingLine(own.stop - own.start, self.q) for own in self.bands]
        self.pooled = range(int(self.link["first_pooled"] - first), len(self.bands))
        self.owed = np.zeros(len(self.cells))
        self.drawn = RandomNumbers(int(self.link["loss_seed"])) if self.link["loss_seed"] else None
        self.new = self.came = np.zeros(len(self.cells))
        self.in_rooms: dict[int, float] = {}  # by row of `PAUSE`, after the last step
        self.manager = None
        if self.link["manager"] >= 0:
            seen = slice(*(int(self.link[name]) - first for name in ("first_managed", "end_managed")))
            self.managed_lines = self.lines[seen]
            self.managed = slice(self.bands[seen][0].start, self.bands[seen][-1].stop)
            scenario = plan.scenario
            self.manager = ManagedLink(
                manager_of(scenario.links[plan.order[i]].discipline),  # type: ignore[arg-type]
                scenario.packet_size,
                float(self.link["limit"]),
                traffic.hears[self.cells[self.managed]],
                self.q,
            )

    def waits(self) -> Floats:
        """Return what waits of each flow."""
        return self.traffic.queue[self.cells]

    def serve(self, k: int, pace: float, budget: Floats, stopped: Floats) -> None:
        """Serve them in step k: at most ``pace`` in all, inputs of DFC at most ``budget``; drop what has no room.

        ``stopped``: for which part of the step each FIFO queue is paused.
        """
        before = self.pool()
        self.new = np.array([self.traffic.arrive(c) for c in self.cells])
        self.came = self.new.copy()
        if self.manager is not None and not self.manager.late:
            self.drop_early(k, pace)
        self.traffic.queue[self.cells] += self.came
        for own, line in zip(self.bands, self.lines, strict=True):
            line.append(self.came[own])
        may = budget[[own.start for own in self.bands]]
        if self.link["kind"] != PER_INPUT:
            waits = np.array([line.waits() for line in self.lines])
            may = paces(waits, self.ranks, stopped, pace, self.q)
        left = np.zeros_like(self.came)
        for own, line, amount in zip(self.bands, self.lines, may, strict=True):
            left[own] = line.serve(amount)
        self.traffic.queue[self.cells] -= left
        for c, amount in zip(self.cells, left, strict=True):
            self.traffic.depart(c, amount)
        if self.manager is not None and self.manager.late:
            self.mark_leaving(k, pace, left[self.managed])
        self.drop_from_rooms(k)
        if self.link["shared"]:
            self.drop_from_pool(k, before)
        else:
            self.drop_from_own(k, left)
        self.traffic.backlog[self.place] = sum(line.waits() for line in self.lines)

    def pool(self) -> float:
        """Return what shares the buffer, or the part of it that is not reserved."""
        return sum(self.lines[b].waits() for b in self.pooled)

    def seen(self, k: int, pace: float, amount: float) -> Arrivals:
        """Return what the manager sees of a step in which an amount comes, or leaves."""
        waits = sum(line.waits() for line in self.managed_lines)
        delay = min((line.delay() for line in self.managed_lines if line.steps), default=0.0) * self.h
        return Arrivals(k * self.h, self.h, waits, amount, pace / self.h, delay, self.random())

    def mark_leaving(self, k: int, pace: float, left: Floats) -> None:
        """Mark what the link's manager asks for of what left."""
        assert self.manager is not None
        _, marks = self.manager.manage(self.seen(k, pace, left.sum()), left, self.random)
        for c, amount, marked in zip(self.cells[self.managed], left, marks, strict=True):
            if marked > 0.0:
                end = self.traffic.came[c] - self.traffic.queue[c]
                self.traffic.mark(c, end - amount, end, marked)

    def drop_early(self, k: int, pace: float) -> None:
        """Drop and mark what the link's manager asks for."""
        assert self.manager is not None
        own = self.managed
        came = self.came[own].copy()
        seen = self.seen(k, pace, came.sum())
        drops, marks = self.manager.manage(seen, came, self.random)
        self.came[own] -= drops
        for c, new, lost, marked in zip(self.cells[own], came, drops, marks, strict=True):
            if lost > 0.0 or marked > 0.0:
                end = self.traffic.came[c]
                self.traffic.lose(c, lost, k * self.h, end - new, end, marked)

    def take(self, b: int, lost: Floats, k: int, fits: Floats) -> None:
        """Take losses out of what came last to a FIFO queue, after the parts of the step that fit."""
        own = self.bands[b]
        self.lines[b].drop(lost)
        self.came[own] -= lost
        cells, new = self.cells[own], self.new[own]
        for c, amount, came, part in zip(cells, lost, new, fits, strict=True):
            when = k * self.h + part * self.h
            self.traffic.drop_tail(c, amount, came, part, when)

    def fresh(self, own: slice) -> Floats:
        """Return what came of some flows in the step and waits."""
        return np.minimum(self.came[own], self.waits()[own])

    def drop_from(self, b: int, own: slice, excess: float, part: float, k: int, fits: float) -> float:
        """Drop a part of what came of some flows to a FIFO queue, at most ``excess``; return how much that is."""
        fresh, flows = self.fresh(own), own.stop - own.start
        if self.drawn is not None and flows > 1:
            lost = drop_whole(fresh, self.owed[own], excess, self.drawn)
        else:
            lost = drop_part(fresh, excess, part, self.q)
        begin = own.start - self.bands[b].start
        every = np.zeros(self.bands[b].stop - self.bands[b].start)
        every[begin : begin + flows] = lost
        self.take(b, every, k, np.full(len(every), fits))
        return float(lost.sum())

    def drop_from_rooms(self, k: int) -> None:
        """Drop what exceeds the room of an ingress and class, with what waits of it at other links (PFC)."""
        rows, queue = self.plan.feedback.pauses, self.traffic.queue
        for n in range(self.link["first_ingress"], self.link["end_ingress"]):
            own = slice(*(int(rows[name][n]) - self.first for name in ("first", "end")))
            waits, m = self.waits()[own].sum(), rows["also"][n]
            growth = waits - self.in_rooms.get(n, 0.0)
            excess = waits - rows["room"][n]
            while m != n:
                excess += queue[int(rows["first"][m]) : int(rows["end"][m])].sum()
                m = rows["also"][m]
            if excess > 0.0:
                b = next(b for b, band in enumerate(self.bands) if own.start < band.stop)
                part = min(1.0, excess / self.fresh(own).sum())
                self.drop_from(b, own, excess, part, k, time_until_full(excess, growth))
            self.in_rooms[n] = self.waits()[own].sum()

    def drop_from_pool(self, k: int, before: float) -> None:
        """Drop what exceeds a buffer that flows share, from the highest rank first."""
        excess = self.pool() - (self.link["limit"] - self.link["reserved"])
        if excess <= 0.0:
            return
        fits = time_until_full(excess, self.pool() - before)
        for rank in np.unique(self.ranks)[::-1]:
            own = [b for b in self.pooled if self.ranks[b] == rank]
            if self.link["kind"] == FAIR_SHARES:
                excess -= self.push_out(own, excess, k, fits)
                continue
            total = sum(self.fresh(self.bands[b]).sum() for b in own)
            if excess <= 0.0 or total <= 0.0:
                continue
            part = min(1.0, excess / total)
            for b in own:
                excess -= self.drop_from(b, self.bands[b], excess, part, k, fits)

    def push_out(self, own: list[int], excess: float, k: int, fits: float) -> float:
        """Drop at most ``excess`` from the heads of queues of one flow, the longest first; return how much."""
        waits = np.array([self.lines[b].waits() for b in own])
        amount = left = min(excess, waits.sum())
        length = common_length(waits, waits.sum() - amount)
        for b, waiting in zip(own, waits, strict=True):
            if waiting > length and left > 0.0:
                over = float(floor(np.array(waiting - length), self.q)) + self.q
                lost = min(waiting, left, over)
                self.lines[b].drop(np.array([lost]))
                when = k * self.h + fits * self.h
                self.traffic.push_out(self.cells[self.bands[b].start], lost, when)
                left -= lost
        return float(amount)

    def drop_from_own(self, k: int, left: Floats) -> None:
        """Drop what exceeds the buffers that flows have of their own."""
        excess = np.maximum(0.0, self.waits() - self.link["limit"])
        fresh = self.fresh(slice(None))
        for b, own in enumerate(self.bands):
            growth = self.came[own] - left[own]
            fits = np.array([time_until_full(*each) for each in zip(excess[own], growth, strict=True)])
            self.take(b, np.minimum(fresh[own], excess[own]), k, fits)
