"""The reference where links with DFC have a queue per input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.reference_lines import WaitingLine
from dfcmodel.engine.reference_run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["RunByInput"]


class RunByInput(Run):
    """The same where links with DFC have a queue per input: to the law its flows are one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.inputs = []  # per link, and per host that imitates one, the cells of each queue
        for i in range(len(self.s.queues)):
            cells = np.arange(*self.s.queues[i])
            comes = np.array([self.source(c) for c in cells])
            self.inputs.append([cells[comes == u] for u in dict.fromkeys(comes)])
        rates = [self.link(i).rate * self.h for i in range(len(self.s.queues))]
        self.link_told = np.array([[rate, 0.0] for rate in rates])
        self.link_message = self.link_told.copy()
        self.lines = [[WaitingLine() for _ in own] for own in self.inputs]

    def source(self, c: int) -> int:
        """Return over which link a cell's packets come, -1 - flow from a host."""
        u = int(self.s.up[c])
        return int(self.s.link_of[u]) if u >= self.F else -1 - u

    def active(self, cells: Any, k: int) -> bool:
        """Return whether a flow of some queues has started."""
        return bool((k > self.flows.start[self.s.flow_of[cells]]).any())

    def feedback(self, k: int) -> None:
        """Messages that are due arrive, rates follow, new messages leave."""
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        self.link_told[ticking] = self.link_message[ticking]
        for i in ticking:
            alpha = self.link(i).discipline.intensity
            for cells, rate in zip(self.inputs[i], self.shares(i, k, alpha), strict=True):
                self.budget[cells] = rate  # of all of them together
        answers = [self.answer(i, k) for i in ticking]
        for i, answer in zip(ticking, answers, strict=True):
            self.link_message[i] = answer

    def shares(self, i: int, k: int, alpha: float) -> Floats:
        """Return what each queue of a link may send."""
        link, (r, ahead) = self.link(i), self.link_told[i]
        gain, most = link.discipline.diffusion / link.delay * self.h, link.rate * self.h
        waits = np.array([self.queue[cells].sum() for cells in self.inputs[i]])
        waits *= i < len(self.links)  # a host is a node that holds nothing (eq. 9)
        sends = [self.active(cells, k) for cells in self.inputs[i]]
        alone = np.where(sends, np.maximum(0.0, alpha * r - gain * (ahead - waits)), 0.0)
        most = min(most, max(0.0, alpha * r - gain * (ahead - waits.sum())))
        return alone * (most / alone.sum() if alone.sum() > most else 1.0)

    def answer(self, i: int, k: int) -> tuple[float, float]:
        """Return the nominal rate and the queue of what a link feeds, as it is told."""
        full = self.link(i).rate * self.h
        rate, waits, asked = 0.0, 0.0, False
        fed = {int(self.s.link_of[d]) for d in self.fed[i]}
        for j in sorted(j for j in fed if self.is_dfc(j)):
            for cells, share in zip(self.inputs[j], self.shares(j, k, 1.0), strict=True):
                if np.isin(cells, self.fed[i]).all():
                    rate += share
                    waits += self.queue[cells].sum()
                    asked |= self.active(cells, k)
        told = [self.s.up[d] for d in self.fed[i] if self.is_dfc(self.s.link_of[d])]
        for c in range(*self.s.queues[i]):
            if c not in told and self.active(c, k):
                rate, asked = rate + full, True
        return (min(rate, full) if asked else full), waits

    def by_rate(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:
        """Serve the queue of each input at its rate, in order."""
        leaves = np.zeros_like(came)
        for own, line in zip(self.inputs[i], self.lines[i], strict=True):
            at = own - cells[0]
            leaves[at] = line.serve(self.budget[own[0]], came[at])
        return leaves
