"""Pauses in the reference: thresholds, messages on their way, and what they stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import STORM
from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

    Floats = NDArray[np.float64]

__all__ = ["Pauses"]


class Pauses:
    """The links and classes that ask others to pause (`records.PAUSE`), and what these may send.

    Attributes
    ----------
    pace
        Packets that each link may send in the step, shape (L,).
    stopped
        For which part of the step each FIFO queue is paused, shape (B,).
    switches
        Pauses that began (1) and ended (0): when in steps, which one, 1 or 0.
    """

    def __init__(self, plan: FluidPlan, traffic: Traffic) -> None:
        self.plan, self.queue, self.backlog = plan, traffic.queue, traffic.backlog
        self.rows = plan.feedback.pauses.view(np.recarray)
        self.full = plan.network.links["rate"].copy()
        self.pace, self.stopped = self.full.copy(), np.zeros(len(plan.bands))
        self.switches: list[tuple[float, int, int]] = []
        self.asked: list[list[list[float]]] = [[] for _ in self.rows]  # begins and ends, in steps

    def exchange(self, k: int, budget: Floats) -> None:
        """Compare queues with thresholds; what was said reaches the paused after its way.

        ``budget``, what hosts may send per step, is set where they are paused.
        """
        self.pace, self.stopped = self.full.copy(), 0.0 * self.stopped
        hosts = [-1 - row.paused for row in self.rows if row.paused < 0]
        budget[hosts] = self.plan.feedback.host_pace[hosts]
        for n, row in enumerate(self.rows):
            self.ask(n, row, k, self.waits(n, row, k))
            stopped = self.heard(n, row, k)
            if stopped == 0.0:
                continue
            if row.band >= 0:
                self.stopped[row.band] = max(stopped, self.stopped[row.band])
                continue
            paces, at = (self.pace, row.paused) if row.paused >= 0 else (budget, -1 - row.paused)
            full = self.full[at] if row.paused >= 0 else self.plan.feedback.host_pace[at]
            left = floor(full - stopped * (full - row.paused_rate), self.plan.quantum)
            paces[at] = min(paces[at], left)

    def waits(self, n: int, row: Any, k: int) -> float:
        """Return what waits for a pause: of a class and ingress, at all links that count together, or of a link."""
        if row.held == STORM:
            return float(k - row.room)
        if row.first == row.end:
            return float(self.backlog[row.pausing])
        circle = [n]
        while self.rows[circle[-1]].also != n:
            circle.append(self.rows[circle[-1]].also)
        counted = (self.rows[m] for m in circle)
        return float(sum(self.queue[int(own.first) : int(own.end)].sum() for own in counted))

    def heard(self, n: int, row: Any, k: int) -> float:
        """Return for which part of step k what was asked for, one delay ago, stops the paused."""
        begin = k - row.wait - row.part
        parts = (min(b, begin + 1.0) - max(a, begin) for a, b in self.asked[n])
        return min(1.0, float(sum(max(0.0, part) for part in parts)))

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
        row.backlog = waits
