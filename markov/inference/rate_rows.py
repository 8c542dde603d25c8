"""The rates out of some states of a model at other parameters, and their derivatives, by the rules in plain Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import off_diagonal, row_numbers
from markov.computing.rounding import U
from markov.generators.slopes import plain_rates
from markov.sensitivities.differences import Kinked, derivative

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["ChangedError", "RateRows"]

STEP = 2.0**-8  # of a parameter, over which rates are compared with straight lines
STRAIGHT = 16.0 * U  # relative to a rate: rounding of the comparison
SCALES = 5  # of steps of differences


class ChangedError(ArithmeticError):
    """There are transitions at one value of the parameters that there are not at another."""


class RateRows:
    """The rates out of some states.

    Parameters
    ----------
    chain
        Of a model by rules.
    needed
        The states, shape (n,).
    """

    def __init__(self, chain: MarkovChain, needed: NDArray[np.bool_]) -> None:
        assert chain.space is not None
        self._space, self._states = chain.space, np.flatnonzero(needed)
        components = chain.components_of(np.arange(chain.size))
        assert components is not None
        self._places = self._space.numbers(np.array(list(components.values())))
        self._pattern = off_diagonal(chain.Q)[self._states]
        self._pattern.sort_indices()
        self._size = chain.size

    def rates(self, model: Any) -> Vector:
        """Return the rates of a model, in a fixed order, shape (transitions,).

        Raises
        ------
        ChangedError
            When there are other transitions.
        """
        found = plain_rates(model, self._space, self._places, self._states)
        if found is None:
            raise ChangedError
        found.sum_duplicates()
        found.eliminate_zeros()
        found.sort_indices()
        pattern = self._pattern
        if not (np.array_equal(found.indptr, pattern.indptr) and np.array_equal(found.indices, pattern.indices)):
            raise ChangedError
        return np.asarray(found.data)

    def slopes(self, model_at: Callable[[float], Any], at: float, here: Vector) -> Vector:
        """Return the derivatives of the rates by a parameter, shape (transitions,).

        Two differences on both sides, of different lengths, that agree are those of a straight line. Otherwise as for
        sensitivities (`markov.sensitivities.differences`).

        Raises
        ------
        ValueError
            At a kink.
        """
        step = STEP * 2.0 ** math.floor(math.log2(abs(at)))
        above, below = self.rates(model_at(step)), self.rates(model_at(-0.5 * step))
        right, left = (above - here) / step, (here - below) / (0.5 * step)
        if (np.abs(right - left) <= STRAIGHT * np.maximum(above, here) / (0.5 * step)).all():
            return np.asarray((above - below) / (1.5 * step))

        def values(shifts: Sequence[float]) -> list[Vector]:
            return [self.rates(model_at(shift)) if shift else here for shift in shifts]

        try:
            return derivative(values, step / STEP, None, SCALES).value
        except Kinked:
            raise ValueError(f"rates have a kink at {at!r}: no derivative") from None

    def matrix(self, values: Vector) -> sp.csr_matrix:
        """Return rates, or their derivatives, with the diagonal that makes rows sum to zero, shape (n, n)."""
        rows = self._states[row_numbers(self._pattern.indptr)]
        shape = self._size, self._size
        moves = sp.csr_matrix((values, (rows, self._pattern.indices)), shape=shape)
        return sp.csr_matrix(moves - sp.diags(np.asarray(moves.sum(axis=1)).ravel()))
