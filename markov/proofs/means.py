"""Means under a stationary distribution, corrected by their Poisson equation, with bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import mean, pair_sum, product, sum_error
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import solved
from markov.proofs.poisson import MultigridPoisson

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.models.means import Mean
    from markov.proofs.certificates import Certificate

    Vector = NDArray[np.float64]

__all__ = ["bounded", "bounded_mean", "bounded_ratio", "input_error", "rows_of"]

REFINEMENTS = 3
ROUNDING = 2.0 * U  # of the mean size of a function: less is not asked for
ROUGH_EQUATION = 1e-2
ROUGH = 0.1  # relative error of a denominator that does not matter


def bounded(proof: Certificate, mean: Mean, tolerance: float) -> Bounded | list[Bounded]:
    """Return a measure under the exact distribution, or a list of one for each row.

    Parameters
    ----------
    proof
        Of the distribution; its solver is used again.
    mean
        Arrays of shape (..., n), taken as exact.
    tolerance
        As for `bounded_mean`.
    """
    found = [
        bounded_mean(proof, f, tolerance) if g is None else bounded_ratio(proof, f, g, tolerance)
        for f, g in rows_of(mean)
    ]
    return found if mean.of.ndim > 1 else found[0]


def rows_of(mean: Mean) -> list[tuple[Vector, Vector | None]]:
    """Return the numbers of each row of a measure, and those of the mean to divide by, shape (n,) each."""
    above = mean.of.reshape(-1, mean.of.shape[-1])
    if mean.over is None:
        return [(f, None) for f in above]
    return list(zip(above, mean.over.reshape(above.shape), strict=True))


def bounded_mean(proof: Certificate, f: Vector, tolerance: float, least: float = 0.0) -> Bounded:
    """Return the mean of f, shape (n,), under the exact distribution.

    Parameters
    ----------
    proof
        Of the distribution; its solver is used again.
    f
        Taken as exact.
    tolerance
        Multigrid goes on until the error is this share of the value, or as long as it gains.
    least
        An error that is small enough whatever the value.

    Notes
    -----
    With any g, and r = f + Q g: pi f = pi r, so that x r differs from it by (x - pi) r. That is at most
    the total-variation distance times the range of r, which is small when g nearly solves Poisson's
    equation Q g = pi f - f; and it is between the least and the largest r (A. R. Odoni, Operations
    Research 17, 1969). States with large r have small probabilities: with weights w >= 1 that are
    large there, the verified drift bounds (x - pi) r by the range of r / w. If each entry has an
    error bound, that times x |f| is another one. The intersection is returned.
    """
    low = np.zeros_like(f)
    wanted = max(tolerance * abs(inner(proof.pi, f)), least)
    goal = _goal(proof, wanted, inner(proof.pi, np.abs(f)))
    with np.errstate(all="ignore"):  # what is not finite bounds nothing
        return _Enclosure(proof, f, low).narrowed(goal)


def bounded_ratio(proof: Certificate, top: Vector, bottom: Vector, tolerance: float) -> Bounded:
    """Return the ratio of the means of two functions, shape (n,) each.

    With v the ratio under the approximate distribution, pi top / pi bottom - v is the mean of
    top - v bottom over that of bottom, which need not be known well.
    """
    with np.errstate(all="ignore"):
        size = inner(proof.pi, bottom)
        value = inner(proof.pi, top) / size
        if not math.isfinite(value):
            return Bounded(math.nan, -math.inf, math.inf)
        rounded, lost = product(np.full_like(bottom, value), bottom)
        difference = _Enclosure(proof, top - rounded, sum_error(top, -rounded) - lost)
        spread = inner(proof.pi, np.abs(top) + np.abs(rounded))
        goal = _goal(proof, tolerance * abs(value * size), spread)
        above = difference.narrowed(goal)
        below = _Enclosure(proof, bottom, np.zeros_like(bottom)).narrowed(ROUGH * abs(size))
    if below.lower <= 0.0 <= below.upper:
        return Bounded(value, -math.inf, math.inf)
    quotients = [a / b for a in (above.lower, above.upper) for b in (below.lower, below.upper)]
    best = value + above.value / below.value
    interval = _below(value, min(quotients)), _above(value, max(quotients))
    return Bounded(best, *interval)


def input_error(proof: Certificate, mean: Mean) -> float | list[float]:
    """Return by how much a measure changes to first order when rates are rounded, for each row.

    Half a unit in the last place of every rate changes the mean of f by at most
    u sum x(s) q(s, t) |g(t) - g(s)|, u = 2^-53, with the solution g of its Poisson equation, found to a
    percent or so, without a bound; and a ratio v of means of f and f' as the mean of (f - v f') does,
    over that of f'.
    """
    with np.errstate(all="ignore"):
        found = [_input_error(proof, f, over) for f, over in rows_of(mean)]
    return found if mean.of.ndim > 1 else found[0]


def _input_error(proof: Certificate, f: Vector, over: Vector | None) -> float:
    if proof.solver is None:
        return math.nan
    size = 1.0 if over is None else inner(proof.pi, over)
    wanted = f - inner(proof.pi, f) * (1.0 if over is None else over / size)
    small = ROUGH_EQUATION * inner(proof.pi, np.abs(wanted))

    def enough(rest: Vector) -> bool:
        return inner(proof.pi, np.abs(rest)) <= small

    g, _ = solved(proof.solver, wanted, enough)
    return U * proof.products.variation(proof.pi, g) / abs(size)


def _goal(proof: Certificate, wanted: float, size: float) -> float:
    """Return the error at which to stop: with factors the rounding level is reached quickly."""
    cycles = isinstance(proof.solver, MultigridPoisson)
    return max(wanted, ROUNDING * size) if cycles else ROUNDING * size


class _Interval(NamedTuple):
    lower: float
    upper: float


class _Enclosure:
    """Intervals for the mean of f + f_low, more and more narrow."""

    def __init__(self, proof: Certificate, f: Vector, f_low: Vector) -> None:
        self.proof = proof
        self.centre = mean(proof.pi, proof.low, f)[0]
        self.f, self.f_low = f - self.centre, sum_error(f, -self.centre) + f_low
        self.value = self.centre
        self.interval = _Interval(-math.inf, math.inf)
        if proof.entry_error < math.inf:
            self._enter_by_entries(f, f_low)

    def narrowed(self, goal: float) -> Bounded:
        """Return the mean and its bound once the interval is at most 2 ``goal`` wide or stagnates.

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
            wanted = self.rest - inner(proof.pi, self.rest)
            g = pair_sum(g, solved(proof.solver, wanted, self._until(goal)))
            drift, error = proof.products.drift(*g)
            rest = (drift + self.f) + self.f_low
            error += 4.0 * U * (np.abs(rest) + np.abs(self.f_low))
            before, width = width, self._enter(rest, error)
            if not width < 0.5 * before:
                break
        lower, upper = self.interval
        return Bounded(min(max(self.value, lower), upper), lower, upper)

    def _until(self, goal: float) -> Callable[[Vector], bool]:
        """Return the stopping criterion for r, by the goal."""

        def enough(rest: Vector) -> bool:
            rest = rest - inner(self.proof.pi, rest)
            return min(self._spread(rest), float(np.ptp(rest))) <= goal

        return enough

    def _enter(self, rest: Vector, error: Vector) -> float:
        """Intersect with the interval proved by r = ``rest`` +- ``error``; return its width."""
        proof = self.proof
        self.rest = rest
        shift, rounding = mean(proof.pi, proof.low, rest)
        value = self.centre + shift
        rounding += inner(np.abs(proof.pi) + np.abs(proof.low), error)
        rounding += (2.0 * proof.rest + proof.defect) * float(error.max())
        rounding += proof.defect * abs(shift) + U * abs(value)
        self.spread = self._spread(rest - shift)
        half = (self.spread + rounding) * proof.rounded_up
        found = _Interval(_below(value, -half), _above(value, half))
        bracket = _Interval(
            _below(self.centre, float((rest - error).min())),
            _above(self.centre, float((rest + error).max())),
        )
        width = min(2.0 * half, bracket.upper - bracket.lower)
        if math.isfinite(value) and width < self.interval.upper - self.interval.lower:
            self.value = value
        self._meet(found)
        self._meet(bracket)
        return width

    def _enter_by_entries(self, f: Vector, f_low: Vector) -> None:
        pi, up = self.proof.pi, self.proof.rounded_up
        value, rounding = mean(pi, np.zeros_like(pi), f)
        rounding += up * inner(pi, np.abs(f_low))
        half = self.proof.entry_error * up * inner(pi, np.abs(f) + np.abs(f_low)) + rounding
        self._meet(_Interval(_below(value, -half), _above(value, half)))

    def _meet(self, other: _Interval) -> None:
        """Intersect with another interval; ends that are not numbers are ignored."""
        lower, upper = self.interval
        self.interval = _Interval(
            other.lower if other.lower > lower else lower,
            other.upper if other.upper < upper else upper,
        )

    def _spread(self, rest: Vector) -> float:
        """Return a bound on (x - pi) rest, x being the better vector."""
        proof = self.proof
        largest, least = float(rest.max()), float(rest.min())
        found = proof.rest * (largest - least)
        if proof.supersolution is not None and proof.supersolution.relative > 0.0:
            up, down = (side / proof.supersolution.relative for side in proof.sides)
            left = 1.0 - proof.defect - down
            if left > 0.0:
                mean_weight = (inner(proof.pi + np.abs(proof.low), proof.weights) + up) / left
                ratio = float((np.abs(rest) / proof.weights).max())
                found = min(found, ratio * (up + down + max(up, down) * mean_weight))
        return (found + proof.defect * max(largest, -least)) * proof.rounded_up


def _below(value: float, change: float) -> float:
    return math.nextafter(value + change, -math.inf)


def _above(value: float, change: float) -> float:
    return math.nextafter(value + change, math.inf)
