"""Distributions and expectations at a time by uniformization, with a rigorous bound.

With P = I + Q / q, v(t) = sum_k P(N = k) v P^k for a Poisson N with mean q t (A. Jensen, Markoff chains
as an aid in the study of Markoff processes, Skandinavisk Aktuarietidskrift 36, 1953).

1. Poisson weights are computed relative to that of the mode, by ratios of neighbours, which neither overflow nor underflow
   (the idea of B. L. Fox, P. W. Glynn, Computing Poisson probabilities, Communications of the ACM 31(4), 1988). Geometric
   series bound the tails. The bound of the weights covers the tails twice, as the weights are normalized.
2. Powers are summed from k = 0 on. P contracts the 1-norm of rows and the maximum norm of columns, and all numbers are
   non-negative: rounding errors of the products add up and are never amplified.
3. The change from one power to the next, and the distance to the limit, do not grow either. Every `CHECK_INTERVAL` powers
   both are computed: the sum stops where the remaining weights times one of them are below the share of the tolerance.

Rounding enters in each product (`Uniformized.rounding`), in the sum of weighted powers, and in the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.progress import Counter
from markov.computing.rounding import WIDE_U, U
from markov.computing.time_limits import Prediction

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Evaluated", "Limit", "PoissonWeights", "Uniformized", "most_jumps", "poisson_weights"]

BLOCK = 1024
NEVER = 738.0  # minus the logarithm of 1e-320


@dataclass(frozen=True)
class PoissonWeights:
    """P(N = k) for left <= k < left + len(weights), N being Poisson with mean ``mean``.

    Attributes
    ----------
    mean
        lambda >= 0.
    left
        The first k.
    weights
        Shape (right - left + 1,), summing to one.
    error
        Upper bound on the 1-norm of the difference of these weights and the distribution of N: what was
        cut off, twice, and rounding.
    cut
        Upper bound on the probability of all other k.
    """

    mean: float
    left: int
    weights: NDArray[np.float64]
    error: float
    cut: float

    @property
    def right(self) -> int:
        """The last k."""
        return self.left + len(self.weights) - 1

    def survival(self) -> NDArray[np.float64]:
        """Return P(N > k) for left <= k <= right, the shape of weights; before left it is one."""
        tail = np.cumsum(self.weights[::-1], dtype=np.longdouble)[::-1]
        return np.append(tail[1:], 0.0).astype(np.float64)


def poisson_weights(mean: float, tolerance: float) -> PoissonWeights:
    """Return the Poisson probabilities whose tails together are below ``tolerance``.

    Parameters
    ----------
    mean
        lambda >= 0.
    tolerance
        Of the probability that is cut off, > 0.

    Examples
    --------
    >>> found = poisson_weights(2.0, 1e-10)
    >>> found.left, round(float(found.weights[2]), 6)  # e^-2 2^2 / 2!
    (0, 0.270671)
    """
    if mean <= 0.0:
        return PoissonWeights(0.0, 0, np.ones(1), 0.0, 0.0)
    mode = math.floor(mean)
    above, cut_above = _outwards(mean, mode, tolerance / 2, up=True)
    below, cut_below = _outwards(mean, mode, tolerance / 2, up=False)
    weights = np.concatenate([below[::-1], [1.0], above])
    total = math.fsum(weights)
    # each ratio and product has a relative error of at most 2 u in extended precision
    rounding = 2.0 * (len(above) + len(below) + 2) * WIDE_U + 3.0 * U
    cut = (cut_above + cut_below) / total
    return PoissonWeights(mean, mode - len(below), weights / total, 2.0 * cut + rounding, cut)


def _outwards(mean: float, mode: int, tolerance: float, *, up: bool) -> tuple[NDArray[np.float64], float]:
    """Return the weights beyond the mode on one side, relative to it, and a bound on the rest.

    The total of the relative weights is at least 1, so that a rest below the tolerance suffices.
    """
    parts: list[NDArray[Any]] = []
    last, first = np.longdouble(1.0), 1
    while True:
        steps = np.arange(first, first + BLOCK, dtype=np.longdouble)
        ratios = mean / (mode + steps) if up else (mode - steps + 1.0) / mean
        ratios = np.maximum(ratios, 0.0)  # below k = 0 there is nothing
        block = last * np.cumprod(ratios)
        following = mean / (mode + steps + 1.0) if up else np.maximum(mode - steps, 0.0) / mean
        with np.errstate(divide="ignore"):
            rest = block * following / (1.0 - np.minimum(following, 1.0 - U))
        done = np.flatnonzero(rest <= tolerance)
        if len(done):
            stop = int(done[0]) + 1
            kept = block[:stop].astype(np.float64)
            parts.append(kept[kept > 0.0])
            return np.concatenate(parts), float(rest[stop - 1])
        parts.append(block.astype(np.float64))
        last, first = block[-1], first + BLOCK


def most_jumps(mean: float) -> float:
    """Return a number that a Poisson number of this mean exceeds with a probability below 1e-320.

    By Bernstein's inequality, P(N >= mean (1 + d)) <= exp(-mean d^2 / (2 + 2 d / 3)).
    """
    if mean == 0.0:
        return 0.0
    more = NEVER / 3.0 + math.sqrt(NEVER * NEVER / 9.0 + 2.0 * NEVER * mean)  # mean d
    return 1.0 + (mean + more) * (1.0 + 16.0 * U)


FASTER = 1.02  # q over the largest exit rate: with 1, P may be periodic
LOOK = 32  # powers between two looks at the change
SHARE = 0.25  # of the tolerance, that stopping early may cost
MAX_JUMPS = 1e11  # expected, beyond which the terms of the sum are too many
FAR_JUMPS = 1e9  # expected, beyond which the limit is the answer, where powers come near to it before
FIRST_JUMPS = 1000.0  # expected until the time from which on rewards are those of the limit: at least


@dataclass(frozen=True)
class Evaluated:
    """A vector at some time.

    Attributes
    ----------
    values
        Shape (n,).
    error
        Of a distribution: bound on its total-variation distance to the true one; of expectations:
        bound on the largest absolute error.
    steps
        Products with P.
    settled
        Whether they are those of the limit, which was reached within the error before.
    """

    values: NDArray[np.float64]
    error: float
    steps: int
    settled: bool = False


@dataclass(frozen=True)
class Limit:
    """Limit of the powers, shape (n,), with a bound on its error in the same norm."""

    values: NDArray[np.float64]
    error: float


@dataclass(frozen=True)
class _Weights:
    """Weights of the powers 0 .. right: the same for all before ``left``, then one by one."""

    before: float
    left: int
    after: NDArray[np.float64]

    @property
    def right(self) -> int:
        return self.left + len(self.after) - 1

    def rests(self) -> NDArray[np.float64]:
        """Return the sums of the weights from each of left .. right on, and zero."""
        return np.append(np.cumsum(self.after[::-1])[::-1], 0.0)


class Uniformized:
    """A generator as a jump chain at a constant rate.

    Parameters
    ----------
    Q
        Generator, shape (n, n), rates in 1/s; its off-diagonals are taken as exact.
    """

    def __init__(self, Q: sp.csr_matrix) -> None:
        exit_rates = -np.asarray(Q.diagonal())
        self.rate = FASTER * float(exit_rates.max(initial=0.0))
        self.P = _jump_matrix(Q, self.rate)
        entries = int(np.diff(self.P.indptr).max(initial=1))
        columns = int(np.bincount(self.P.indices, minlength=1).max(initial=1))
        # a sum of m products, in the 1-norm and in the maximum norm, whose diagonal entry has an exit rate, a sum of rates
        self.rounding = (max(entries, columns) + entries + 4) * U
        self._transposed: sp.csr_matrix | None = None

    def forward(self) -> _Powers:
        """Return the powers of P applied to a distribution from the right: v P^k."""
        if self._transposed is None:
            self._transposed = sp.csr_matrix(self.P.T)
        return _Powers(self._transposed, _half_sum, self.rounding)

    def backward(self) -> _Powers:
        """Return the powers of P applied to expectations: P^k f."""
        return _Powers(self.P, _largest, self.rounding)

    def distribution(
        self, start: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> Evaluated:
        """Return the distribution at a time in s, shape (n,), from one at 0."""
        return self._at(self.forward(), start, time, tolerance, limit)

    def expectation(
        self, values: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> Evaluated:
        """Return E[f(X(t)) | X(0) = x] for all x, shape (n,), for f of shape (n,)."""
        return self._at(self.backward(), values, time, tolerance, limit)

    def occupancy(
        self, start: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> Evaluated:
        """Return the mean time in s spent in each state until a time, shape (n,).

        ``error`` is half the 1-norm of the error, in s.
        """
        return self._until(self.forward(), start, time, tolerance, limit)

    def accumulated(
        self, rewards: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> Evaluated:
        """Return E[integral of r(X(s)) over 0 <= s <= t | X(0) = x] for all x, shape (n,)."""
        return self._until(self.backward(), rewards, time, tolerance, limit)

    def _check_jumps(self, time: float) -> None:
        """Raise ValueError for a time in which the chain jumps too often for its distribution to be summed."""
        if (jumps := self.rate * time) > MAX_JUMPS:
            hint = "no long-run distribution is known that it reaches before"
            raise ValueError(f"time {time:g}: about {jumps:.1e} jumps, more than {MAX_JUMPS:.0e}; {hint}")

    def _at(
        self,
        powers: _Powers,
        vector: NDArray[np.float64],
        time: float,
        tolerance: float,
        limit: Limit | None,
    ) -> Evaluated:
        size = powers.norm(vector)
        if limit is not None and self.rate * time > FAR_JUMPS:
            error, steps = powers.settled(vector, SHARE * tolerance * size, limit, self.rate * time)
            return Evaluated(limit.values, error, steps, settled=True)
        self._check_jumps(time)
        weights = poisson_weights(self.rate * time, tolerance / 2)
        kept = _Weights(0.0, weights.left, weights.weights)
        found, steps, wrong = powers.summed(vector, kept, SHARE * tolerance * size, limit)
        return Evaluated(found, wrong + size * weights.error, steps)

    def _until(
        self,
        powers: _Powers,
        vector: NDArray[np.float64],
        time: float,
        tolerance: float,
        limit: Limit | None,
    ) -> Evaluated:
        """Sum P(N > k) / q over k: the weights integrated over time."""
        size = powers.norm(vector)
        if self.rate == 0.0:
            return Evaluated(vector * time, size * time * U, 0)
        if limit is not None and self.rate * time > FAR_JUMPS:
            return self._until_far(powers, vector, time, tolerance, limit)
        self._check_jumps(time)
        weights = poisson_weights(self.rate * time, tolerance / 4)
        survival = weights.survival() / self.rate
        kept = _Weights(1.0 / self.rate, weights.left, survival)
        total = weights.left / self.rate + math.fsum(survival)
        # each P(N > k) up to the right end is off by weights.error / 2, so is their sum, and all together are q t
        cut = weights.error * (weights.right + 2) / self.rate + abs(total - time) + 16.0 * U * time
        found, steps, wrong = powers.summed(vector, kept, SHARE * tolerance * size * time, limit)
        return Evaluated(found, wrong + size * cut, steps)

    def _until_far(
        self, powers: _Powers, vector: NDArray[np.float64], time: float, tolerance: float, limit: Limit
    ) -> Evaluated:
        """Return the integral until a far time: the limit's from an earlier time on."""
        size = powers.norm(vector)
        error, steps = powers.settled(vector, SHARE * tolerance * size, limit, self.rate * time)
        jumps = max(2.0 * steps, FIRST_JUMPS)
        # at that time there were fewer jumps than half the mean with a probability below e^(-0.15 jumps)
        error += size * math.exp(-0.15 * jumps)
        early = self._until(powers, vector, jumps / self.rate, tolerance / 2, None)
        remaining = time - jumps / self.rate
        values = early.values + remaining * limit.values
        rounded = 4.0 * U * (powers.norm(early.values) + remaining * powers.norm(limit.values))
        return Evaluated(values, early.error + remaining * error + rounded, steps + early.steps, settled=True)


@dataclass(frozen=True)
class _Powers:
    """Powers of a matrix that contracts a norm, applied to a vector.

    Attributes
    ----------
    matrix
        Shape (n, n), non-negative.
    norm
        In which no power is longer than the vector.
    rounding
        Relative error of one product in this norm.
    """

    matrix: sp.csr_matrix
    norm: Callable[[NDArray[np.float64]], float]
    rounding: float

    def summed(
        self,
        vector: NDArray[np.float64],
        weights: _Weights,
        allowed: float,
        limit: Limit | None,
    ) -> tuple[NDArray[np.float64], int, float]:
        """Return sum_k weights[k] M^k vector, the number of products, and a bound on the error.

        The bound covers rounding, and stopping before the last power for at most ``allowed``.
        """
        size, rests = self.norm(vector), weights.rests()
        total, left, right = np.zeros_like(vector), weights.left, weights.right
        prediction = Prediction()
        whole = weights.before * left + float(rests[0])
        with Counter("powers of the jump matrix") as bar:
            for k in range(right + 1):
                weight = weights.before if k < left else float(weights.after[k - left])
                if weight > 0.0:
                    total += weight * vector
                if k == right:
                    break
                after = self.matrix @ vector
                if k % LOOK == LOOK - 1:
                    bar.show(k)
                    rest = float(rests[max(k + 1 - left, 0)])
                    rest += weights.before * max(left - k - 1, 0)
                    rounded = size * whole * ((k + 1) * self.rounding + 4.0 * U)
                    change = self.norm(after - vector) * (right - k) * rest
                    if change <= allowed:
                        return total + rest * after, k + 1, change + rounded
                    ends = {"change": (change, allowed)}
                    if limit is not None:
                        away = self.norm(after - limit.values) * rest
                        if away <= allowed:  # and no power from here on is farther away
                            wrong = away + 2.0 * limit.error * rest + rounded
                            return total + rest * limit.values, k + 1, wrong
                        ends["away"] = away, allowed
                    prediction.check(k + 1, right - k, ends)
                vector = after
        return total, right, size * whole * (right * self.rounding + 4.0 * U)

    def settled(self, vector: NDArray[np.float64], allowed: float, limit: Limit, jumps: float) -> tuple[float, int]:
        """Return a bound on the distance of the limit from all powers from some number on, and that number.

        The distance of powers to the limit does not grow. It is at most what is ``allowed``, besides the errors of the
        limit and of rounding. The number is at most half of ``jumps``, those expected.

        Raises
        ------
        ValueError
            Where that is predicted to take too long.
        """
        size, k, prediction = self.norm(vector), 0, Prediction()
        with Counter("powers of the jump matrix") as bar:
            while 2 * k < jumps:
                for _ in range(LOOK):
                    vector = self.matrix @ vector
                k += LOOK
                bar.show(k)
                away, rounded = self.norm(vector - limit.values), size * k * self.rounding
                enough = allowed + limit.error + rounded
                if away <= enough:
                    return away + rounded + 2.0 * limit.error, k
                prediction.check(k, 0.5 * jumps, {"away": (away, enough)})
        raise ValueError(f"about {jumps:.1e} jumps, in which the chain does not come near to its long-run distribution")


def check_horizon(name: str, jumps: Uniformized, time: float) -> None:
    """Raise ValueError for a time in which a chain jumps too often for its distribution to be summed."""
    if (count := jumps.rate * time) > MAX_JUMPS:
        hint = "the chain is long stationary then, or never"
        raise ValueError(f"{name} = {time:g}: about {count:.1e} jumps, more than {MAX_JUMPS:.0e}; {hint}")


def _half_sum(vector: NDArray[np.float64]) -> float:
    """Total variation, of the difference of two distributions."""
    return 0.5 * float(np.abs(vector).sum())


def _largest(vector: NDArray[np.float64]) -> float:
    return float(np.abs(vector).max(initial=0.0))


def _jump_matrix(Q: sp.csr_matrix, rate: float) -> sp.csr_matrix:
    """Return I + Q / rate, shape (n, n), with diagonals that are not negative."""
    identity = sp.identity(Q.shape[0], format="csr")
    if rate == 0.0:
        return sp.csr_matrix(identity)
    P = sp.csr_matrix(Q / rate + identity)
    P.data = np.maximum(P.data, 0.0)
    return P
