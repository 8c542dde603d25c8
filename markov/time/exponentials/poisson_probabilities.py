"""Poisson probabilities: in float64 with a bound on what is cut off, and as words to any relative accuracy.

In float64 they are computed relative to that of the mode, by ratios of neighbours, which neither overflow
nor underflow (the idea of B. L. Fox, P. W. Glynn, Computing Poisson probabilities, Communications of
the ACM 31(4), 1988); the tails are bounded by geometric series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.rounding import WIDE_U, U

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.time.exponentials.words import Words

__all__ = ["PoissonWeights", "most_jumps", "poisson_weights", "weights_in_words"]

BLOCK = 1024
BITS = 220  # of a mantissa
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


def weights_in_words(x: Fraction, count: int, words: int) -> Words:
    """Return e^-x x^k / k! for k < count as words, shape (words, count), for 0 <= x <= 2; each to some 2^-200."""
    # x as a mantissa and an exponent: in units of 2^-BITS a small one would have no digits
    shift = x.denominator.bit_length() - x.numerator.bit_length() + BITS
    factor, shift = _mantissa((x.numerator << max(shift, 0)) // x.denominator, -max(shift, 0))
    value, exponent = _exp_minus(x), -BITS
    found = np.empty((words, count))
    for k in range(count):
        left = value
        for word in range(words):
            rounded = float(left)
            found[word, k] = math.ldexp(rounded, exponent)
            left -= int(rounded)
        value, more = _mantissa(value * factor // (k + 1), 0)
        exponent += more + shift
    return found


def _mantissa(value: int, exponent: int) -> tuple[int, int]:
    """Return a whole number of at most `BITS` bits and the exponent of two that it is to be multiplied by."""
    extra = max(value.bit_length() - BITS, 0)
    return value >> extra, exponent + extra


def _exp_minus(x: Fraction) -> int:
    """Return e^-x in units of 2^-BITS, for 0 <= x <= 2, to some 100 units."""
    scaled = (x.numerator << BITS) // x.denominator
    total, term, k = 0, 1 << BITS, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * scaled >> BITS) // k
    return total
