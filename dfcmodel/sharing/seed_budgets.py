"""How many seeds a measure gets: until its interval is narrow, or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dfcmodel.sharing.bottlenecks import mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEWEST_SEEDS", "WIDTH", "is_narrow", "run_seeds", "seeds_text"]

FEWEST_SEEDS = 3
"""Seeds before an interval decides: Student's of two values says little about their spread."""
WIDTH = 0.05
"""Widest interval, from its lower to its upper end, that needs no more seeds: five percentage points."""

Run = TypeVar("Run")


def is_narrow(values: Sequence[float], width: float = WIDTH) -> bool:
    """Return whether the 95 % interval of the mean is at most this wide; False without an interval.

    >>> is_narrow([0.50, 0.51, 0.505]), is_narrow([0.4, 0.5, 0.6]), is_narrow([0.5])
    (True, False, False)
    """
    return len(values) > 1 and bool(2.0 * mean_of(values)[1] <= width)


def run_seeds(run: Callable[[int], Run], seeds: range, narrow: Callable[[list[Run]], bool]) -> list[Run]:
    """Return the runs of the first seeds that make an interval narrow; those of all seeds where none do.

    The seeds come in order, so that a larger budget begins with the runs of a smaller one. Where to stop depends on
    the width of the interval alone, never on where it lies.

    >>> run_seeds(float, range(10), lambda found: sum(found) > 5.0)
    [0.0, 1.0, 2.0, 3.0]
    """
    found: list[Run] = []
    for seed in seeds:
        found.append(run(seed))
        if len(found) >= FEWEST_SEEDS and narrow(found):
            break
    return found


def seeds_text(counts: Sequence[int] | NDArray[Any]) -> str:
    """Return the fewest and the most seeds as text.

    >>> seeds_text([3, 8]), seeds_text([3, 3])
    ('3 to 8', '3')
    """
    least, most = int(np.min(counts)), int(np.max(counts))
    return f"{least}" if least == most else f"{least} to {most}"
