"""Convergence of means: over seeds, which are added until the interval is narrow, and with the duration of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hopflow.intervals import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "MIN_SEEDS",
    "SETTLED",
    "STOPPING_LEVEL",
    "WIDTH",
    "is_drifting",
    "is_narrow",
    "is_settled",
    "plus_minus",
    "run_seeds",
    "seeds_text",
]

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
    """Return whether the mean's interval at `STOPPING_LEVEL` is at most ``width`` wide; False without an interval.

    >>> is_narrow([0.50, 0.51, 0.505, 0.505]), is_narrow([0.4, 0.5, 0.6]), is_narrow([0.5])
    (True, False, False)
    """
    return bool(2.0 * half_width(values, STOPPING_LEVEL) <= width)  # False for NaN


def run_seeds(run: Callable[[int], Run], seeds: Iterable[int], is_enough: Callable[[list[Run]], bool]) -> list[Run]:
    """Return the runs of the seeds in order, until ``is_enough`` is true of at least `MIN_SEEDS` runs or the seeds end.

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
    """Return the minimum and maximum of ``counts`` as a string, such as "3 to 8"; one number if they are equal.

    >>> seeds_text([3, 8]), seeds_text([3, 3])
    ('3 to 8', '3')
    """
    minimum, maximum = int(np.min(counts)), int(np.max(counts))
    return f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"


def plus_minus(half_width: float, form: str = ".2g") -> str:
    """Return a half width with its sign, such as " ± 0.012"; "" if it is not finite.

    >>> plus_minus(0.0123), plus_minus(float("nan"))
    (' ± 0.012', '')
    """
    return f" ± {half_width:{form}}" if np.isfinite(half_width) else ""


SETTLED = "the mean of other seeds at four times the duration lies in the interval, in 95 % of the cases"
"""Meaning of the word in tables."""
DRIFT_LIMIT = 0.85
"""Largest mean difference of the halves over half the interval. A transient changes the mean about as much."""
SPREAD_LIMIT = 0.7
"""Smallest standard deviation of the runs over that which the differences of their halves predict for independent
halves.

Below it the spread of the runs is small by chance, and so is the interval.
"""
BIAS_LIMIT = 0.5
"""Largest change of the mean that is known to come with a longer duration, over half the interval."""
SMALLEST_DRIFT = 0.5 * WIDTH
"""Smallest difference of the halves of the measured time that counts as a drift: half of a narrow interval."""


def is_settled(
    values: Floats, first_half: Floats, second_half: Floats, interval: Any, *, bias: float = 0.0
) -> NDArray[np.bool_]:
    """Return whether halves of R runs show a longer run's mean within ± ``interval``; ``bias``: its known change.

    The limits were chosen on 36 drawn paths with 160 seeds each, apart from the paths of ``python -m benchmarks
    coverage``: where this was True, it was right in 97 % of the cases, and it was True in 58 to 62 % of the cases in
    which it would have been right. Most of the others were drifts that take much longer than a run, without a visible
    difference of its halves.

    Parameters
    ----------
    values, first_half, second_half
        A measure of R runs over the measured time, and in its halves, shape (R, ...).
    interval
        Half the width of the interval of the mean, shape (...); NaN: False.
    bias
        Known change of the mean with a longer duration.

    Examples
    --------
    >>> values = np.array([0.50, 0.52, 0.48, 0.51, 0.49])
    >>> first, second = values + [0.01, -0.02, 0.01, 0.02, -0.01], values - [0.01, -0.02, 0.01, 0.02, -0.01]
    >>> bool(is_settled(values, first, second, 0.02)), bool(is_settled(values, values - 0.02, values + 0.02, 0.02))
    (True, False)
    """
    drift = np.abs(np.mean(second_half - first_half, axis=0))
    if len(values) < 2:
        return np.zeros(drift.shape, dtype=bool)
    by_halves = 0.5 * np.std(second_half - first_half, axis=0, ddof=1)
    spread = np.std(values, axis=0, ddof=1)
    similar = (drift <= DRIFT_LIMIT * interval) & (abs(bias) <= BIAS_LIMIT * interval)
    return np.asarray(similar & (spread >= SPREAD_LIMIT * by_halves))


def is_drifting(first_half: Floats, second_half: Floats) -> bool:
    """Return whether the means of a measure in the halves of R runs, (R,) each, differ by more than chance."""
    drift = float(np.mean(second_half - first_half))
    interval = float(half_width(second_half - first_half)) if len(first_half) > 2 else WIDTH
    return not abs(drift) <= max(interval, SMALLEST_DRIFT)  # True for NaN, if a half is empty
