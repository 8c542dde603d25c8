"""Settings drawn from a posterior that few points of a design would hit: sequential Monte Carlo with tempering.

1. Points start uniform in the unit cube, at the power 0 of the likelihood.
2. The power rises as far as half of the points stay effective (bisection); they are resampled by weight.
3. Each point moves along the difference of two others (ter Braak 2006), reflected at the faces of the cube,
   and the move is accepted by Metropolis' rule; 2 and 3 are repeated until the power is 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
MOVES, JITTER = 12, 0.02
"""Moves at each power; standard deviation of what is added to a difference."""


def tempered(log_likelihood: Callable[[Values], Values], dimensions: int, number: int, seed: int) -> Values:
    """Return points of the unit cube distributed as a likelihood, shape (number, dimensions).

    Parameters
    ----------
    log_likelihood
        Of points of shape (n, dimensions); shape (n,).
    dimensions, number, seed
        Of the cube; of the points; of the generator.

    Examples
    --------
    >>> import numpy as np
    >>> from validation.inference.sampling import tempered
    >>> points = tempered(lambda u: -0.5 * ((u[:, 0] - 0.3) / 0.05) ** 2, 2, 400, seed=1)
    >>> bool(abs(points[:, 0].mean() - 0.3) < 0.01)
    True
    """
    rng = np.random.default_rng(seed)
    points = rng.random((number, dimensions))
    logs, power = log_likelihood(points), 0.0
    while power < 1.0:
        step = _step(logs, 1.0 - power)
        power = min(1.0, power + step)
        weights = np.exp(step * (logs - logs.max()))
        chosen = rng.choice(number, number, p=weights / weights.sum())
        points, logs = points[chosen], logs[chosen]
        for _ in range(MOVES):
            one, other = rng.permutation(number), rng.permutation(number)
            scale = rng.choice([1.0, 2.38 / np.sqrt(2.0 * dimensions)], (number, 1), p=[0.1, 0.9])
            moved = points + scale * (points[one] - points[other])
            moved = abs(moved + rng.normal(0.0, JITTER, points.shape)) % 2.0
            moved = np.minimum(moved, 2.0 - moved)
            new = log_likelihood(moved)
            accepted = np.log(rng.random(number)) < power * (new - logs)
            points[accepted], logs[accepted] = moved[accepted], new[accepted]
    return points


def _step(logs: Values, most: float) -> float:
    """Return by how much the power may rise while half of the points stay effective."""

    def effective(step: float) -> float:
        weights = np.exp(step * (logs - logs.max()))
        return float(weights.sum() ** 2 / (weights**2).sum())

    if effective(most) >= 0.5 * len(logs):
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= 0.5 * len(logs) else (low, middle)
    return max(low, 1e-6)
