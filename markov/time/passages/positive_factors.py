"""Equations among transient states, A x = b and v A = r with A = -Q there, without a subtraction.

A is kept as rates between the states and rates out of them. Elimination adds to both what goes by way of a state, as
`GTH` does for recurrent chains (W. K. Grassmann, M. I. Taksar, D. P. Heyman, Operations Research 33(5), 1985), so that
pivots are sums: no digit of a small exit rate is lost beside large rates (A. S. Alfa, J. Xue, Q. Ye, Mathematics of
Computation 71, 2002). On band storage, in the reverse Cuthill-McKee order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.computing.memory import check_room
from markov.elimination.gth_numpy import Substitution, eliminate_block, lay_out, square
from markov.elimination.patterns import band, update

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.elimination.patterns import Band

    Vector = NDArray[np.float64]

__all__ = ["PositiveFactors", "band_of"]

COPIES = 3.0  # of the rates on band storage: those that are eliminated, and both factors


def band_of(rates: sp.csr_matrix) -> Band:
    """Return how rates between transient states are laid out, and what their elimination costs."""
    return band(rates)


class PositiveFactors:
    """Factors of A, the exit rates of states less the rates between them.

    Parameters
    ----------
    rates
        Between the states, off the diagonal, shape (m, m), >= 0.
    leaving
        Rates out of the states, shape (m,), >= 0: each state must lead to one where it is positive.

    Raises
    ------
    TooLargeError
        When the rates, filled in, would not fit into memory, before they are laid out.
    """

    def __init__(self, rates: sp.csr_matrix, leaving: Vector) -> None:
        form = band_of(rates)
        m, first = len(form.order), form.first
        check_room(f"elimination of {m} states", COPIES * form.memory)
        flat, out = np.zeros(form.n_values), leaving[form.order]
        lay_out(rates.indptr, rates.indices, rates.data, form.rank, form.row_stride, flat)
        entries = square(flat, form.row_stride, m)
        for high in range(m, 0, -form.block):
            low = max(0, high - form.block)
            eliminate_block(entries, first, low, high, out)
            start = int(first[low])
            if start < low:
                update(entries, start, low, high)
                out[start:low] += entries[start:low, low:high] @ out[low:high]
        self._form = form
        self._factors = Substitution(flat, form.row_stride, first)

    def left(self, r: Vector) -> Vector:
        """Return v with v A = r, shape (m,)."""
        v = r[self._form.order]
        self._factors.inflows(v)
        return np.asarray(v[self._form.rank])

    def right(self, b: Vector) -> Vector:
        """Return x with A x = b, shape (m,)."""
        x = b[self._form.order]
        self._factors.costs(x)
        return np.asarray(x[self._form.rank])
