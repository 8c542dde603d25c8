"""What the reference drops, said naively: by managers before the queue, and by full buffers after service.

Amounts are those of one step at one link, an array with a number per flow.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.disciplines import Arrivals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel.network.disciplines import QueueManager

    Floats = NDArray[np.float64]

__all__ = ["ManagedLink", "RandomNumbers", "drop_tail", "drop_unfair"]


class RandomNumbers:
    """Numbers between 0 and 1 by the generator of Park and Miller (1988)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self) -> float:
        """Return the next one."""
        self.seed = 48271 * self.seed % 2147483647
        return self.seed / 2147483647.0


class ManagedLink:
    """A queue manager at a link whose flows do not react to marks: what it marks is dropped."""

    def __init__(
        self, manager: QueueManager, packet_size: float, buffer: float, flows: int
    ) -> None:
        self.manager, self.buffer = manager, buffer
        self.state: Any = manager.State()
        self.numbers = SimpleNamespace(**manager.numbers(packet_size))
        self.due = 0.0  # asked for, and not a whole packet yet
        self.owed = np.zeros(flows)  # whole packets of each flow that have not come yet

    def drops(self, seen: Arrivals, came: Floats, random: Callable[[], float]) -> Floats:
        """Return what is dropped of what came; whole packets are drawn in proportion to it."""
        self.state = self.manager.on_step(self.state, self.numbers, seen)
        asked = (self.state.drop, self.state.mark)
        if seen.arrivals <= 0.0:
            return np.zeros_like(came)
        if seen.arrivals in asked:
            self.owed, self.due = came.copy(), 0.0
        else:
            self.due = min(self.buffer + seen.arrivals, self.due + sum(asked))
            while self.due >= 1.0:
                at = np.searchsorted(np.cumsum(came), seen.arrivals * random(), side="right")
                self.owed[min(int(at), len(came) - 1)] += 1.0
                self.due -= 1.0
        found = np.minimum(came, self.owed)
        self.owed = self.owed - found
        return found


def drop_tail(waits: Floats, fresh: Floats, buffer: float) -> Floats:
    """Return what a full buffer drops of what came and still waits: in proportion to it."""
    excess = waits.sum() - buffer
    if excess <= 0.0 or fresh.sum() == 0.0:
        return np.zeros_like(waits)
    part = min(1.0, excess / float(fresh.sum()))
    found: Floats = part * fresh
    return found


def drop_unfair(waits: Floats, fresh: Floats, buffer: float, ranks: NDArray[np.int64]) -> Floats:
    """Return what is dropped of flows with a queue each: of those above their part, the highest rank first."""
    found = np.zeros_like(waits)
    excess = waits.sum() - buffer
    part = buffer / max(1, int(np.count_nonzero(waits)))
    for spared in (part, -1.0):
        for rank in np.unique(ranks)[::-1]:
            own = (ranks == rank) & (waits - found > spared)
            if excess > 0.0 and fresh[own].sum() > 0.0:
                left = fresh[own] - found[own]
                cut = left * min(1.0, excess / left.sum()) if left.sum() > 0.0 else 0.0 * left
                found[own] += cut
                excess -= cut.sum()
    return found
