"""How many seeds a measure gets, and its intervals: seeds are added until the interval of the mean is narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hopflow.intervals import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MIN_SEEDS", "STOPPING_LEVEL", "WIDTH", "is_narrow", "plus_minus", "run_seeds", "seeds_text"]

MIN_SEEDS = 4
"""Seeds before an interval decides: Student's of fewer says little about their spread."""
WIDTH = 0.05
"""Widest interval, from its lower to its upper end, that needs no more seeds: five percentage points."""
STOPPING_LEVEL = 0.975
"""Level of Student's t at which intervals of the mean contain it in 95 % although seeds stop where the interval is narrow.

They stop early where the spread of the seeds is small by chance. At a level of 0.95 the intervals of normal values then contain
the mean in 92 to 95 %, and those of the larger of two equal shares in 87 to 93 %; at this level in 96 to 98 % and 91 to 96 %.
"""

Run = TypeVar("Run")


def is_narrow(values: Sequence[float], width: float = WIDTH) -> bool:
    """Return whether the interval of the mean at `STOPPING_LEVEL` is at most this wide; False without an interval.

    >>> is_narrow([0.50, 0.51, 0.505, 0.505]), is_narrow([0.4, 0.5, 0.6]), is_narrow([0.5])
    (True, False, False)
    """
    return bool(2.0 * half_width(values, STOPPING_LEVEL) <= width)  # False for NaN


def run_seeds(run: Callable[[int], Run], seeds: Iterable[int], narrow: Callable[[list[Run]], bool]) -> list[Run]:
    """Return the runs of the first seeds that make an interval narrow; those of all seeds where none do.

    The seeds come in order, so that a larger budget begins with the runs of a smaller one. Where to stop depends on
    the width of the interval alone, never on where it lies.

    >>> run_seeds(float, range(10), lambda runs: sum(runs) > 9.0)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    runs: list[Run] = []
    for seed in seeds:
        runs.append(run(int(seed)))
        if len(runs) >= MIN_SEEDS and narrow(runs):
            break
    return runs


def seeds_text(counts: Sequence[int] | NDArray[Any]) -> str:
    """Return the fewest and the most seeds as text.

    >>> seeds_text([3, 8]), seeds_text([3, 3])
    ('3 to 8', '3')
    """
    minimum, maximum = int(np.min(counts)), int(np.max(counts))
    return f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"


def plus_minus(half_width: float, form: str = ".2g") -> str:
    """Return a half width as text; nothing where one run has none.

    >>> plus_minus(0.0123), plus_minus(float("nan"))
    (' ± 0.012', '')
    """
    return f" ± {half_width:{form}}" if np.isfinite(half_width) else ""
