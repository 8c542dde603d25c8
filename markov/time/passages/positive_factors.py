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
from markov.computing.vectors import row_numbers
from markov.methods.elimination import band
from markov.methods.gth_numpy import square

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.methods.elimination import Band

    Vector = NDArray[np.float64]

__all__ = ["PositiveFactors", "band_of"]


def band_of(rates: sp.csr_matrix) -> Band:
    """Return how rates between transient states are laid out, and what their elimination costs."""
    return band(rates, block=rates.shape[0])


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
        m = len(form.order)
        check_room(f"elimination of {m} states", form.memory)
        flat = np.zeros(form.n_values)
        rows, columns = row_numbers(rates.indptr, form.rank), form.rank[rates.indices]
        flat[rows * form.row_stride + columns] = rates.data
        entries, out = square(flat, form.row_stride, m), leaving[form.order]
        totals, first = np.empty(m), form.first.tolist()
        for k in range(m - 1, -1, -1):
            start = first[k]
            row, column = entries[k, start:k], entries[start:k, k]
            totals[k] = total = out[k] + row.sum()
            column /= total
            out[start:k] += column * out[k]
            part = entries[start:k, start:k]
            part += column[:, None] * row
        self._form, self._entries, self._totals, self._first = form, entries, totals, first

    def left(self, r: Vector) -> Vector:
        """Return v with v A = r, shape (m,)."""
        form, entries, v = self._form, self._entries, r[self._form.order]
        for k in range(len(v) - 1, -1, -1):
            v[k] /= self._totals[k]
            v[self._first[k] : k] += v[k] * entries[k, self._first[k] : k]
        for k in range(1, len(v)):
            v[k] += v[self._first[k] : k] @ entries[self._first[k] : k, k]
        return np.asarray(v[form.rank])

    def right(self, b: Vector) -> Vector:
        """Return x with A x = b, shape (m,)."""
        form, entries, x = self._form, self._entries, b[self._form.order]
        for k in range(len(x) - 1, 0, -1):
            x[self._first[k] : k] += entries[self._first[k] : k, k] * x[k]
        for k in range(len(x)):
            x[k] = (x[k] + entries[k, self._first[k] : k] @ x[self._first[k] : k]) / self._totals[k]
        return np.asarray(x[form.rank])
