"""Distributions and expectations at a time by uniformization, with a rigorous bound.

With P = I + Q / q, v(t) = sum_k P(N = k) v P^k for a Poisson N with mean q t (A. Jensen, Markoff chains
as an aid in the study of Markoff processes, Skandinavisk Aktuarietidskrift 36, 1953).

1. Poisson weights are computed relative to that of the mode, by ratios of neighbours, which neither overflow nor
   underflow (the idea of B. L. Fox, P. W. Glynn, Computing Poisson probabilities, Communications of the ACM 31(4),
   1988). Geometric series bound the tails. The bound of the weights covers the tails twice, as the weights are
   normalized.
2. Powers are summed from k = 0 on. P contracts the 1-norm of rows and the maximum norm of columns, and all numbers are
   non-negative: rounding errors of the products add up and are never amplified.
3. The change from one power to the next, and the distance to the limit, do not grow either. Every `CHECK_INTERVAL`
   powers both are computed: the sum stops where the remaining weights times one of them are below the share of the
   tolerance.

Rounding enters in each product (`Uniformized.rounding`), in the sum of weighted powers, and in the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.resources import Counter, Prediction
from markov.computing.rounding import WIDE_U, U

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Limit", "PoissonWeights", "Uniformized", "VectorAtTime", "max_jumps", "poisson_weights"]

BLOCK_TERMS = 1024
NEGATIVE_LOG_OF_NEVER = 738.0  # minus the logarithm of 1e-320


@dataclass(frozen=True)
class PoissonWeights:
    """Probabilities P(N = k) of a Poisson number for left <= k <= right, with a bound on the omitted ones.

    Attributes
    ----------
    mean
        lambda >= 0.
    left
        The first k.
    weights
        Shape (right - left + 1,), summing to one.
    error
        Upper bound on the 1-norm of the difference of these weights and the distribution of N: twice the
        omitted probability, and rounding.
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
        """Largest k that has a weight."""
        return self.left + len(self.weights) - 1

    def survival(self) -> NDArray[np.float64]:
        """Return P(N > k) for left <= k <= right, shape of ``weights``; for k < left it is one."""
        tail = np.cumsum(self.weights[::-1], dtype=np.longdouble)[::-1]
        return np.append(tail[1:], 0.0).astype(np.float64)


def poisson_weights(mean: float, tolerance: float) -> PoissonWeights:
    """Return the probabilities of a Poisson number, without tails whose sum is below ``tolerance``.

    Parameters
    ----------
    mean
        lambda >= 0.
    tolerance
        Of the probability that is cut off, > 0.

    Examples
    --------
    >>> result = poisson_weights(2.0, 1e-10)
    >>> result.left, round(float(result.weights[2]), 6)  # e^-2 2^2 / 2!
    (0, 0.270671)
    """
    if mean <= 0.0:
        return PoissonWeights(0.0, 0, np.ones(1), 0.0, 0.0)
    mode = math.floor(mean)
    above, cut_above = _weights_on_one_side(mean, mode, tolerance / 2, up=True)
    below, cut_below = _weights_on_one_side(mean, mode, tolerance / 2, up=False)
    weights = np.concatenate([below[::-1], [1.0], above])
    total = math.fsum(weights)
    # each ratio and product has a relative error of at most 2 u in extended precision
    rounding = 2.0 * (len(above) + len(below) + 2) * WIDE_U + 3.0 * U
    cut = (cut_above + cut_below) / total
    return PoissonWeights(mean, mode - len(below), weights / total, 2.0 * cut + rounding, cut)


def _weights_on_one_side(mean: float, mode: int, tolerance: float, *, up: bool) -> tuple[NDArray[np.float64], float]:
    """Return Poisson weights on one side of the mode, relative to the mode's, and a bound on the omitted ones.

    The total of the relative weights is at least 1, so that a remainder below the tolerance suffices.
    """
    parts: list[NDArray[Any]] = []
    last, offset = np.longdouble(1.0), 1
    while True:
        steps = np.arange(offset, offset + BLOCK_TERMS, dtype=np.longdouble)
        ratios = mean / (mode + steps) if up else (mode - steps + 1.0) / mean
        ratios = np.maximum(ratios, 0.0)  # no weight below k = 0
        block = last * np.cumprod(ratios)
        following = mean / (mode + steps + 1.0) if up else np.maximum(mode - steps, 0.0) / mean
        with np.errstate(divide="ignore"):
            remainder = block * following / (1.0 - np.minimum(following, 1.0 - U))
        sufficient = np.flatnonzero(remainder <= tolerance)
        if len(sufficient):
            stop = int(sufficient[0]) + 1
            block_weights = block[:stop].astype(np.float64)
            parts.append(block_weights[block_weights > 0.0])
            return np.concatenate(parts), float(remainder[stop - 1])
        parts.append(block.astype(np.float64))
        last, offset = block[-1], offset + BLOCK_TERMS


def max_jumps(mean: float) -> float:
    """Return a bound that a Poisson number with this mean exceeds with a probability below 1e-320.

    By Bernstein's inequality, P(N >= mean (1 + d)) <= exp(-mean d^2 / (2 + 2 d / 3)).
    """
    if mean == 0.0:
        return 0.0
    excess = NEGATIVE_LOG_OF_NEVER / 3.0 + math.sqrt(
        NEGATIVE_LOG_OF_NEVER * NEGATIVE_LOG_OF_NEVER / 9.0 + 2.0 * NEGATIVE_LOG_OF_NEVER * mean
    )  # mean d
    return 1.0 + (mean + excess) * (1.0 + 16.0 * U)


RATE_FACTOR = 1.02  # q over the largest exit rate: with 1, P may be periodic
CHECK_INTERVAL = 32  # powers between two checks of the change
EARLY_STOP_SHARE = 0.25  # of the tolerance, that stopping early may cost
MAX_JUMPS = 1e11  # expected, beyond which the terms of the sum are too many
MIN_JUMPS_FOR_LIMIT = 1e9  # expected, beyond which the limit is the answer, where powers come near to it before
MIN_JUMPS_BEFORE_LIMIT = 1000.0  # minimum, before rewards are computed by the limit


@dataclass(frozen=True)
class VectorAtTime:
    """A distribution or a vector of expectations at one time, with a bound on its error.

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
        Whether they are the limit, which was reached before within the error.
    """

    values: NDArray[np.float64]
    error: float
    steps: int
    settled: bool = False


@dataclass(frozen=True)
class Limit:
    """Limit of P^k vector for k to infinity, shape (n,), with a bound on its error in the same norm."""

    values: NDArray[np.float64]
    error: float


@dataclass(frozen=True)
class _Weights:
    """Weights of the powers 0, ..., right: one constant before ``left``, an array from there on."""

    equal_weight: float
    left: int
    weights_from_left: NDArray[np.float64]

    @property
    def right(self) -> int:
        """Number of the last power of the jump matrix that has a weight."""
        return self.left + len(self.weights_from_left) - 1

    def remaining_sums(self) -> NDArray[np.float64]:
        """Return the sum of the weights from k on, for k = left, ..., right, and 0, shape (right - left + 2,)."""
        return np.append(np.cumsum(self.weights_from_left[::-1])[::-1], 0.0)


class Uniformized:
    """Jump chain P = I + Q / q of a generator at a constant rate q: distributions and expectations at times.

    Parameters
    ----------
    Q
        Generator, shape (n, n), rates in 1/s; its off-diagonals are taken as exact.
    """

    def __init__(self, Q: sp.csr_matrix) -> None:
        exit_rates = -np.asarray(Q.diagonal())
        self.rate = RATE_FACTOR * float(exit_rates.max(initial=0.0))
        self.P = _jump_matrix(Q, self.rate)
        entries = int(np.diff(self.P.indptr).max(initial=1))
        columns = int(np.bincount(self.P.indices, minlength=1).max(initial=1))
        # a sum of m products, in the 1-norm and in the maximum norm; the diagonal has an exit rate, a sum of rates
        self.rounding = (max(entries, columns) + entries + 4) * U
        self._transposed: sp.csr_matrix | None = None

    def forward(self) -> _Powers:
        """Return the operator that multiplies distributions by powers of P: v P^k."""
        if self._transposed is None:
            self._transposed = sp.csr_matrix(self.P.T)
        return _Powers(self._transposed, _total_variation, self.rounding)

    def backward(self) -> _Powers:
        """Return the operator that multiplies expectations by powers of P: P^k f."""
        return _Powers(self.P, _max_norm, self.rounding)

    def distribution(
        self, start: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> VectorAtTime:
        """Return the distribution at ``time`` in s, shape (n,), from ``start`` at time 0, with an error bound."""
        return self._sum_or_limit(self.forward(), start, time, tolerance, limit)

    def expectation(
        self, values: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> VectorAtTime:
        """Return E[f(X(t)) | X(0) = x] for all x, shape (n,), for f of shape (n,)."""
        return self._sum_or_limit(self.backward(), values, time, tolerance, limit)

    def occupancy(
        self, start: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> VectorAtTime:
        """Return the mean time in s spent in each state until a time, shape (n,).

        The field ``error`` is half the 1-norm of the error, in s.
        """
        return self._integral(self.forward(), start, time, tolerance, limit)

    def accumulated(
        self, rewards: NDArray[np.float64], time: float, tolerance: float, limit: Limit | None = None
    ) -> VectorAtTime:
        """Return E[integral of r(X(s)) over 0 <= s <= t | X(0) = x] for all x, shape (n,)."""
        return self._integral(self.backward(), rewards, time, tolerance, limit)

    def _check_jumps(self, time: float) -> None:
        """Raise ValueError if more than `MAX_JUMPS` jumps are expected until ``time``, too many to sum powers."""
        if (jumps := self.rate * time) > MAX_JUMPS:
            hint = "no long-run distribution is known that it reaches before"
            raise ValueError(f"time {time:g}: about {jumps:.1e} jumps, more than {MAX_JUMPS:.0e}; {hint}")

    def _sum_or_limit(
        self,
        powers: _Powers,
        vector: NDArray[np.float64],
        time: float,
        tolerance: float,
        limit: Limit | None,
    ) -> VectorAtTime:
        """Return the vector at ``time``: the Poisson-weighted sum of powers, or the limit if the time is long."""
        size = powers.norm(vector)
        if limit is not None and self.rate * time > MIN_JUMPS_FOR_LIMIT:
            error, steps = powers.distance_to_limit(
                vector, EARLY_STOP_SHARE * tolerance * size, limit, self.rate * time
            )
            return VectorAtTime(limit.values, error, steps, settled=True)
        self._check_jumps(time)
        weights = poisson_weights(self.rate * time, tolerance / 2)
        series_weights = _Weights(0.0, weights.left, weights.weights)
        sums, steps, sum_error = powers.sum_powers(vector, series_weights, EARLY_STOP_SHARE * tolerance * size, limit)
        return VectorAtTime(sums, sum_error + size * weights.error, steps)

    def _integral(
        self,
        powers: _Powers,
        vector: NDArray[np.float64],
        time: float,
        tolerance: float,
        limit: Limit | None,
    ) -> VectorAtTime:
        """Return the vector integrated over 0 .. ``time``: powers weighted by P(N > k) / q."""
        size = powers.norm(vector)
        if self.rate == 0.0:
            return VectorAtTime(vector * time, size * time * U, 0)
        if limit is not None and self.rate * time > MIN_JUMPS_FOR_LIMIT:
            return self._integral_to_limit(powers, vector, time, tolerance, limit)
        self._check_jumps(time)
        weights = poisson_weights(self.rate * time, tolerance / 4)
        survival = weights.survival() / self.rate
        series_weights = _Weights(1.0 / self.rate, weights.left, survival)
        total = weights.left / self.rate + math.fsum(survival)
        # each P(N > k) up to the right end is off by weights.error / 2, so is their sum, and all together are q t
        weight_error = weights.error * (weights.right + 2) / self.rate + abs(total - time) + 16.0 * U * time
        sums, steps, sum_error = powers.sum_powers(
            vector, series_weights, EARLY_STOP_SHARE * tolerance * size * time, limit
        )
        return VectorAtTime(sums, sum_error + size * weight_error, steps)

    def _integral_to_limit(
        self, powers: _Powers, vector: NDArray[np.float64], time: float, tolerance: float, limit: Limit
    ) -> VectorAtTime:
        """Return the integral until a long time: by powers until the limit is near, then that of the limit."""
        size = powers.norm(vector)
        error, steps = powers.distance_to_limit(vector, EARLY_STOP_SHARE * tolerance * size, limit, self.rate * time)
        jumps = max(2.0 * steps, MIN_JUMPS_BEFORE_LIMIT)
        # at that time there were fewer jumps than half the mean with a probability below e^(-0.15 jumps)
        error += size * math.exp(-0.15 * jumps)
        first_part = self._integral(powers, vector, jumps / self.rate, tolerance / 2, None)
        remaining = time - jumps / self.rate
        values = first_part.values + remaining * limit.values
        rounding = 4.0 * U * (powers.norm(first_part.values) + remaining * powers.norm(limit.values))
        return VectorAtTime(
            values, first_part.error + remaining * error + rounding, steps + first_part.steps, settled=True
        )


@dataclass(frozen=True)
class _Powers:
    """Powers M^k of a matrix that contracts a norm, applied to vectors.

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

    def sum_powers(
        self,
        vector: NDArray[np.float64],
        weights: _Weights,
        stop_error: float,
        limit: Limit | None,
    ) -> tuple[NDArray[np.float64], int, float]:
        """Return sum_k weights[k] M^k vector, the number of products, and an error bound with rounding and early stop.

        The bound covers rounding, and stopping before the last power for at most ``stop_error``.
        """
        size, remaining_weights = self.norm(vector), weights.remaining_sums()
        total, first, last = np.zeros_like(vector), weights.left, weights.right
        prediction = Prediction()
        weight_sum = weights.equal_weight * first + float(remaining_weights[0])
        with Counter("powers of the jump matrix") as bar:
            for k in range(last + 1):
                weight = weights.equal_weight if k < first else float(weights.weights_from_left[k - first])
                if weight > 0.0:
                    total += weight * vector
                if k == last:
                    break
                next_vector = self.matrix @ vector
                if k % CHECK_INTERVAL == CHECK_INTERVAL - 1:
                    bar.show(k)
                    remaining_weight = float(remaining_weights[max(k + 1 - first, 0)])
                    remaining_weight += weights.equal_weight * max(first - k - 1, 0)
                    rounding = size * weight_sum * ((k + 1) * self.rounding + 4.0 * U)
                    change = self.norm(next_vector - vector) * (last - k) * remaining_weight
                    if change <= stop_error:
                        return total + remaining_weight * next_vector, k + 1, change + rounding
                    distances = {"change": (change, stop_error)}
                    if limit is not None:
                        distance = self.norm(next_vector - limit.values) * remaining_weight
                        if distance <= stop_error:  # and no power from here on is farther away
                            limit_error = distance + 2.0 * limit.error * remaining_weight + rounding
                            return total + remaining_weight * limit.values, k + 1, limit_error
                        distances["away"] = distance, stop_error
                    prediction.check(k + 1, last - k, distances)
                vector = next_vector
        return total, last, size * weight_sum * (last * self.rounding + 4.0 * U)

    def distance_to_limit(
        self, vector: NDArray[np.float64], tolerance: float, limit: Limit, jumps: float
    ) -> tuple[float, int]:
        """Return a bound on the distance of M^k vector to the limit for all k >= K, and K.

        The distance of powers to the limit does not grow. It is at most the tolerance, the errors of the
        limit and rounding. The number is at most half of ``jumps``, those expected.

        Raises
        ------
        ValueError
            Where that is predicted to take too long.
        """
        size, n_powers, prediction = self.norm(vector), 0, Prediction()
        with Counter("powers of the jump matrix") as bar:
            while 2 * n_powers < jumps:
                for _ in range(CHECK_INTERVAL):
                    vector = self.matrix @ vector
                n_powers += CHECK_INTERVAL
                bar.show(n_powers)
                distance, rounding = self.norm(vector - limit.values), size * n_powers * self.rounding
                threshold = tolerance + limit.error + rounding
                if distance <= threshold:
                    return distance + rounding + 2.0 * limit.error, n_powers
                prediction.check(n_powers, 0.5 * jumps, {"away": (distance, threshold)})
        raise ValueError(f"about {jumps:.1e} jumps, in which the chain does not come near to its long-run distribution")


def check_horizon(name: str, jumps: Uniformized, time: float) -> None:
    """Raise ValueError that names the argument ``name`` if more than `MAX_JUMPS` jumps are expected until ``time``."""
    if (count := jumps.rate * time) > MAX_JUMPS:
        hint = "the chain is long stationary then, or never"
        raise ValueError(f"{name} = {time:g}: about {count:.1e} jumps, more than {MAX_JUMPS:.0e}; {hint}")


def _total_variation(vector: NDArray[np.float64]) -> float:
    """Return half the sum of absolute entries: the total-variation distance, if ``vector`` is a difference."""
    return 0.5 * float(np.abs(vector).sum())


def _max_norm(vector: NDArray[np.float64]) -> float:
    """Return the largest absolute entry."""
    return float(np.abs(vector).max(initial=0.0))


def _jump_matrix(Q: sp.csr_matrix, rate: float) -> sp.csr_matrix:
    """Return P = I + Q / rate, shape (n, n), with diagonal entries >= 0."""
    identity = sp.identity(Q.shape[0], format="csr")
    if rate == 0.0:
        return sp.csr_matrix(identity)
    P = sp.csr_matrix(Q / rate + identity)
    P.data = np.maximum(P.data, 0.0)
    return P
