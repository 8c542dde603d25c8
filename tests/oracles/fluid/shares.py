"""Who may send how much of a link: equal parts, ranks, and classes that are paused for a part of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.fluid.lines import floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["equal_parts", "paces", "parts_by_rank"]


def equal_parts(most: Floats, left: float, quantum: float) -> Floats:
    """Divide an amount into equal parts, none above what it may be at most, in rounds (max-min fairness).

    What is less than a quantum for each goes to the first.
    """
    found = np.zeros_like(most)
    while left > 0.0 and (found < most).any():
        part = float(floor(np.array(left / np.count_nonzero(found < most)), quantum)) or left
        for n in np.flatnonzero(found < most):
            more = min(part, left, most[n] - found[n])
            found[n] += more
            left -= more
    return found


def parts_by_rank(most: Floats, ranks: NDArray[np.int64], left: float, quantum: float) -> Floats:
    """Divide an amount among ranks, the lowest first, within a rank in equal parts."""
    found = np.zeros_like(most)
    for rank in np.unique(ranks):
        own = ranks == rank
        found[own] = equal_parts(most[own], left, quantum)
        left -= found[own].sum()
    return found


def paces(waits: Floats, ranks: NDArray[np.int64], stopped: Floats, pace: float, quantum: float) -> Floats:
    """Return what each FIFO queue of a link may send in a step in which the link sends ``pace``.

    One that is paused for a part ``stopped`` of the step sends in the rest of it what it would have, were it
    not paused and full; others take what is left.
    """
    most = waits
    if stopped.any():
        alone = parts_by_rank(np.where(stopped > 0.0, pace, waits), ranks, pace, quantum)
        rest = np.minimum(waits, floor((1.0 - stopped) * alone, quantum))
        most = np.where(stopped > 0.0, rest, waits)
    return parts_by_rank(most, ranks, pace, quantum)
