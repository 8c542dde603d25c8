"""Whether means over runs would be the same if the runs were longer, judged by the halves of the measured time."""

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
"""What the word means in tables."""
DRIFT_LIMIT = 0.85
"""Largest mean difference of the halves over half the interval. A transient changes the mean about as much as the halves differ."""
SPREAD_LIMIT = 0.7
"""Smallest standard deviation of the runs over that which the differences of their halves predict for independent halves.

Below it the spread of the runs is small by chance, and so is the interval.
"""
BIAS_LIMIT = 0.5
"""Largest change of the mean that is known to come with a longer duration, over half the interval."""
SMALLEST_DRIFT = 0.5 * WIDTH
"""Difference of the halves of the measured time that is never taken for a drift: half of the interval that is narrow."""


def is_settled(values: Floats, early: Floats, late: Floats, interval: Any, *, bias: float = 0.0) -> NDArray[np.bool_]:
    """Return whether the mean of other seeds at four times the duration is shown to be in the interval of the mean.

    The limits were chosen on 36 drawn paths with 160 seeds each, apart from those of ``python -m benchmarks coverage``: where
    this was True, it was right in 97 % of the cases, and it was True in 58 to 62 % of those in which it would have been right.
    Most of the others were drifts that take much longer than a run, without a visible difference of its halves.

    Parameters
    ----------
    values, early, late
        A measure of R runs over the measured time, and in its halves, shape (R, ...).
    interval
        Half the width of the interval of the mean, shape (...); NaN: False.
    bias
        Change of the mean that a longer duration is known to bring.

    Examples
    --------
    >>> values = np.array([0.50, 0.52, 0.48, 0.51, 0.49])
    >>> early, late = values + [0.01, -0.02, 0.01, 0.02, -0.01], values - [0.01, -0.02, 0.01, 0.02, -0.01]
    >>> bool(is_settled(values, early, late, 0.02)), bool(is_settled(values, values - 0.02, values + 0.02, 0.02))
    (True, False)
    """
    drift = np.abs(np.mean(late - early, axis=0))
    if len(values) < 2:
        return np.zeros(drift.shape, dtype=bool)
    by_halves = 0.5 * np.std(late - early, axis=0, ddof=1)
    spread = np.std(values, axis=0, ddof=1)
    similar = (drift <= DRIFT_LIMIT * interval) & (abs(bias) <= BIAS_LIMIT * interval)
    return np.asarray(similar & (spread >= SPREAD_LIMIT * by_halves))


def is_drifting(early: Floats, late: Floats) -> bool:
    """Return whether a measure differs between the halves of R runs by more than chance, shapes (R,)."""
    drift = float(np.mean(late - early))
    interval = float(half_width(late - early)) if len(early) > 2 else WIDTH
    return not abs(drift) <= max(interval, SMALLEST_DRIFT)  # True where a half is empty
