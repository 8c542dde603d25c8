"""How fast a chain leaves its transient states in the end: both Perron vectors, and an interval for their eigenvalue.

With A = -Q among m states that all lead to each other: inverse iteration without a subtraction (`PositiveFactors`),
then one step of which the result is refined to twice the digits. For any v > 0 the eigenvalue lies between the least
and the largest (v A)(x) / v(x) (L. Collatz, H. Wielandt), of rows and of columns, evaluated in double-double.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.graphs import strong_components
from markov.computing.memory import TooLargeError
from markov.computing.rounding import U
from markov.time.passages.positive_factors import PositiveFactors, band_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.time.passages.absorbing import Absorbing

    Vector = NDArray[np.float64]
    Solve = Callable[[Vector], Vector]
    Ratios = Callable[[Vector, Vector], tuple[Vector, Vector]]

__all__ = ["SlowestDecay", "decay_seconds", "slowest_decay"]

MAX_STEPS = 60
REFINEMENTS = 2
ROUNDED = 8.0 * U  # relative spread of ratios that more steps do not make smaller
SECONDS_PER_PRODUCT = 1.5e-9
SECONDS_PER_STATE = 1e-4  # of an elimination and some ten solves
USEFUL = 1e-9  # relative width of the interval beyond which vectors are of no use


class SlowestDecay(NamedTuple):
    """Perron vectors, and an interval for the eigenvalue in 1/s.

    Attributes
    ----------
    left, right
        Shape (m,) each, > 0, rounded from the vectors whose products were evaluated.
    low, high
        v A and A u lie between ``low`` and ``high`` times v and u in every entry, of those vectors.
    """

    left: Vector
    right: Vector
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The middle of the interval."""
        return 0.5 * (self.low + self.high)


def decay_seconds(system: Absorbing) -> float:
    """Return the predicted time of `slowest_decay`."""
    return SECONDS_PER_PRODUCT * band_of(system.F).work + SECONDS_PER_STATE * len(system.states)


def slowest_decay(system: Absorbing) -> SlowestDecay | None:
    """Return the vectors and the interval; None where they are not found to 1e-9 in 60 steps.

    So it is where states do not all lead to each other, and where the next eigenvalue is near.
    """
    count, _ = strong_components(system.F)
    if count > 1:
        return None
    try:
        factors = PositiveFactors(system.F, system.rates_into(~system.inside).astype(np.float64))
    except TooLargeError:
        return None
    found = []
    with np.errstate(all="ignore"):  # what is not finite or positive is looked for
        sides: tuple[tuple[Solve, Ratios], ...] = (
            (factors.left, system.row_products),
            (factors.right, system.column_products),
        )
        for solve, products in sides:
            one = _eigenvector(np.ones(len(system.states)), solve, products)
            if one is None:
                return None
            found.append(one)
    (left, *of_rows), (right, *of_columns) = found
    low, high = max(of_rows[0], of_columns[0]), min(of_rows[1], of_columns[1])
    return SlowestDecay(left, right, low, high) if low <= high else None


def _eigenvector(v: Vector, solve: Solve, products: Ratios) -> tuple[Vector, float, float] | None:
    """Return the vector and the interval of one side, from any positive one."""
    spread = math.inf
    for _ in range(MAX_STEPS):
        after = solve(v)
        if not (np.isfinite(after).all() and after.min() > 0.0):
            return None
        ratios = v / after
        wide = float(ratios.max() / ratios.min()) - 1.0
        v = after / after.max()
        if wide <= ROUNDED or (wide < USEFUL and wide >= 0.5 * spread):
            break
        spread = wide
    else:
        return None
    size = float(ratios.mean())
    goal, x = v * size, v
    low = np.zeros_like(v)
    for _ in range(REFINEMENTS):
        product, _ = products(x, low)
        low = low + solve(goal - product)
        total = x + low
        low, x = low + (x - total), total
    product, error = products(x, low)
    up = 1.0 + 8.0 * U
    least, most = (
        float(((product - error) / x).min()) / up,
        float(((product + error) / x).max()) * up,
    )
    if not (x.min() > 0.0 and 0.0 < least <= most <= (1.0 + USEFUL) * least):
        return None
    return x, least, most
