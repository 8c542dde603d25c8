"""Number of seeds of a measure: seeds are added until the interval of the mean is narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hopflow.intervals import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MIN_SEEDS", "STOPPING_LEVEL", "WIDTH", "is_narrow", "plus_minus", "run_seeds", "seeds_text"]

MIN_SEEDS = 4
"""Smallest number of seeds: Student's interval of fewer is unreliable."""
WIDTH = 0.05
"""Widest interval, from its lower to its upper end, that needs no more seeds: five percentage points."""
STOPPING_LEVEL = 0.975
"""Level of Student's t at which intervals of the mean contain it in 95 % although seeds stop where the interval is
narrow.

They stop early where the spread of the seeds is small by chance. At a level of 0.95 the intervals of normal values then
contain the mean in 92 to 95 %, and intervals of the larger of two equal shares in 87 to 93 %; at this level in 96 to 98
% and 91 to 96 %.
"""

Run = TypeVar("Run")


def is_narrow(values: Sequence[float], width: float = WIDTH) -> bool:
    """Return whether the interval of the mean at `STOPPING_LEVEL` is at most this wide; False without an interval.

    >>> is_narrow([0.50, 0.51, 0.505, 0.505]), is_narrow([0.4, 0.5, 0.6]), is_narrow([0.5])
    (True, False, False)
    """
    return bool(2.0 * half_width(values, STOPPING_LEVEL) <= width)  # False for NaN


def run_seeds(run: Callable[[int], Run], seeds: Iterable[int], is_enough: Callable[[list[Run]], bool]) -> list[Run]:
    """Run seeds in order until an interval is narrow, or to the end; return the runs.

    A larger budget begins with the runs of a smaller one. The stop depends on the width of the interval alone, never on
    its position.

    >>> run_seeds(float, range(10), lambda runs: sum(runs) > 9.0)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    runs: list[Run] = []
    for seed in seeds:
        runs.append(run(int(seed)))
        if len(runs) >= MIN_SEEDS and is_enough(runs):
            break
    return runs


def seeds_text(counts: Sequence[int] | NDArray[Any]) -> str:
    """Return the minimum and maximum number of seeds as a string.

    >>> seeds_text([3, 8]), seeds_text([3, 3])
    ('3 to 8', '3')
    """
    minimum, maximum = int(np.min(counts)), int(np.max(counts))
    return f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"


def plus_minus(half_width: float, form: str = ".2g") -> str:
    """Return a half width as a string; "" if it is not finite.

    >>> plus_minus(0.0123), plus_minus(float("nan"))
    (' ± 0.012', '')
    """
    return f" ± {half_width:{form}}" if np.isfinite(half_width) else ""
