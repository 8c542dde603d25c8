"""Means under a stationary distribution, corrected by their Poisson equation, with bounds.

With x the corrected vector of a `Certificate` and r = f + Q g for any g, pi f = pi r, and

    |x r - pi r| <= deviation * (max r - min r),

or the same with weights (`_Enclosure._spread`). In this order: the interval of f alone; that with a better vector,
which gains more per cycle and serves all functions; then g by the solver, refined by its residual as long as the
interval halves. The intersection of all intervals is returned. r is evaluated in double-double, the mean x r as well.
Rounding enters by their error bounds, and by one step of `nextafter` at each end.

Deviations and variances: for a function f, g = integral over t >= 0 of E[f(X(t)) - pi f | X(0) = x] dt solves
Q g = pi f - f. The variance of the mean of f over a long time T is nearly sigma^2 / T with
sigma^2 = 2 pi((f - pi f) g) (W. Whitt, Planning queueing simulations, Management Science 35, 1989).

First the mean pi f with its bound, then g, refined by its residual rho = f - pi f + Q g as long as that halves. The
inequality is |g - exact| <= max |rho| h / c with the supersolution h of the certificate. The variance is the mean of
2 (f - pi f) g, widened by the means of the errors of its factors. Rounding enters in rho, by the bound of the product
in double-double, and in the products of f and g.

`ExactMeans` computes in integers, without rounding, intervals far narrower than float64 resolves.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import mean, pair_sum, product, sum_error
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded, ExactBounded
from markov.proofs.certificate_files import Listing, integer_proof, integer_values, with_poisson_solution
from markov.proofs.certificates import REFINEMENTS, solve_poisson
from markov.proofs.checker import Function, prove_mean, prove_rest
from markov.proofs.poisson import MultigridPoisson

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.models.functions import Mean
    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Interval

    Vector = NDArray[np.float64]

__all__ = [
    "Deviation",
    "ExactMeans",
    "asymptotic_variance",
    "bound_mean",
    "bound_measure",
    "bound_ratio",
    "deviation",
    "input_error",
    "rows_of",
]

MAX_REFINEMENTS = 4  # of deviations
ROUNDING_OF_SIZE = 2.0 * U  # of the mean size of a function: smallest requested error
INPUT_ERROR_TOLERANCE = 1e-2
ROUNDING_UP = 1.0 + 32.0 * U  # more than the roundings of a bound
DENOMINATOR_TOLERANCE = 0.1  # relative error of a denominator that does not matter


def bound_measure(proof: Certificate, mean: Mean, tolerance: float) -> Bounded | list[Bounded]:
    """Return a measure under the exact distribution with proved bounds, or a list with those of each row.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.
    mean
        Arrays of shape (..., n), taken as exact.
    tolerance
        As for `bound_mean`.
    """
    bounds = [
        bound_mean(proof, f, tolerance) if g is None else bound_ratio(proof, f, g, tolerance) for f, g in rows_of(mean)
    ]
    return bounds if mean.of.ndim > 1 else bounds[0]


def rows_of(mean: Mean) -> list[tuple[Vector, Vector | None]]:
    """Return the function of each row of a measure with its denominator (or None), shape (n,) each, as a list."""
    tops = mean.of.reshape(-1, mean.of.shape[-1])
    if mean.over is None:
        return [(f, None) for f in tops]
    return list(zip(tops, mean.over.reshape(tops.shape), strict=True))


def bound_mean(proof: Certificate, f: Vector, tolerance: float, absolute: float = 0.0) -> Bounded:
    """Return the mean of a function f of the state, shape (n,), under the exact distribution, with proved bounds.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.
    f
        Taken as exact.
    tolerance
        Relative error at which multigrid stops, if it gets there.
    absolute
        An absolute error that suffices.

    Notes
    -----
    With any g, and r = f + Q g: pi f = pi r, so that x r differs from it by (x - pi) r. That is at most
    the total-variation distance times the range of r, which is small when g nearly solves Poisson's
    equation Q g = pi f - f; and it is between the smallest and the largest r (A. R. Odoni, Operations
    Research 17, 1969). States with large r have small probabilities: with weights w >= 1 that are
    large there, the verified drift bounds (x - pi) r by the range of r / w. If each entry has an
    error bound, that times x |f| is another bound. The intersection is returned.
    """
    low = np.zeros_like(f)
    requested = max(tolerance * abs(inner(proof.pi, f)), absolute)
    goal = _goal(proof, requested, inner(proof.pi, np.abs(f)))
    with np.errstate(all="ignore"):  # infinite and NaN values bound nothing
        return _Enclosure(proof, f, low).narrow(goal)


def bound_ratio(proof: Certificate, top: Vector, bottom: Vector, tolerance: float) -> Bounded:
    """Return the ratio of the means of two functions, shape (n,) each, under the exact distribution, with bounds.

    With v the ratio under the approximate distribution, pi top / pi bottom - v is the mean of
    top - v bottom over that of bottom, which need not be accurate.
    """
    with np.errstate(all="ignore"):
        denominator = inner(proof.pi, bottom)
        value = inner(proof.pi, top) / denominator
        if not math.isfinite(value):
            return Bounded(math.nan, -math.inf, math.inf)
        scaled, scaling_error = product(np.full_like(bottom, value), bottom)
        difference = _Enclosure(proof, top - scaled, sum_error(top, -scaled) - scaling_error)
        magnitude = inner(proof.pi, np.abs(top) + np.abs(scaled))
        goal = _goal(proof, tolerance * abs(value * denominator), magnitude)
        difference_bound = difference.narrow(goal)
        bottom_bound = _Enclosure(proof, bottom, np.zeros_like(bottom)).narrow(DENOMINATOR_TOLERANCE * abs(denominator))
    if bottom_bound.lower <= 0.0 <= bottom_bound.upper:
        return Bounded(value, -math.inf, math.inf)
    quotients = [
        a / b
        for a in (difference_bound.lower, difference_bound.upper)
        for b in (bottom_bound.lower, bottom_bound.upper)
    ]
    estimate = value + difference_bound.value / bottom_bound.value
    interval = _below(value, min(quotients)), _above(value, max(quotients))
    return Bounded(estimate, *interval)


def input_error(proof: Certificate, mean: Mean) -> float | list[float]:
    """Return the first-order change of a measure when its rates are rounded to float64, for each row.

    Half a unit in the last place of every rate changes the mean of f by at most u sum x(s) q(s, t) |g(t) - g(s)|, u =
    2^-53, with the solution g of its Poisson equation, computed to about a percent, without a bound; and a ratio v of
    means of f and f' as the mean of (f - v f') does, over that of f'.
    """
    with np.errstate(all="ignore"):
        errors = [_input_error(proof, f, over) for f, over in rows_of(mean)]
    return errors if mean.of.ndim > 1 else errors[0]


def _input_error(proof: Certificate, f: Vector, over: Vector | None) -> float:
    """Return the first-order change of the mean of f, over the mean of ``over``, when rates are rounded."""
    if proof.solver is None:
        return math.nan
    denominator = 1.0 if over is None else inner(proof.pi, over)
    right = f - inner(proof.pi, f) * (1.0 if over is None else over / denominator)
    target = INPUT_ERROR_TOLERANCE * inner(proof.pi, np.abs(right))

    def is_accurate(residual: Vector) -> bool:
        return inner(proof.pi, np.abs(residual)) <= target

    g, _ = solve_poisson(proof.solver, right, is_accurate)
    return U * proof.products.variation(proof.pi, g) / abs(denominator)


def _goal(proof: Certificate, requested: float, magnitude: float) -> float:
    """Return the error at which refinement stops: ``requested`` for multigrid, the level of rounding with factors."""
    cycles = isinstance(proof.solver, MultigridPoisson)
    return max(requested, ROUNDING_OF_SIZE * magnitude) if cycles else ROUNDING_OF_SIZE * magnitude


class _Interval(NamedTuple):
    """Lower and upper bound of a number."""

    lower: float
    upper: float


class _Enclosure:
    """The intersection of proved intervals for the mean of f + f_low; `narrow` adds intervals."""

    def __init__(self, proof: Certificate, f: Vector, f_low: Vector) -> None:
        self.proof = proof
        self.centre = mean(proof.pi, proof.low, f)[0]
        self.f, self.f_low = f - self.centre, sum_error(f, -self.centre) + f_low
        self.value = self.centre
        self.interval = _Interval(-math.inf, math.inf)
        if proof.entry_error < math.inf:
            pi, rounded_up = self.proof.pi, self.proof.rounded_up
            value, rounding = mean(pi, np.zeros_like(pi), f)
            rounding += rounded_up * inner(pi, np.abs(f_low))
            half_width = self.proof.entry_error * rounded_up * inner(pi, np.abs(f) + np.abs(f_low)) + rounding
            self._meet(_Interval(_below(value, -half_width), _above(value, half_width)))

    def narrow(self, goal: float) -> Bounded:
        """Return the mean with bounds once their distance is at most 2 ``goal``, or stagnates.

        A better vector comes first: it gains more per cycle of multigrid, and for all functions.
        """
        proof, n = self.proof, len(self.f)
        width = self._enter(self.f + self.f_low, U * np.abs(self.f))
        if width > 2.0 * goal and self.spread > goal:
            proof.sharpen(goal / self.spread)
            width = self._enter(self.rest, U * np.abs(self.f))
        g = np.zeros(n), np.zeros(n)
        for _ in range(REFINEMENTS):
            if width <= 2.0 * goal or proof.solver is None:
                break
            right = self.rest - inner(proof.pi, self.rest)
            g = pair_sum(g, solve_poisson(proof.solver, right, self._stopping_criterion(goal)))
            drift, error = proof.products.drift(*g)
            residual = (drift + self.f) + self.f_low
            error += 4.0 * U * (np.abs(residual) + np.abs(self.f_low))
            previous, width = width, self._enter(residual, error)
            if not width < 0.5 * previous:
                break
        lower, upper = self.interval
        return Bounded(min(max(self.value, lower), upper), lower, upper)

    def _stopping_criterion(self, goal: float) -> Callable[[Vector], bool]:
        """Return a function that tells whether a residual r gives an interval of half width at most ``goal``."""

        def is_accurate(residual: Vector) -> bool:
            residual = residual - inner(self.proof.pi, residual)
            return min(self._spread(residual), float(np.ptp(residual))) <= goal

        return is_accurate

    def _enter(self, residual: Vector, error: Vector) -> float:
        """Intersect with the interval that r = ``residual`` +- ``error`` proves; return the width of the latter."""
        proof = self.proof
        self.rest = residual
        shift, rounding = mean(proof.pi, proof.low, residual)
        value = self.centre + shift
        rounding += inner(np.abs(proof.pi) + np.abs(proof.low), error)
        rounding += (2.0 * proof.rest + proof.defect) * float(error.max())
        rounding += proof.defect * abs(shift) + U * abs(value)
        self.spread = self._spread(residual - shift)
        half_width = (self.spread + rounding) * proof.rounded_up
        interval = _Interval(_below(value, -half_width), _above(value, half_width))
        bracket = _Interval(
            _below(self.centre, float((residual - error).min())),
            _above(self.centre, float((residual + error).max())),
        )
        width = min(2.0 * half_width, bracket.upper - bracket.lower)
        if math.isfinite(value) and width < self.interval.upper - self.interval.lower:
            self.value = value
        self._meet(interval)
        self._meet(bracket)
        return width

    def _meet(self, interval: _Interval) -> None:
        """Intersect with another interval; ends that are not numbers are ignored."""
        lower, upper = self.interval
        self.interval = _Interval(
            interval.lower if interval.lower > lower else lower,
            interval.upper if interval.upper < upper else upper,
        )

    def _spread(self, residual: Vector) -> float:
        """Return a bound on |(x - pi) r|: the error of the mean of ``residual`` under the corrected vector x."""
        proof = self.proof
        largest, smallest = float(residual.max()), float(residual.min())
        bound = proof.rest * (largest - smallest)
        if proof.supersolution is not None and proof.supersolution.relative > 0.0:
            upper, lower = (side / proof.supersolution.relative for side in proof.sides)
            remaining = 1.0 - proof.defect - lower
            if remaining > 0.0:
                mean_weight = (inner(proof.pi + np.abs(proof.low), proof.weights) + upper) / remaining
                ratio = float((np.abs(residual) / proof.weights).max())
                bound = min(bound, ratio * (upper + lower + max(upper, lower) * mean_weight))
        return (bound + proof.defect * max(largest, -smallest)) * proof.rounded_up


def _below(value: float, change: float) -> float:
    """Return value + change, rounded down."""
    return math.nextafter(value + change, -math.inf)


def _above(value: float, change: float) -> float:
    """Return value + change, rounded up."""
    return math.nextafter(value + change, math.inf)


class Deviation(NamedTuple):
    """A solution g of Poisson's equation Q g = pi f - f, zero in a reference state, with bounds on its error.

    Attributes
    ----------
    values, error
        g, shape (n,), and a bound on the error of each entry; inf without a proof.
    mean
        pi f.
    centred
        f less the value of its mean, shape (n,).
    """

    values: Vector
    error: Vector
    mean: Bounded
    centred: Vector


def deviation(proof: Certificate, f: Vector, tolerance: float) -> Deviation:
    """Return the solution g of Poisson's equation Q g = pi f - f for a function f of shape (n,), with bounds.

    Notes
    -----
    With rho = f - pi f + Q g, the error of g is at most max |rho| times the mean time to the
    reference, which the certificate's supersolution bounds.
    """
    n, mean = len(f), bound_mean(proof, f, 0.25 * tolerance)
    centred = f - mean.value
    if n == 1 or proof.solver is None:
        return Deviation(np.zeros(n), np.full(n, 0.0 if n == 1 else math.inf), mean, centred)
    magnitude = float(np.abs(centred).max())
    with np.errstate(all="ignore"):
        g, residual, smallest_bound = (np.zeros(n), np.zeros(n)), centred, math.inf
        best_g = g
        for _ in range(MAX_REFINEMENTS):
            right = residual - inner(proof.pi, residual)
            g = pair_sum(g, solve_poisson(proof.solver, right, _range_criterion(proof, 0.5 * tolerance * magnitude)))
            drift, error = proof.products.drift(*g)
            residual = drift + centred
            bound = float((np.abs(residual) + error).max()) + mean.error + 4.0 * U * magnitude
            if not bound < smallest_bound:
                break
            best_g, improved, smallest_bound = g, bound < 0.5 * smallest_bound, bound
            if not improved or smallest_bound <= tolerance * magnitude:
                break
    values = best_g[0] + best_g[1]
    heights = proof.supersolution
    if heights is None or not heights.c > 0.0 or not math.isfinite(smallest_bound):
        return Deviation(values, np.full(n, math.inf), mean, centred)
    error = smallest_bound * heights.h / heights.c * ROUNDING_UP + 2.0 * U * np.abs(values)
    return Deviation(values, error, mean, centred)


def _range_criterion(proof: Certificate, goal: float):  # type: ignore[no-untyped-def]
    """Return a function that tells whether the range of a residual is at most ``goal``."""

    def is_accurate(residual: Vector) -> bool:
        return float(np.ptp(residual - inner(proof.pi, residual))) <= goal

    return is_accurate


def asymptotic_variance(proof: Certificate, mean: Mean, tolerance: float, *, in_steps: bool = False) -> list[Bounded]:
    """Return the asymptotic variance of each row of a measure, a mean or a ratio of means, with bounds.

    With ``in_steps`` the generator is P - I of a chain in discrete time, and the variance that of means over its steps.
    It is the variance in continuous time less that of the measure in the stationary distribution.

    Of a ratio with value v it is that of (top - v bottom) over the square of the mean of bottom, by the
    delta method. Its root is a seminorm of the function: with another v it moves by no more than the root for
    bottom times the difference, and with rounded numbers by no more than the root for the rounding errors.
    """
    tops = mean.of.reshape(-1, mean.of.shape[-1])
    if mean.over is None:
        return [_variance(proof, f, tolerance, in_steps) for f in tops]
    bounds = []
    for top, bottom in zip(tops, mean.over.reshape(tops.shape), strict=True):
        bottom_bound = bound_mean(proof, bottom, tolerance)
        value = inner(proof.pi, top) / bottom_bound.value if bottom_bound.value else math.nan
        if not math.isfinite(value) or bottom_bound.lower <= 0.0 <= bottom_bound.upper:
            bounds.append(Bounded(math.nan, -math.inf, math.inf))
            continue
        difference = _variance(proof, top - value * bottom, tolerance, in_steps)
        ratio = bound_ratio(proof, top, bottom, tolerance)
        ratio_part = max(ratio.upper - value, value - ratio.lower) * math.sqrt(
            _variance(proof, bottom, tolerance, in_steps).upper
        )
        shift = ratio_part + _root_of_rounding(proof, float((np.abs(top) + 2.0 * np.abs(value * bottom)).max()))
        if not math.isfinite(shift):
            bounds.append(Bounded(difference.value / bottom_bound.value**2, -math.inf, math.inf))
            continue
        lower = max(math.sqrt(difference.lower) - shift * ROUNDING_UP, 0.0) ** 2 / max(
            bottom_bound.lower**2, bottom_bound.upper**2
        )
        upper = (math.sqrt(difference.upper) + shift * ROUNDING_UP) ** 2 / min(
            bottom_bound.lower**2, bottom_bound.upper**2
        )
        bounds.append(Bounded(difference.value / bottom_bound.value**2, lower / ROUNDING_UP, upper * ROUNDING_UP))
    return bounds


def _root_of_rounding(proof: Certificate, size: float) -> float:
    """Return a bound on the root of the asymptotic variance of rounding errors of numbers up to ``size``.

    With an error of at most e in each state, the centred error is at most 2 e, and the solution of its Poisson equation
    at most 2 e times the mean time to the reference.
    """
    heights = proof.supersolution
    if heights is None or not heights.c > 0.0:
        return math.inf
    square = 8.0 * (U * size) ** 2 * float(heights.h.max()) / heights.c
    return math.sqrt(square) * ROUNDING_UP


def _variance(proof: Certificate, f: Vector, tolerance: float, in_steps: bool) -> Bounded:
    """Return the asymptotic variance of the mean of a function f of the state, shape (n,), with bounds."""
    g, error, mean, centred = deviation(proof, f, tolerance)
    product = 2.0 * centred * g
    square = centred * centred if in_steps else np.zeros_like(centred)
    bound = bound_mean(proof, product - square, tolerance)
    sizes, spread = np.abs(centred), proof.distance
    slack = 2.0 * _bound_mean_of_sizes(proof, sizes * error, spread)
    slack += 2.0 * mean.error * _bound_mean_of_sizes(proof, np.abs(g), spread)
    slack += 4.0 * U * _bound_mean_of_sizes(proof, np.abs(product) + square, spread)
    if in_steps:  # the square of f less its mean, which is off by mean.error
        slack += mean.error * (2.0 * _bound_mean_of_sizes(proof, sizes, spread) + mean.error)
    return _widen(bound, slack * ROUNDING_UP)


def _widen(interval: Bounded, slack: float) -> Bounded:
    """Return a non-negative number with its bounds moved outward by ``slack``."""
    if not math.isfinite(slack):
        return Bounded(interval.value, -math.inf, math.inf)
    return Bounded(max(interval.value, 0.0), max(interval.lower - slack, 0.0), interval.upper + slack)


def _bound_mean_of_sizes(proof: Certificate, values: Vector, distance: float) -> float:
    """Return an upper bound on the exact mean of non-negative numbers of the states, shape (n,)."""
    return inner(proof.pi, values) * proof.rounded_up + distance * float(values.max())


# In integers


class ExactMeans:
    """Means under the exact stationary distribution, computed in integers: intervals with rational ends.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.

    Raises
    ------
    ValueError
        Without a proof.

    Notes
    -----
    The vector is corrected by its exact residual first. `markov.proofs.checker` has the theorem: the half width
    is about the product of two residuals, that of the vector and that of Poisson's equation for the function.
    """

    def __init__(self, proof: Certificate) -> None:
        self.proof = proof
        self.contents = contents = integer_proof(proof, Listing({}))
        self.rest = prove_rest(contents.rows, contents.Y, contents.H, contents.reference)
        self.mass = sum(contents.Y)

    def bound_measure(self, mean: Mean) -> ExactBounded | list[ExactBounded]:
        """Return the interval of a measure under the exact distribution, or a list with the interval of each row.

        Raises
        ------
        ValueError
            For a ratio whose denominator may be zero.
        """
        means = [self._mean(f) if over is None else self._ratio(f, over) for f, over in rows_of(mean)]
        return means if mean.of.ndim > 1 else means[0]

    def _mean(self, f: Vector) -> ExactBounded:
        """Return the interval of the mean of a function f of the state, shape (n,)."""
        return ExactBounded.between(*self._interval(Function("mean", *integer_values(f)), f))

    def _ratio(self, top: Vector, bottom: Vector) -> ExactBounded:
        """Return the interval of the mean of ``top`` over the mean of ``bottom``, functions of shape (n,).

        It is the ratio v under pi, plus the mean of (top - v bottom) over the mean of bottom.
        """
        numerator, denominator = (
            Function("top", *integer_values(top)),
            Function("bottom", *integer_values(bottom)),
        )
        denominator_interval = self._interval(denominator, bottom)
        if denominator_interval[0] <= 0 <= denominator_interval[1]:
            raise ValueError("measure: the mean to divide by may be zero")
        pi = self.proof.pi
        value = inner(pi, top) / inner(pi, bottom)
        if not math.isfinite(value):
            raise ValueError(f"measure: the ratio is {value} under pi: must be finite")
        v = Fraction(value)
        scale = math.lcm(numerator.scales[0], denominator.scales[0] * v.denominator)
        a, b = scale // numerator.scales[0], scale // (denominator.scales[0] * v.denominator) * v.numerator
        F = [a * x - b * y for x, y in zip(numerator.F, denominator.F, strict=True)]
        difference = Function("difference", (scale, 1), numerator.claimed, F)
        difference_interval = self._interval(difference, top - value * bottom)
        quotients = [v + end / bound for end in difference_interval for bound in denominator_interval]
        return ExactBounded.between(min(quotients), max(quotients))

    def _interval(self, function: Function, f: Vector) -> Interval:
        """Return the proved interval of the mean of a function, in integers and in float64."""
        function = with_poisson_solution(self.proof, self.contents, function, f)
        return prove_mean(self.contents, function, self.rest, self.mass)
