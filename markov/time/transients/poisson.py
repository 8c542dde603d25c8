"""Poisson probabilities between two truncation points, with a bound on the truncated mass.

The weights are computed relative to that of the mode, by ratios of neighbours, which neither overflow
nor underflow (the idea of B. L. Fox, P. W. Glynn, Computing Poisson probabilities, Communications of
the ACM 31(4), 1988); the tails are bounded by geometric series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PoissonWeights", "poisson_weights"]

UNIT = 2.0**-53
WIDE_UNIT = 0.5 * float(np.finfo(np.longdouble).eps)
BLOCK = 1024


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
    rounding = 2.0 * (len(above) + len(below) + 2) * WIDE_UNIT + 4.0 * UNIT
    cut = (cut_above + cut_below) / total
    return PoissonWeights(mean, mode - len(below), weights / total, 2.0 * cut + rounding, cut)


def _outwards(
    mean: float, mode: int, tolerance: float, *, up: bool
) -> tuple[NDArray[np.float64], float]:
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
            rest = block * following / (1.0 - np.minimum(following, 1.0 - UNIT))
        done = np.flatnonzero(rest <= tolerance)
        if len(done):
            stop = int(done[0]) + 1
            kept = block[:stop].astype(np.float64)
            parts.append(kept[kept > 0.0])
            return np.concatenate(parts), float(rest[stop - 1])
        parts.append(block.astype(np.float64))
        last, first = block[-1], first + BLOCK
