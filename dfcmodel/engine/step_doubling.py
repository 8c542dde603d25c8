"""A step from an accuracy: runs with half the step again and again, until goodput hardly changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Doubling", "double_steps"]

SAFETY = 2.0
"""Estimated error over the larger one of the last two changes. Chosen on 20 random networks (meshes with TCP, in which
changes do not become smaller, as senders that lose at other instants part): of these it covers 19."""


@dataclass(frozen=True)
class Doubling:
    """What `double_steps` has found: the last run, its steps per delay, and its estimated error."""

    run: Any
    steps_per_delay: int
    error: float


def double_steps(
    run: Callable[[int], Any],
    measure: Callable[[Any], Floats],
    accuracy: float,
    first: int,
    most: int,
) -> Doubling:
    """Double the steps per delay until the estimated error is small enough, or no more are allowed.

    The error of a run is estimated by how much ``measure`` has changed with each of the last two doublings,
    the larger one times `SAFETY`: where it converges with first order, the last change is the error.

    Parameters
    ----------
    run
        Returns the run with so many steps per delay.
    measure
        Of a run, an array.
    accuracy
        Largest error of its numbers.
    first, most
        Steps per delay of the first run, and of the last one at most; there are at least three runs.

    Examples
    --------
    A number with an error of 1/m:

    >>> found = double_steps(lambda m: m, lambda m: np.array([1.0 / m]), 0.1, first=4, most=128)
    >>> found.steps_per_delay, found.error
    (64, 0.0625)
    >>> double_steps(lambda m: m, lambda m: np.array([1.0 / m]), 1e-3, first=4, most=128).error
    0.03125
    """
    m, found = first, run(first)
    before, changes = measure(found), list[float]()
    while True:
        m *= 2
        found = run(m)
        now = measure(found)
        changes.append(float(np.abs(now - before).max(initial=0.0)))
        before = now
        error = SAFETY * max(changes[-2:])
        if len(changes) > 1 and (error <= accuracy or 2 * m > most):
            return Doubling(found, m, error)
