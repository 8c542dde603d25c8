"""Diffusion-type flow control in the reference: clocks, messages, and rates of the flows at a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import DFC
from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share
from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

    Floats = NDArray[np.float64]

__all__ = ["Feedback"]


class Feedback:
    """What nodes tell each other of each flow, and the rates that follow, takano2006, Sect. 2.1.

    Attributes
    ----------
    budget
        Packets that each queue, and each host, may send per step, shape (C,).
    told, message
        Rates and backlogs that queues were told of the next ones, and those on their way, shape (2, C).
    sends
        Whether each flow has started and is not complete, shape (F,).
    """

    def __init__(self, plan: FluidPlan, traffic: Traffic) -> None:
        self.plan, self.h, self.traffic = plan, plan.step, traffic
        self.links: list[Any] = plan.links
        self.inner = len(plan.order)  # then those that shaped hosts imitate
        queues = plan.network.queues[:-1]
        self.up, self.link_of = queues["origin"].astype(np.int64), queues["link"].copy()
        self.budget, self.full = queues["service"].copy(), queues["link_rate"].copy()
        self.told, self.message = np.zeros((2, len(queues))), np.zeros((2, len(queues)))
        self.sends = np.zeros(len(plan.network.flows), dtype=bool)
        self.clocks = [(self.period(i), self.phase(i)) for i in range(len(self.links))]
        self.fed = [  # queues that get their packets from those of a link
            [d for d in range(len(self.sends), len(queues)) if self.up[d] in self.cells(i)]
            for i in range(len(self.links))
        ]

    def period(self, i: int) -> int:
        """Return the period of a link's feedback in steps."""
        return max(1, round(float(self.links[i].delay) / self.h))

    def phase(self, i: int) -> int:
        """Return in which step of its period a link's clock ticks; -1 where there is none."""
        tables = self.plan.feedback
        for period, _, first in tables.clocks:
            for n in range(first, first + period):
                slot = tables.slots[n]
                by_flow = tables.receiving[slot["receive_one"] : slot["receive_end"], 0]
                by_input = tables.input_receiving[slot["receive_input"] : slot["receive_input_end"]]
                if self.cells(i)[0] in by_flow or i in by_input:
                    return int(n - first)
        return -1

    def cells(self, i: int) -> NDArray[np.int64]:
        """Return the queues of a link."""
        return np.arange(self.plan.queues_at(i).start, self.plan.queues_at(i).stop)

    def backlog(self, i: int, cells: NDArray[np.int64]) -> Floats:
        """Return what waits in queues of a link; a host is a node that holds nothing (eq. 9)."""
        waits: Floats = self.traffic.queue[cells] * (i < self.inner)
        return waits

    def is_dfc(self, i: int) -> bool:
        """Return whether a link has DFC."""
        return isinstance(self.links[i].discipline, DFC)

    def ticking(self, k: int) -> list[int]:
        """Return the links whose clocks tick in step k."""
        return [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]

    def exchange(self, k: int) -> None:
        """Let messages that are due arrive, set the rates that follow, let new messages leave."""
        ticking = self.ticking(k)
        for i in ticking:
            cells = self.cells(i)
            self.told[:, cells] = self.message[:, cells]
            rates = self.rates(i, self.links[i].discipline.intensity)
            self.budget[cells] = floor(rates, self.plan.quantum)
        for i in ticking:
            for d in self.fed[i]:
                j = int(self.link_of[d])
                if self.is_dfc(j):
                    nominal = self.rates(j, 1.0)[d - self.cells(j)[0]]
                    self.message[:, self.up[d]] = nominal, self.traffic.queue[d]

    def rates(self, i: int, alpha: float) -> Floats:
        """Return the rates of the flows at a link, eqs. (2) and (13); ``alpha`` = 1: the nominal ones (5)."""
        cells, link = self.cells(i), self.links[i]
        gain, capacity = link.discipline.diffusion / link.delay * self.h, link.rate * self.h
        told = self.told[:, cells]
        J = diffusive_rate(alpha, told[0], gain, told[1], self.backlog(i, cells))
        wanted: Floats = np.maximum(0.0, J)
        if len(cells) == 1:
            alone: Floats = np.minimum(wanted, capacity)
            return alone
        shared: Floats = proportional_share(capacity, wanted.sum()) * wanted
        return shared

    def start(self, f: int) -> None:
        """Tell the nodes of a flow of full rates and empty queues."""
        self.sends[f] = True
        self.reset(f, 1.0)

    def finish(self, f: int) -> None:
        """Let a complete flow take no part any more."""
        self.sends[f] = False
        self.reset(f, 0.0)

    def reset(self, f: int, part: float) -> None:
        """Set what the nodes of a flow were told to a part of their links' rates, and to empty queues."""
        own = [f, *self.traffic.paths[f]]
        for told in (self.told, self.message):
            told[0, own], told[1, own] = part * self.full[own], 0.0
