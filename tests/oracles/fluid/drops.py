"""What full buffers drop of a step's arrivals, said naively: amounts of one step, a number per flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "RandomNumbers", "common_length", "draw", "drop_in_turn", "drop_part", "drop_whole", "time_until_full",
]  # fmt: skip


class RandomNumbers:
    """Numbers between 0 and 1 by the generator of Park and Miller (1988)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self) -> float:
        """Return the next one."""
        self.seed = 48271 * self.seed % 2147483647
        return self.seed / 2147483647.0


def draw(weights: Floats, at: float) -> int:
    """Return a place drawn in proportion to weights, ``at`` from 0 to 1."""
    n = int(np.searchsorted(np.cumsum(weights), at * weights.sum(), side="right"))
    return min(n, int(np.flatnonzero(weights)[-1]))


def time_until_full(excess: float, growth: float) -> float:
    """Return after which part of a step a buffer is full that grows evenly and ends ``excess`` above its limit."""
    return max(0.0, 1.0 - excess / growth) if growth > 0.0 else 0.0


def common_length(waits: Floats, room: float) -> float:
    """Return the length to which the longest queues are cut, so that all find ``room``."""
    length, longer = -1.0, 0.0
    while longer > length:
        length = longer
        short = waits <= length
        if short.all():
            return length
        longer = (room - waits[short].sum()) / np.count_nonzero(~short)
    return length


def drop_part(fresh: Floats, excess: float, part: float, quantum: float) -> Floats:
    """Return a part of what came, rounded up to the quantum; what is too much then the first flows keep."""
    found = np.minimum(fresh, floor(part * fresh, quantum) + quantum)
    surplus = max(0.0, found.sum() - excess)
    for n in range(len(found)):
        back = min(found[n], surplus)
        found[n] -= back
        surplus -= back
    return found


def drop_in_turn(fresh: Floats, excess: float, quantum: float) -> Floats:
    """Return what flows in queues of their own lose, each its part rounded up, the last ones what is left."""
    part = min(1.0, excess / fresh.sum()) if fresh.sum() > 0.0 else 0.0
    found = np.zeros_like(fresh)
    for n, came in enumerate(fresh):
        found[n] = min(came, float(floor(part * came, quantum)) + quantum, excess)
        excess -= found[n]
    return found


def drop_whole(fresh: Floats, owed: Floats, excess: float, random: Callable[[], float]) -> Floats:
    """Return what is lost in whole packets, each of a flow drawn in proportion to what came in the step.

    ``owed``, changed in place: what is still to be lost of packets drawn before, which comes first.
    """
    found = np.zeros_like(fresh)
    for n in range(len(fresh)):
        found[n] = min(fresh[n], owed[n], excess)
        excess -= found[n]
    owed -= found
    fresh = fresh - found
    while excess > 0.0 and fresh.sum() > 0.0:
        n = draw(fresh, random())
        lost = min(fresh[n], 1.0, excess)
        owed[n] += 1.0 - lost
        found[n] += lost
        fresh[n] -= lost
        excess -= lost
    return found
