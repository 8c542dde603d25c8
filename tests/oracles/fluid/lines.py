"""First come, first served, said naively: a list of what came in each step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["WaitingLine", "floor"]


def floor(amount: Floats, quantum: float) -> Floats:
    """Round amounts down to multiples of a quantum; infinite ones stay.

    Amounts of packets are on this grid, so that sums are exact: rounding is part of the model.

    Examples
    --------
    >>> floor(np.array([0.7, np.inf]), 0.25).tolist()
    [0.5, inf]
    """
    return np.floor(np.asarray(amount) / quantum) * quantum


class WaitingLine:
    """A FIFO queue of one or several flows: of each step what came, and what of all that has left.

    Parameters
    ----------
    flows
        How many share it.
    quantum
        Packets: amounts are multiples of it.
    """

    def __init__(self, flows: int, quantum: float) -> None:
        self.quantum = quantum
        self.steps: deque[Floats] = deque()  # not wholly served
        self.passed = np.zeros(flows)  # came in the steps before them
        self.sent = np.zeros(flows)
        self.served = self.arrived = 0.0

    def waits(self) -> float:
        """Return how many packets wait."""
        return self.arrived - self.served

    def append(self, came: Floats) -> None:
        """Let what came in a step wait behind all else."""
        self.steps.append(came.copy())
        self.arrived += came.sum()

    def serve(self, pace: float) -> Floats:
        """Return what leaves of what waits: whole steps, then a part of one.

        Of that one each flow sends its part rounded down; of two flows the second sends the rest.
        """
        self.served = min(self.served + pace, self.arrived)
        while self.steps and self.passed.sum() + self.steps[0].sum() <= self.served:
            self.passed += self.steps.popleft()
        sent, most = self.passed.copy(), self.passed
        if self.steps and self.served > self.passed.sum():
            part = (self.served - self.passed.sum()) / self.steps[0].sum()
            sent += floor(part * self.steps[0], self.quantum)
            most = self.passed + self.steps[0]
        if len(sent) == 1:
            sent[0] = self.served
        elif len(sent) == 2:
            sent[1] = min(self.served - sent[0], most[1])
            sent[0] = self.served - sent[1]
        leaves = sent - self.sent
        self.sent = sent
        return leaves

    def drop(self, amounts: Floats) -> None:
        """Take amounts out of what came last, in this step or before."""
        self.arrived -= amounts.sum()
        for n in range(len(self.steps) - 1, -1, -1):
            if not amounts.any():
                break
            own = np.minimum(self.steps[n], amounts)
            self.steps[n] = self.steps[n] - own
            amounts = amounts - own

    def delay(self) -> float:
        """Return for how many steps the first of what waits has done so, linear within a step."""
        if not self.steps:
            return 0.0
        whole = self.steps[0].sum()
        part = (self.served - self.passed.sum()) / whole if whole > 0.0 else 0.0
        return len(self.steps) - 1 + (1.0 - part)
