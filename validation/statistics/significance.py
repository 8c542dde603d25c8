"""Hypothesis tests for the results of packet runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation.statistics.estimates import Estimate, Values

LEVEL = 0.01
"""Level of every test: 99 % confidence, after the correction for the number of tests."""


class Outcome(NamedTuple):
    """A test statistic with its degrees of freedom and p-value."""

    statistic: float
    dof: int
    p: float


def chi2_test(scores: Sequence[float]) -> Outcome:
    """Return the chi-square test that independent scores are standard normal.

    Examples
    --------
    >>> chi2_test([1.0, -2.0, 0.5]).statistic
    5.25
    """
    from scipy import stats

    statistic = math.fsum(z * z for z in scores)
    return Outcome(statistic, len(scores), float(stats.chi2.sf(statistic, len(scores))))


def welch_test(estimates: Sequence[Estimate]) -> Outcome:
    """Return Welch's test that k independent means with unequal errors are equal.

    B. L. Welch, On the comparison of several mean values, Biometrika 38, 1951: the chi-square
    statistic of homogeneity, corrected for errors that are themselves estimated.
    """
    from scipy import stats

    k = len(estimates)
    weights = [1.0 / e.error**2 for e in estimates]
    total = math.fsum(weights)
    mean = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True)) / total
    chi2 = math.fsum(w * (e.value - mean) ** 2 for w, e in zip(weights, estimates, strict=True))
    spread = math.fsum((1.0 - w / total) ** 2 / e.dof for w, e in zip(weights, estimates, strict=True))
    f = chi2 / (k - 1) / (1.0 + 2.0 * (k - 2) / (k * k - 1) * spread)
    return Outcome(chi2, k - 1, float(stats.f.sf(f, k - 1, (k * k - 1) / (3.0 * spread))))


class Normality(NamedTuple):
    """Whether independent scores look standard normal: their number, squares and shape.

    Attributes
    ----------
    squares, p_squares
        The sum of squares and its two-sided p-value (chi-square).
    p_shape
        The p-value of Kolmogorov and Smirnov's test.
    largest
        The largest absolute score.
    """

    number: int
    squares: float
    p_squares: float
    p_shape: float
    largest: float


def normality(scores: Sequence[float]) -> Normality:
    """Test scores against the standard normal law."""
    from scipy import stats

    squares = math.fsum(z * z for z in scores)
    law = stats.chi2(len(scores))
    p_squares = 2.0 * min(float(law.sf(squares)), float(law.cdf(squares)))
    p_shape = float(stats.kstest(scores, "norm").pvalue)
    return Normality(len(scores), squares, min(1.0, p_squares), p_shape, float(max(map(abs, scores))))


def variance_test(between: float, dof_between: int, within: float, dof_within: float) -> float:
    """Return the p-value of one variance against another that should be as large (F test)."""
    from scipy import stats

    return float(stats.f.sf(between / within, dof_between, dof_within))


def rank_test(larger: Values, smaller: Values) -> float:
    """Return the p-value of equal distributions against the first one being larger.

    The rank-sum test of Mann and Whitney, exact up to eight runs without ties. It asks for no law:
    for runs that end in one of several states, where an interval of the mean says little.

    Examples
    --------
    >>> import numpy as np
    >>> tahoe = np.array([0.031, 0.033, 0.305, 0.036, 0.029, 0.032, 0.034, 0.030])
    >>> reno = np.array([0.171, 0.172, 0.180, 0.173, 0.240, 0.174, 0.176, 0.178])
    >>> rank_test(reno, tahoe) < 0.01
    True
    """
    return _rank_test(*(np.asarray(runs, np.float64).tobytes() for runs in (larger, smaller)))


@functools.lru_cache(maxsize=4096)
def _rank_test(larger: bytes, smaller: bytes) -> float:
    """Return the p-value of runs given as bytes, computed once: readings and thresholds ask for the same tests."""
    from scipy import stats

    high, low = (np.frombuffer(each, np.float64) for each in (larger, smaller))
    return float(stats.mannwhitneyu(high, low, alternative="greater").pvalue)
