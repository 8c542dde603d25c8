"""What the kernel must compute, said naively: NumPy over cells, batches in lists, no compiled code.

It knows runs without losses. Cells, delays and clocks come from the same plan and senders are the
same templates run as plain Python, always by the long way; the rates of DFC are those of `law`; all
else is written anew, without the kernel's cumulative counts, shortcuts and rounding.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import engine, sources
from dfcmodel.cells import ACK_END, ACK_FIRST, BUDGET, FIRST_RATE, START, TCP
from dfcmodel.disciplines import DFC, Fair, Pause, Priority
from dfcmodel.law import rates
from dfcmodel.sources import COLUMNS, EMITTED, MAX_WINDOW, SIZE, UP_TO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.plans import Floats, Plan

__all__ = ["advance"]


def advance(plan: Plan, steps: int, every: int) -> tuple[Floats, Floats, Floats]:
    """Run a plan from t = 0; arguments and result as for `engine.advance`.

    Raises
    ------
    NotImplementedError
        When a packet would be lost, and for RED.
    """
    return _Run(plan).advance(steps, every)


class _Run:
    """The state of a run: what is in every queue and on every way, as amounts."""

    def __init__(self, plan: Plan) -> None:
        s = self.s = plan.state
        self.plan, self.h = plan, plan.step
        self.F, self.C = len(s.flow), len(s.up)
        self.links = [plan.scenario.links[n] for n in plan.links]
        self.members = [np.arange(*s.cells[i]) for i in range(len(self.links))]
        self.way = [deque([0.0] * lag) for lag in s.lag]  # packets per step, the oldest first
        self.acks = [deque([(0.0, 0.0, 0.0)] * (row[ACK_END] - row[ACK_FIRST])) for row in s.flow]
        self.queue, self.budget = np.zeros(self.C), s.cell[:, BUDGET].copy()
        self.batches: list[deque[Floats]] = [deque() for _ in self.links]
        self.told = np.stack([s.told[: self.C, FIRST_RATE], np.zeros(self.C)])
        self.message = self.told.copy()
        self.heard: dict[int, list[bool]] = {n: [] for n in range(len(s.pairs))}
        self.clocks = [(self.period(i), self.phase(i)) for i in range(len(s.kind))]
        self.fed = [  # cells that get their packets from those of a link
            [d for d in range(self.F, self.C) if s.cells[i, 0] <= s.up[d] < s.cells[i, 1]]
            for i in range(len(s.kind))
        ]
        # the way from a host to the first queue is not in the network
        self.inside = [c for c in range(self.C) if c >= self.F or c not in s.up[self.F :]]
        self.send = engine.splice(sources.send, plan.kinds, compiled=False)
        self.receive = engine.splice(sources.receive, plan.kinds, compiled=False)

    def advance(self, steps: int, every: int) -> tuple[Floats, Floats, Floats]:
        record = np.zeros((steps // every, self.F, 4))
        queued = np.zeros((steps // every, self.C))
        for k in range(steps):
            self.feedback(k)
            self.pause(k)
            self.sources(k)
            came = np.array([self.way[u].popleft() for u in self.s.up[self.F :]])
            for i, members in enumerate(self.members):
                self.serve(i, members, came[members - self.F])
            n = k // every
            for c in self.inside:
                record[n, self.s.flow_of[c], 0] += sum(self.way[c]) / every
            if (k + 1) % every == 0:
                window = np.minimum(self.s.tcp[:, COLUMNS], self.s.tcp[:, MAX_WINDOW])
                record[n, :, 1:] = np.stack(
                    [self.s.tcp[:, UP_TO], window, self.queue[: self.F]], axis=1
                )
                queued[n, self.F :] = self.queue[self.F :]
        return record, queued, np.zeros_like(queued)

    def feedback(self, k: int) -> None:
        """Messages that are due arrive, rates follow, new messages leave."""
        s = self.s
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        for i in ticking:
            cells = np.arange(*s.cells[i])
            self.told[:, cells] = self.message[:, cells]
        for i in ticking:
            cells = np.arange(*s.cells[i])
            self.budget[cells] = self.law(i, k, nominal=False)
            for d in self.fed[i]:
                j = s.link_of[d]
                if self.is_dfc(j) and k > s.flow[s.flow_of[d], START]:
                    nominal = self.law(j, k, nominal=True)
                    self.message[0, s.up[d]] = nominal[d - s.cells[j, 0]]
                    self.message[1, s.up[d]] = self.queue[d]

    def law(self, i: int, k: int, *, nominal: bool) -> Floats:
        """Return J of the flows at a link (the access links of shaped hosts come last)."""
        cells, link = np.arange(*self.s.cells[i]), self.link(i)
        active = k > self.s.flow[self.s.flow_of[cells], START]  # it starts after the feedback
        own = self.queue[cells] if i < len(self.links) else 0.0 * cells
        rule = link.discipline
        alpha = 1.0 if nominal else rule.intensity
        rate, waits = self.told[0, cells, None], self.told[1, cells, None]
        gain, capacity = rule.diffusion / link.delay * self.h, link.rate * self.h
        J: Floats = rates(rate, waits, own[:, None], active[:, None], alpha, gain, capacity)[:, 0]
        return J

    def link(self, i: int) -> Any:
        if i < len(self.links):
            return self.links[i]
        scenario = self.plan.scenario
        return scenario.path(scenario.flows[self.s.cells[i, 0]])[0]

    def is_dfc(self, i: int) -> bool:
        return isinstance(self.link(i).discipline, DFC)

    def period(self, i: int) -> int:
        return max(1, round(float(self.link(i).delay) / self.h))

    def phase(self, i: int) -> int:
        """Return in which step of its period a link's clock ticks; -1 where there is none."""
        s = self.s
        for period, _, first in s.clock:
            for slot in range(period):
                for at, cells in ((s.ticks_at, s.tick_cells), (s.many_at, s.many_cells)):
                    if s.cells[i, 0] in cells[at[first + slot] : at[first + slot + 1], 0]:
                        return slot
        return -1

    def pause(self, k: int) -> None:
        """Compare queues with thresholds; what was said reaches the paused after its way."""
        s = self.s
        self.open = np.array([np.floor(k.rate * self.h / self.plan.grid) for k in self.links])
        self.open *= self.plan.grid
        for n, (i, paused, wait, quanta, on, until) in enumerate(s.pairs):
            rule = self.links[i].discipline
            if not isinstance(rule, Pause):
                continue
            waits = self.queue[self.members[i]].sum()
            if not on and waits > rule.high:
                on, until = 1, k + quanta
            elif on and k >= until:
                on, until = int(waits > rule.low), until + quanta
            s.pairs[n, 4:] = on, until
            self.heard[n].append(bool(on))
            stopped = k >= wait and self.heard[n][k - wait]
            if paused < 0:
                full = s.host_pace[-1 - paused]
                self.budget[-1 - paused] = rule.paused_rate * self.h if stopped else full
            elif stopped:
                self.open[paused] = min(self.open[paused], rule.paused_rate * self.h)

    def sources(self, k: int) -> None:
        """Receivers take in what arrived, senders answer, hosts send."""
        s, grid = self.s, self.plan.grid
        for f in range(self.F):
            exit_cell = s.path[s.path_at[f + 1] - 1] if s.path_at[f + 1] > s.path_at[f] else f
            came = self.way[exit_cell].popleft() if self.way[exit_cell] else 0.0
            before = s.tcp[f, EMITTED]
            if k < s.flow[f, START]:
                self.way[f].append(0.0)
                continue
            if s.flow[f, TCP]:
                acks, advancing, acked = self.acks[f].popleft()
                answers = (
                    self.receive(s.tcp, s.log, s.holes, f, came, 0.0, grid) if came else (0, 0)
                )
                self.acks[f].append((*answers, s.tcp[f, UP_TO]))
                known = acked if acks else s.tcp[f, sources.ACKED]
                self.send(
                    s.tcp, s.log, f, k * self.h, self.h, acks, advancing, known, 0.0,
                    self.plan.scenario.min_rto, grid,
                )  # fmt: skip
            else:
                row = np.flatnonzero(s.schedule[slice(*s.schedule_at[f]), 0] <= k)[-1]
                pace = s.schedule[s.schedule_at[f, 0] + row, 1]
                s.tcp[f, EMITTED] = min(s.tcp[f, EMITTED] + pace, s.tcp[f, SIZE])
                s.tcp[f, UP_TO] += came
            self.queue[f] += s.tcp[f, EMITTED] - before
            leaves = min(self.queue[f], self.budget[f])
            self.queue[f] -= leaves
            self.way[f].append(leaves)

    def serve(self, i: int, cells: NDArray[np.int64], came: Floats) -> None:
        """Serve a link's queues with what came in this step."""
        link = self.links[i]
        self.queue[cells] += came
        waits = self.queue[cells]
        if self.is_dfc(i):
            leaves = np.minimum(waits, self.budget[cells])
        elif isinstance(link.discipline, (Fair, Priority)):
            leaves = self.by_rank(i, cells, waits)
        else:
            leaves = self.in_order(i, came)
        self.queue[cells] -= leaves
        over = self.queue[cells] if not link.shared else self.queue[cells].sum()
        if np.any(over > link.buffer + 1e-9):
            raise NotImplementedError(f"link {link.name} loses packets: the reference cannot")
        for c, amount in zip(cells, leaves, strict=True):
            self.way[c].append(amount)

    def in_order(self, i: int, came: Floats) -> Floats:
        """Serve first what came first: whole batches, then a part of one."""
        batches, left, leaves = self.batches[i], self.open[i], np.zeros_like(came)
        batches.append(came.copy())
        while batches and left > 0.0:
            part = min(1.0, left / batches[0].sum()) if batches[0].sum() > 0.0 else 1.0
            leaves += part * batches[0]
            left -= part * batches[0].sum()
            if part < 1.0:
                batches[0] *= 1.0 - part
                break
            batches.popleft()
        return leaves

    def by_rank(self, i: int, cells: NDArray[np.int64], waits: Floats) -> Floats:
        """Serve the lowest rank first; within a rank equal shares, none above what it has."""
        flows = self.plan.scenario.flows
        ranked = isinstance(self.links[i].discipline, Priority)
        rank = np.array([flows[self.s.flow_of[c]].priority if ranked else 0 for c in cells])
        leaves, left = np.zeros_like(waits), self.open[i]
        for r in np.unique(rank):
            for n in sorted(np.flatnonzero(rank == r), key=lambda n: waits[n]):
                behind = (rank == r) & (waits >= waits[n]) & (leaves == 0.0)
                leaves[n] = min(waits[n], left / max(1, behind.sum()))
                left -= leaves[n]
        return leaves
