"""Poisson's equation solved with a bound, and the asymptotic variance that follows from it.

For a function f of the state, g = integral over t >= 0 of E[f(X(t)) - pi f | X(0) = x] dt solves
Q g = pi f - f. The variance of the mean of f over a long time T is nearly sigma^2 / T with
sigma^2 = 2 pi((f - pi f) g) (W. Whitt, Planning queueing simulations, Management Science 35, 1989).

First the mean pi f with its bound, then g, refined by its residual rho = f - pi f + Q g as long as that halves. The
inequality is |g - exact| <= max |rho| h / c with the supersolution h of the certificate. The variance is the mean of
2 (f - pi f) g, widened by the means of the errors of its factors. Rounding enters in rho, by the bound of the product
in double-double, and in the products of f and g.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import pair_sum
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import solve_poisson
from markov.proofs.means import bound_mean, bound_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.functions import Mean
    from markov.proofs.certificates import Certificate

    Vector = NDArray[np.float64]

__all__ = ["Deviation", "asymptotic_variance", "deviation"]

MAX_REFINEMENTS = 4
ROUNDING_UP = 1.0 + 32.0 * U  # more than the roundings of a bound


class Deviation(NamedTuple):
    """A solution of Poisson's equation for f, zero in a reference state.

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
    """Return g for a function f of shape (n,).

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
            g = pair_sum(g, solve_poisson(proof.solver, right, _until(proof, 0.5 * tolerance * magnitude)))
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


def _until(proof: Certificate, goal: float):  # type: ignore[no-untyped-def]
    def enough(residual: Vector) -> bool:
        return float(np.ptp(residual - inner(proof.pi, residual))) <= goal

    return enough


def asymptotic_variance(proof: Certificate, mean: Mean, tolerance: float) -> list[Bounded]:
    """Return the asymptotic variance of each row of a measure, a mean or a ratio of means.

    Of a ratio with value v it is that of (top - v bottom) over the square of the mean of bottom, by the
    delta method. Its root is a seminorm of the function: with another v it moves by no more than the root for
    bottom times the difference, and with rounded numbers by no more than the root for the rounding errors.
    """
    tops = mean.of.reshape(-1, mean.of.shape[-1])
    if mean.over is None:
        return [_variance(proof, f, tolerance) for f in tops]
    bounds = []
    for top, bottom in zip(tops, mean.over.reshape(tops.shape), strict=True):
        bottom_bound = bound_mean(proof, bottom, tolerance)
        value = inner(proof.pi, top) / bottom_bound.value if bottom_bound.value else math.nan
        if not math.isfinite(value) or bottom_bound.lower <= 0.0 <= bottom_bound.upper:
            bounds.append(Bounded(math.nan, -math.inf, math.inf))
            continue
        difference = _variance(proof, top - value * bottom, tolerance)
        ratio = bound_ratio(proof, top, bottom, tolerance)
        ratio_part = max(ratio.upper - value, value - ratio.lower) * math.sqrt(
            _variance(proof, bottom, tolerance).upper
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


def _variance(proof: Certificate, f: Vector, tolerance: float) -> Bounded:
    g, error, mean, centred = deviation(proof, f, tolerance)
    product = 2.0 * centred * g
    bound = bound_mean(proof, product, tolerance)
    sizes, spread = np.abs(centred), proof.distance
    slack = 2.0 * _bound_mean_of_sizes(proof, sizes * error, spread)
    slack += 2.0 * mean.error * _bound_mean_of_sizes(proof, np.abs(g), spread)
    slack += 4.0 * U * _bound_mean_of_sizes(proof, np.abs(product), spread)
    return _widen(bound, slack * ROUNDING_UP)


def _widen(interval: Bounded, slack: float) -> Bounded:
    if not math.isfinite(slack):
        return Bounded(interval.value, -math.inf, math.inf)
    return Bounded(max(interval.value, 0.0), max(interval.lower - slack, 0.0), interval.upper + slack)


def _bound_mean_of_sizes(proof: Certificate, values: Vector, distance: float) -> float:
    """Return a bound on the exact mean of numbers that are not negative, shape (n,)."""
    return inner(proof.pi, values) * proof.rounded_up + distance * float(values.max())
