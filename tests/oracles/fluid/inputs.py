"""Diffusion-type flow control in the reference where links have a queue per input: to the law its flows are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share
from tests.oracles.fluid.feedback import Feedback
from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

    Floats = NDArray[np.float64]

__all__ = ["InputFeedback"]


class InputFeedback(Feedback):
    """What nodes tell each other of all flows that come over a link (takano2006, footnote to 2.1)."""

    def __init__(self, plan: FluidPlan, traffic: Traffic) -> None:
        super().__init__(plan, traffic)
        self.inputs = []  # per link, and per host that imitates one, the cells of each queue
        for i in range(len(self.links)):
            comes = np.array([self.source(c) for c in self.cells(i)])
            self.inputs.append([self.cells(i)[comes == u] for u in dict.fromkeys(comes)])
        self.link_told = np.array([[link.rate * self.h, 0.0] for link in self.links])
        self.link_message = self.link_told.copy()

    def source(self, c: int) -> int:
        """Return over which link a cell's packets come, -1 - flow from a host."""
        u = int(self.up[c])
        return int(self.link_of[u]) if u >= len(self.sends) else -1 - u

    def active(self, cells: Any) -> bool:
        """Return whether a flow of some queues sends."""
        return bool(self.sends[self.traffic.flow_of[cells]].any())

    def exchange(self, k: int) -> None:
        """Let messages that are due arrive, set the rates that follow, let new messages leave."""
        ticking = self.ticking(k)
        self.link_told[ticking] = self.link_message[ticking]
        for i in ticking:
            rates = self.shares(i, self.links[i].discipline.intensity)
            for cells, rate in zip(self.inputs[i], rates, strict=True):
                self.budget[cells] = floor(rate, self.plan.quantum)  # of all of them together
        answers = [self.answer(i) for i in ticking]
        for i, answer in zip(ticking, answers, strict=True):
            self.link_message[i] = answer

    def shares(self, i: int, alpha: float) -> Floats:
        """Return what each queue of a link may send."""
        link, (r, ahead) = self.links[i], self.link_told[i]
        gain, most = link.discipline.diffusion / link.delay * self.h, link.rate * self.h
        waits = np.array([self.backlog(i, cells).sum() for cells in self.inputs[i]])
        sends = [self.active(cells) for cells in self.inputs[i]]
        alone = np.maximum(0.0, diffusive_rate(alpha, r, gain, ahead, waits)) * sends
        together = diffusive_rate(alpha, r, gain, ahead, waits.sum())
        shares: Floats = alone * proportional_share(max(0.0, min(most, together)), alone.sum())
        return shares

    def answer(self, i: int) -> tuple[float, float]:
        """Return the nominal rate and the queue of what a link feeds, as it is told."""
        full = self.links[i].rate * self.h
        rate, waits, asked = 0.0, 0.0, False
        fed = {int(self.link_of[d]) for d in self.fed[i]}
        for j in sorted(j for j in fed if self.is_dfc(j)):
            for cells, share in zip(self.inputs[j], self.shares(j, 1.0), strict=True):
                if np.isin(cells, self.fed[i]).all():
                    rate += share
                    waits += self.traffic.queue[cells].sum()
                    asked |= self.active(cells)
        told = [self.up[d] for d in self.fed[i] if self.is_dfc(self.link_of[d])]
        for c in self.cells(i):
            if c not in told and self.active(c):
                rate, asked = rate + full, True
        return (min(rate, full) if asked else full), waits
