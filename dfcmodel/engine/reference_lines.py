"""First come, first served, said naively: a list of what came in each step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["WaitingLine"]


class WaitingLine:
    """What waits in a FIFO queue: of each step what came and has not left, and how much came in all."""

    def __init__(self) -> None:
        self.steps: deque[tuple[Floats, float]] = deque()

    def serve(self, left: float, came: Floats) -> Floats:
        """Append what came; return what leaves of it and of what waited, whole steps first, then a part of one."""
        leaves = np.zeros_like(came)
        self.steps.append((came.copy(), float(came.sum())))
        while self.steps and (left > 0.0 or self.steps[0][0].sum() == 0.0):
            first = self.steps[0][0]
            part = min(1.0, left / first.sum()) if first.sum() > 0.0 else 1.0
            leaves += part * first
            left -= part * first.sum()
            if part < 1.0:
                first *= 1.0 - part
                break
            self.steps.popleft()
        return leaves

    def drop(self, amounts: Floats) -> None:
        """Take amounts out of what came last."""
        if amounts.sum() > 0.0:
            last, whole = self.steps[-1]
            self.steps[-1] = last - amounts, whole - amounts.sum()

    def delay(self) -> float:
        """Return for how many steps the first of what waits has done so, linear within a step."""
        if not self.steps:
            return 0.0
        first, whole = self.steps[0]
        return len(self.steps) - (1.0 - float(first.sum()) / whole if whole > 0.0 else 0.0)
