"""Intervals of the mean of independent runs, and the variation of a run over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hopflow.intervals import half_width
from validation.statistics.estimates import CONFIDENCE, Values


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
    """Return Student's interval of the mean of independent runs; of one run its value, twice.

    The interval misses the mean with probability ``level``.

    A single run, such as that of a model without noise, is taken as exact.

    Examples
    --------
    >>> bounds(np.array([0.5]), level=0.01)
    (0.5, 0.5)
    """
    if len(values) == 1:
        return float(values[0]), float(values[0])
    return interval(values, 1.0 - level)


def bootstrap_interval(
    values: Values,
    statistic: Callable[..., float] = np.mean,
    level: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the bootstrap interval (BCa) of a statistic of independent runs, shape (runs,).

    It never leaves the range of the values, so that an efficiency stays between 0 and 1, and it
    follows the skewness of few runs with several modes, which Student's interval does not. With
    fewer than about eight runs it is too narrow.

    Source: Efron, Better bootstrap confidence intervals, J. Amer. Statist. Assoc. 82, 1987.

    Examples
    --------
    >>> share = np.array([0.03, 0.03, 0.04, 0.03, 0.03, 0.31, 0.03, 0.04])
    >>> interval(share)[0] < 0.0 < bootstrap_interval(share)[0]
    True
    """
    from scipy.stats import bootstrap

    if np.ptp(values) == 0.0:
        return float(values[0]), float(values[0])
    found = bootstrap((values,), statistic, confidence_level=level, rng=np.random.default_rng(seed)).confidence_interval
    return float(found.low), float(found.high)


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
