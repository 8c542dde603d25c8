"""Verified bounds on the mean costs of a chain on its way to one state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import pair_sum
from markov.proofs.poisson import solved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.computing.double_double import DoubleDouble
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = ["SHARP", "Supersolution", "supersolution"]

SHARP = 0.5  # of c: an h that proves more is not looked for
PLAIN_CYCLES = 12  # of multigrid
REFINEMENTS = 3
ROUNDED_UP = 1.0 + 1e-12


class Supersolution(NamedTuple):
    """h with h(reference) = 0 and, verified elsewhere, (Q h)(x) <= -c and (Q h)(x) <= -relative w(x).

    Attributes
    ----------
    h
        Shape (n,), rounded up; positive but in the reference, as it has its least value there: where
        else it had, Q h would not be negative.
    c, relative
        What is not positive proves nothing.
    """

    h: Vector
    c: float
    relative: float


def supersolution(products: DoubleDouble, solver: Solver, weights: Vector) -> Supersolution:
    """Return an h near the mean costs until the solver's reference, and the bound it proves.

    Parameters
    ----------
    products
        What multiplies the generator by h.
    solver
        Of Q g = -f.
    weights
        w, the costs per second, shape (n,), at least one.
    """
    reference, n = solver.reference, len(weights)

    def enough(rest: Vector) -> bool:
        drift = rest - weights
        drift[reference] = -math.inf
        return float(drift.max()) < -SHARP

    h = np.zeros(n), np.zeros(n)
    rest, best = weights, Supersolution(h[0], 0.0, 0.0)
    for _ in range(REFINEMENTS):
        h = pair_sum(h, solved(solver, rest, enough, PLAIN_CYCLES))
        drift, error = products.drift(*h)
        worst = drift + error
        worst[reference] = -math.inf
        c = -float(worst.max())
        if not (c > best.c and np.all(np.isfinite(h[0]))):
            break
        worst /= weights
        best = Supersolution((h[0] + h[1]) * ROUNDED_UP, c, -float(worst.max()))
        if c > SHARP:
            break
        rest = weights + drift
    return best
