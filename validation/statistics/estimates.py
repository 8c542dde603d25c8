"""Means with their errors, and the errors of sums, ratios and slopes of independent means."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hopflow.intervals import t_quantile

Values = NDArray[np.float64]
"""An array of numbers, one for each run unless a shape is given."""

CONFIDENCE = 0.95
"""Probability that an interval covers the estimated quantity."""
UNBOUNDED = (-math.inf, math.inf)
"""The possible range of a quantity that can have any value."""
ROUNDING = 1e-12
"""Relative half-width of an interval up to which runs differ by rounding errors only."""
PART = (0.0, 1.0)
"""The possible range of a part of a whole: of a link, of runs, of packets."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and the degrees of freedom of that error (inf: it is known).

    Only a source declares a number exact (``dof`` inf). Runs that happen to be equal have an error of zero, which says
    nothing of their spread: they are tested by their signs.

    ``within`` is the possible range of the quantity. An interval is what Student's has in that range,
    which covers the quantity as often. Sums, differences and ratios of estimates have no range.

    Examples
    --------
    >>> gain = Estimate(4.81, 0.21, dof=90)
    >>> print(gain, round(gain.half_width, 2), gain.p_positive() < 0.01)
    4.81 ± 0.42 0.42 True
    >>> print(Estimate(0.966, 0.034, dof=2, within=PART), Estimate(1.02, 1e-16, dof=9))
    0.97 (0.82 to 1) 1.02
    """

    value: float
    error: float
    dof: float = math.inf
    within: tuple[float, float] = field(default=UNBOUNDED, repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval, in the possible range."""
        low, high = self.value - self.half_width, self.value + self.half_width
        return max(low, self.within[0]), min(high, self.within[1])

    @property
    def bars(self) -> tuple[float, float]:
        """How far the interval reaches below the value and above it."""
        low, high = self.interval
        return max(0.0, self.value - low), max(0.0, high - self.value)

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % Student interval."""
        return float(t_quantile(self.dof)) * self.error

    def __str__(self) -> str:
        rounding = ROUNDING * abs(self.value)
        if self.error == 0 or math.isnan(self.error) or self.half_width <= rounding:
            return f"{self.value:.4g}"
        digits = max(0, 1 - math.floor(math.log10(self.half_width)))
        ends = self.value - self.half_width, self.value + self.half_width
        if self.interval != ends:
            low, high = (f"{end:g}" if end in self.within else f"{end:.{digits}f}" for end in self.interval)
            return f"{self.value:.{digits}f} ({low} to {high})"
        return f"{self.value:.{digits}f} ± {self.half_width:.{digits}f}"

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error, self.dof)

    def __abs__(self) -> Estimate:
        return -self if self.value < 0.0 else self

    def score(self, expected: float = 0.0) -> float:
        """Return the deviation from ``expected`` as a standard normal score of equal probability."""
        t = (self.value - expected) / self.error
        return math.copysign(float(-special.ndtri(special.stdtr(self.dof, -abs(t)))), t)

    @property
    def exact(self) -> bool:
        """Whether its source has no noise."""
        return self.error == 0.0 and math.isinf(self.dof)

    def p_positive(self) -> float:
        """Return the p-value of the hypothesis that the mean is at most 0; of equal runs, that the median is.

        Examples
        --------
        >>> Estimate(0.1, 0.0).p_positive(), of_runs([0.1] * 3).p_positive(), of_runs([0.1] * 7).p_positive()
        (0.0, 0.125, 0.0078125)
        """
        if self.exact:
            return 0.0 if self.value > 0.0 else 1.0
        if self.error <= ROUNDING * abs(self.value):  # equal runs, to rounding
            return 0.5 ** (self.dof + 1) if self.value > 0.0 else 1.0
        return float(special.stdtr(self.dof, -self.value / self.error))


def of_runs(values: Sequence[float] | Values | Any, within: tuple[float, float] = UNBOUNDED) -> Estimate:
    """Return the mean of independent runs, shape (runs,), with the error from their scatter.

    ``within`` is the possible range of the quantity. A value that is no number is refused, since it would make
    every verdict inconclusive, and so is a single run, which has no spread: a source without noise is an `Estimate` of its own.

    Examples
    --------
    >>> print(of_runs([12.0, 13.0, 14.0]))
    13.0 ± 2.5
    """
    sample = np.asarray(values, dtype=np.float64)
    if not np.isfinite(sample).all():
        raise ValueError(f"values must be finite, one per run; got {sample.tolist()}")
    count = len(sample)
    if count < 2:
        raise ValueError(f"values must be those of two runs at least, got {sample.tolist()}: one has no spread")
    error = float(sample.std(ddof=1)) / math.sqrt(count)
    return Estimate(float(sample.mean()), error, count - 1, within)


def relative_difference(one: Values | Any, other: Values | Any) -> Estimate:
    """Return the mean difference of pairs of runs, shape (runs,), over the mean of the second ones.

    Its sign is that of the difference. The mean of the ratios less one is not: it exceeds zero by the variance where neither is larger.

    Examples
    --------
    >>> print(relative_difference([1.0, 3.0, 2.0], [3.0, 1.0, 2.0]))
    0.0 ± 2.5
    """
    first, second = (np.asarray(values, dtype=np.float64) for values in (one, other))
    return of_runs((first - second) / second.mean())


def runs_to_decide(estimate: Estimate, level: float) -> int:
    """Return how many independent runs would show the sign of a mean, at the value and the scatter of those seen.

    Examples
    --------
    >>> runs_to_decide(Estimate(0.03, 0.0174, dof=2), level=0.01)
    9
    """
    if estimate.value == 0.0:
        raise ValueError(f"estimate = {estimate!r}: no number of runs shows the sign of a mean that is 0")
    spread = estimate.error * math.sqrt(estimate.dof + 1)

    def decides(runs: int) -> bool:
        return float(t_quantile(runs - 1, 1.0 - 2.0 * level)) * spread < abs(estimate.value) * math.sqrt(runs)

    most = 2
    while not decides(most):
        most *= 2
    return bisect.bisect_left(range(most), True, lo=2, key=decides)


def combine(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return the weighted sum of independent estimates.

    The degrees of freedom are the smallest of the terms: fewer than Satterthwaite's, so that
    intervals are a little too wide rather than too narrow.

    Examples
    --------
    >>> combine((Estimate(5.0, 0.3, 39), Estimate(2.0, 0.2, 9)), (1.0, -2.0))
    Estimate(value=1.0, error=0.5, dof=9)
    """
    value = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True))
    error = math.hypot(*(w * e.error for w, e in zip(weights, estimates, strict=True)))
    return Estimate(value, error, min(e.dof for e in estimates))


def average(estimates: Iterable[Estimate]) -> Estimate:
    """Return the mean of independent estimates."""
    each = list(estimates)
    return combine(each, [1.0 / len(each)] * len(each))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return one estimate less another, independent one."""
    return combine((one, other), (1.0, -1.0))


def ratio(one: Estimate, other: Estimate) -> Estimate:
    """Return the ratio of two independent estimates (delta method)."""
    value = one.value / other.value
    error = math.hypot(one.error, value * other.error) / abs(other.value)
    return Estimate(value, error, min(one.dof, other.dof))


def ratio_gain(on: Estimate, off: Estimate) -> Estimate:
    """Return the gain 100 (on / off - 1) of two independent estimates, in per cent."""
    found = ratio(on, off)
    return Estimate(100.0 * (found.value - 1.0), 100.0 * found.error, found.dof)


def slope(estimates: Sequence[Estimate], x: Sequence[float] | Values) -> Estimate:
    """Return the slope of the straight line through independent estimates (least squares)."""
    centred = np.subtract(x, np.mean(x))
    return combine(estimates, [float(w) for w in centred / (centred @ centred)])


def weakest(estimates: Iterable[Estimate]) -> Estimate:
    """Return the estimate that is least certainly positive: the smallest value over error."""
    return min(estimates, key=lambda e: e.value / e.error if e.error else math.copysign(math.inf, e.value))
