"""Poisson's equation solved with a bound, and the asymptotic variance that follows from it.

For a function f of the state, g = integral over t >= 0 of E[f(X(t)) - pi f | X(0) = x] dt solves
Q g = pi f - f. The variance of the mean of f over a long time T is nearly sigma^2 / T with
sigma^2 = 2 pi((f - pi f) g) (W. Whitt, Planning queueing simulations, Management Science 35, 1989).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import pair_sum
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import solved
from markov.proofs.means import bounded_mean, bounded_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.means import Mean
    from markov.proofs.certificates import Certificate

    Vector = NDArray[np.float64]

__all__ = ["Deviation", "asymptotic_variance", "deviation"]

REFINEMENTS = 4
UP = 1.0 + 32.0 * U  # more than the roundings of a bound


class Deviation(NamedTuple):
    """A solution of Poisson's equation for f, zero in a reference state.

    Attributes
    ----------
    values, error
        g, shape (n,), and a bound on the error of each entry; inf where nothing is proved.
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
    With rho = f - pi f + Q g, what is missing from g is at most max |rho| times the mean time to the
    reference, which the certificate's supersolution bounds.
    """
    n, mean = len(f), bounded_mean(proof, f, 0.25 * tolerance)
    centred = f - mean.value
    if n == 1 or proof.solver is None:
        return Deviation(np.zeros(n), np.full(n, 0.0 if n == 1 else math.inf), mean, centred)
    size = float(np.abs(centred).max())
    with np.errstate(all="ignore"):
        g, rest, best = (np.zeros(n), np.zeros(n)), centred, math.inf
        found = g
        for _ in range(REFINEMENTS):
            wanted = rest - inner(proof.pi, rest)
            g = pair_sum(g, solved(proof.solver, wanted, _until(proof, 0.5 * tolerance * size)))
            drift, error = proof.products.drift(*g)
            rest = drift + centred
            most = float((np.abs(rest) + error).max()) + mean.error + 4.0 * U * size
            if not most < best:
                break
            found, gained, best = g, most < 0.5 * best, most
            if not gained or best <= tolerance * size:
                break
    values = found[0] + found[1]
    proved = proof.supersolution
    if proved is None or not proved.c > 0.0 or not math.isfinite(best):
        return Deviation(values, np.full(n, math.inf), mean, centred)
    error = best * proved.h / proved.c * UP + 2.0 * U * np.abs(values)
    return Deviation(values, error, mean, centred)


def _until(proof: Certificate, goal: float):  # type: ignore[no-untyped-def]
    def enough(rest: Vector) -> bool:
        return float(np.ptp(rest - inner(proof.pi, rest))) <= goal

    return enough


def asymptotic_variance(proof: Certificate, mean: Mean, tolerance: float) -> list[Bounded]:
    """Return the asymptotic variance of each row of a measure, a mean or a ratio of means.

    Of a ratio with value v it is that of (top - v bottom) over the square of the mean of bottom, by the
    delta method. Its root is a seminorm of the function: with another v it moves by no more than the root for
    bottom times the difference, and with rounded numbers by no more than the root for what rounding takes.
    """
    above = mean.of.reshape(-1, mean.of.shape[-1])
    if mean.over is None:
        return [_variance(proof, f, tolerance) for f in above]
    found = []
    for top, bottom in zip(above, mean.over.reshape(above.shape), strict=True):
        below = bounded_mean(proof, bottom, tolerance)
        value = inner(proof.pi, top) / below.value if below.value else math.nan
        if not math.isfinite(value) or below.lower <= 0.0 <= below.upper:
            found.append(Bounded(math.nan, -math.inf, math.inf))
            continue
        part = _variance(proof, top - value * bottom, tolerance)
        exact = bounded_ratio(proof, top, bottom, tolerance)
        off = max(exact.upper - value, value - exact.lower) * math.sqrt(_variance(proof, bottom, tolerance).upper)
        moved = off + _root_of_rounding(proof, float((np.abs(top) + 2.0 * np.abs(value * bottom)).max()))
        if not math.isfinite(moved):
            found.append(Bounded(part.value / below.value**2, -math.inf, math.inf))
            continue
        lower = max(math.sqrt(part.lower) - moved * UP, 0.0) ** 2 / max(below.lower**2, below.upper**2)
        upper = (math.sqrt(part.upper) + moved * UP) ** 2 / min(below.lower**2, below.upper**2)
        found.append(Bounded(part.value / below.value**2, lower / UP, upper * UP))
    return found


def _root_of_rounding(proof: Certificate, size: float) -> float:
    """Return a bound on the root of the asymptotic variance of the rounding errors of a function made of numbers up to ``size``.

    With an error of at most e in each state, the centred one is at most 2 e, and the solution of its Poisson equation at most
    2 e times the mean time to the reference.
    """
    proved = proof.supersolution
    if proved is None or not proved.c > 0.0:
        return math.inf
    square = 8.0 * (U * size) ** 2 * float(proved.h.max()) / proved.c
    return math.sqrt(square) * UP


def _variance(proof: Certificate, f: Vector, tolerance: float) -> Bounded:
    g, error, mean, centred = deviation(proof, f, tolerance)
    product = 2.0 * centred * g
    found = bounded_mean(proof, product, tolerance)
    sizes, spread = np.abs(centred), proof.distance
    slack = 2.0 * _most(proof, sizes * error, spread)
    slack += 2.0 * mean.error * _most(proof, np.abs(g), spread)
    slack += 4.0 * U * _most(proof, np.abs(product), spread)
    return _widened(found, slack * UP)


def _widened(found: Bounded, slack: float) -> Bounded:
    if not math.isfinite(slack):
        return Bounded(found.value, -math.inf, math.inf)
    return Bounded(max(found.value, 0.0), max(found.lower - slack, 0.0), found.upper + slack)


def _most(proof: Certificate, values: Vector, distance: float) -> float:
    """Return a bound on the exact mean of numbers that are not negative, shape (n,)."""
    return inner(proof.pi, values) * proof.rounded_up + distance * float(values.max())
