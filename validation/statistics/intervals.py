"""Intervals of the mean of independent runs, and the variation of a run over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hopflow.intervals import half_width
from validation.statistics.estimates import CONFIDENCE, ROUNDING, UNBOUNDED, Values


def interval(values: Values, level: float = CONFIDENCE) -> tuple[float, float]:
    """Return Student's interval of the mean of independent runs, shape (runs,).

    Examples
    --------
    >>> low, high = interval(np.array([12.0, 13.0, 14.0]))
    >>> round(low, 2), round(high, 2)
    (10.52, 15.48)
    """
    middle, half = float(np.mean(values)), float(half_width(values, level))
    return middle - half, middle + half


def bounds(values: Values, level: float) -> tuple[float, float]:
    """Return Student's interval of the mean of independent runs; of one run without noise its value, twice.

    Each end misses the mean with probability ``level``: a comparison with a limit is one-sided. Runs that happen to be equal
    have no spread to judge by: their interval is that of the median by order statistics, the value itself from seven runs on at
    0.01, and unbounded for fewer.

    Examples
    --------
    >>> bounds(np.array([0.5]), level=0.01), bounds(np.full(3, 0.5), level=0.01), bounds(np.full(7, 0.5), level=0.01)
    ((0.5, 0.5), (-inf, inf), (0.5, 0.5))
    """
    if len(values) == 1:
        return float(values[0]), float(values[0])
    if float(np.ptp(values)) <= ROUNDING * float(np.max(np.abs(values))):
        if 0.5 ** len(values) > level:
            return UNBOUNDED
        return float(values[0]), float(values[0])
    return interval(values, 1.0 - 2.0 * level)


class Swing(NamedTuple):
    """Variation over time of each of several runs: the standard deviation, shape (runs,).

    Attributes
    ----------
    mean
        Over time.
    absolute
        Standard deviation over time, in the unit of the series.
    """

    mean: Values
    absolute: Values

    @property
    def relative(self) -> Values:
        """The standard deviation over the mean, shape (runs,)."""
        return self.absolute / self.mean

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.mean)


def swing(series: Values, bin: int = 1) -> Swing:
    """Return mean and standard deviation over time of several runs.

    Parameters
    ----------
    series
        Shape (runs, times), at equal distances.
    bin
        The number of samples that are averaged first: runs are compared at one bin only, since a
        standard deviation falls with the length of the bin.

    Examples
    --------
    >>> steady, waving = np.full(8, 0.5), np.tile([0.0, 1.0], 4)
    >>> swing(np.array([steady, waving])).absolute.round(2)
    array([0.  , 0.53])
    >>> swing(np.array([steady, waving]), bin=2).absolute
    array([0., 0.])
    """
    kept = series[:, : series.shape[1] // bin * bin]
    binned = kept.reshape(len(kept), -1, bin).mean(axis=2) if bin > 1 else series
    return Swing(binned.mean(axis=1), binned.std(axis=1, ddof=1))
