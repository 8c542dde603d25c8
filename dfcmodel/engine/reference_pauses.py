"""Pauses in the reference: thresholds, messages on their way, and what they stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    STORM,
)
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import Pause

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.layouts import Layout
    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["PausedRun"]


class PausedRun:
    """The part of a run that pauses links, hosts and classes."""

    plan: Plan
    s: Layout
    h: float
    links: list[Any]
    members: list[NDArray[np.int64]]
    flows: Any
    queue: Floats
    budget: Floats
    open: Floats
    pauses: Any
    held: dict[tuple[int, int], float]
    switches: list[tuple[float, int, int]]
    asked: list[list[list[float]]]

    def pause(self, k: int) -> None:
        """Compare queues with thresholds; what was said reaches the paused after its way."""
        self.open = np.array([np.floor(k.rate * self.h / self.plan.quantum) for k in self.links])
        self.open *= self.plan.quantum
        self.held = {}
        hosts = [-1 - row.paused for row in self.pauses if row.paused < 0]
        self.budget[hosts] = self.plan.host_pace[hosts]
        for n, row in enumerate(self.pauses):
            i, paused = row.pausing, row.paused
            rule = self.links[i].discipline
            if not isinstance(rule, (Pause, PFC)):
                continue
            per_class = isinstance(rule, PFC)
            cells = np.arange(int(row.first), int(row.end)) if per_class else self.members[i]
            waits = k - row.room if row.held == STORM else self.queue[cells].sum()
            if per_class and row.held != STORM:
                waits = self.waiting_together(n)
            self.ask(n, row, k, waits)
            row.backlog = waits
            begin = k - row.wait - row.part
            parts = (min(b, begin + 1.0) - max(a, begin) for a, b in self.asked[n])
            stopped = sum(max(0.0, part) for part in parts)
            full = (
                self.plan.host_pace[-1 - paused] if paused < 0 else self.links[paused].rate * self.h
            )
            left = 0.0 if isinstance(rule, PFC) else rule.paused_rate
            pace = full - stopped * (full - left * self.h) if stopped else full
            if paused < 0:
                self.budget[-1 - paused] = min(self.budget[-1 - paused], pace)
            elif stopped and isinstance(self.links[paused].discipline, PFC) and per_class:
                held = paused, self.priority(cells[0])
                self.held[held] = max(stopped, self.held.get(held, 0.0))
            elif stopped:
                self.open[paused] = min(self.open[paused], pace)

    def waiting_together(self, n: int) -> float:
        """Return what waits of a class and ingress at all links that count together."""
        rows, found = [n], 0.0
        while self.pauses[rows[-1]].also != n:
            rows.append(self.pauses[rows[-1]].also)
        for m in rows:
            found += self.queue[int(self.pauses[m].first) : int(self.pauses[m].end)].sum()
        return found

    def priority(self, c: int) -> int:
        """Return the class of a queue."""
        return int(self.plan.scenario.flows[self.s.flow_of[c]].priority)

    def ask(self, n: int, row: Any, k: int, waits: float) -> None:
        """Begin or end a pause where the queue, linear in step k - 1, crossed a threshold."""
        ends = self.asked[n][-1][1] if self.asked[n] else 0.0
        crossing = [
            k - 1 + (level - row.backlog) / (waits - row.backlog) if waits != row.backlog else k
            for level in (row.high, row.low)
        ]
        if not row.on and waits > row.high:
            row.on = 1
            time = crossing[0] if row.backlog < row.high else k - 1.0
            self.asked[n].append([time, np.inf])
            row.until = time + row.quanta
        elif row.on and row.quanta == 0.0 and waits <= row.low:
            row.on, time = 0, crossing[1]
        if row.on and row.quanta:
            now = [k - 1, k], [row.backlog, waits]
            while row.until <= k and np.interp(row.until, *now) > row.low:
                row.until += row.quanta
            if row.until <= k:
                row.on, time = 0, row.until
        if row.on != (ends == np.inf):
            self.asked[n][-1][1] = np.inf if row.on else time
            self.switches.append((time, n, row.on))
