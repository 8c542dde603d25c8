"""Convergence of means over runs with the duration, judged by the halves of the measured time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.sharing.seed_budgets import WIDTH
from hopflow.intervals import half_width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SETTLED", "is_drifting", "is_settled"]

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
    """Return whether the mean of other seeds at four times the duration is shown to be in the interval of the mean.

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
    """Return whether a measure differs between the halves of R runs by more than chance, shapes (R,)."""
    drift = float(np.mean(second_half - first_half))
    interval = float(half_width(second_half - first_half)) if len(first_half) > 2 else WIDTH
    return not abs(drift) <= max(interval, SMALLEST_DRIFT)  # True for NaN, if a half is empty
