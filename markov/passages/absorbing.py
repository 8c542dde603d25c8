"""Linear equations of a chain until it is absorbed, with a rigorous bound on each solution.

With A = -Q restricted to transient states, an M-matrix with A^-1 >= 0: for w > 0 with A w >= c > 0 and
any x, |x - A^-1 b| <= w max_i |(b - A x)_i| / (A w)_i. An approximate mean time to absorption serves as
w; it need not be accurate, since A w is looked at. The solution is kept as the sum of two vectors and
its residual evaluated in double-double, so that cancellation does not spoil the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, bicgstab, spilu, splu

from markov.computing.double_double import DoubleDouble, sum_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Absorbing"]

UNIT = 2.0**-53
LONG_UNIT = float(np.finfo(np.longdouble).eps)
FACTORED = 60_000  # states up to which a factorization is tried first
MAX_ITERATIONS = 2_000
REFINEMENTS = 10
TINY = float(np.finfo(float).tiny)


class _Right:
    """A right-hand side as a sum of two float64, and how far each entry may be off."""

    def __init__(self, given: NDArray[Any], terms: int) -> None:
        self.high = given.astype(np.float64)
        self.low = (given - self.high).astype(np.float64)
        wide = given.dtype == np.longdouble
        self.error = (LONG_UNIT * terms if wide else 0.0) * np.abs(self.high)


Solver = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


class Absorbing:
    """States that a chain leaves for good, and equations A x = b among them.

    Parameters
    ----------
    Q
        Generator of the whole chain, shape (n, n); its off-diagonals are taken as exact.
    inside
        The states of which the equations are, shape (n,): each must lead out of them.
    """

    def __init__(self, Q: sp.csr_matrix, inside: NDArray[np.bool_]) -> None:
        self.states = np.flatnonzero(inside)
        self.inside = inside
        rows = sp.csr_matrix(Q[self.states])
        owner = np.repeat(np.arange(len(self.states)), np.diff(rows.indptr))
        off = rows.indices != self.states[owner]
        self._rows, self._columns = owner[off], rows.indices[off]
        self._rates = rows.data[off]
        place = np.cumsum(inside) - 1
        within = inside[self._columns]
        pairs = self._rows[within], place[self._columns[within]]
        size = len(self.states), len(self.states)
        self.F = sp.csr_matrix((self._rates[within], pairs), shape=size)
        self.exit_rates = _summed(
            self._rows, self._rates.astype(np.longdouble), len(self.states)
        ).astype(np.float64)
        self.A = sp.csr_matrix(sp.diags(self.exit_rates) - self.F)

    @cached_property
    def _exact(self) -> DoubleDouble:
        """Products with A in double-double: states inside, then those outside that they lead to."""
        m, within = len(self.states), self.inside[self._columns]
        outside, place = np.unique(self._columns[~within], return_inverse=True)
        columns = np.empty_like(self._columns)
        columns[within] = np.cumsum(self.inside)[self._columns[within]] - 1
        columns[~within] = m + place
        beyond = np.arange(m, m + len(outside))  # any transition out of them: it is not looked at
        rows = np.concatenate([self._rows, beyond])
        columns = np.concatenate([columns, np.zeros(len(outside), dtype=columns.dtype)])
        rates = np.concatenate([self._rates, np.ones(len(outside))])
        size = m + len(outside)
        return DoubleDouble(sp.csr_matrix((rates, (rows, columns)), shape=(size, size)))

    def rates_into(self, target: NDArray[np.bool_]) -> NDArray[np.longdouble]:
        """Return the rates from each state inside to a set outside, shape (m,)."""
        into = target[self._columns]
        rates = self._rates[into].astype(np.longdouble)
        return _summed(self._rows[into], rates, len(self.states))

    def solve(
        self, right: NDArray[np.float64] | NDArray[np.longdouble]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x with A x = right, and a bound on the error of each entry, shape (m,) each.

        The bound is inf where none was found. Entries in extended precision may be off by their
        rounding; others are taken as exact.
        """
        if not len(right):
            return np.zeros(0), np.zeros(0)
        b = _Right(right, self._most)
        with np.errstate(all="ignore"):
            x = self._solver(b.high)
            extra = np.zeros_like(x)
            w, drift = self._weights
            best, found = np.inf, (x, np.full_like(x, np.inf))
            for _ in range(REFINEMENTS + 1):
                rest, rounding = self._residual(b, x, extra)
                scaled = float(np.max((np.abs(rest) + rounding) / drift))
                if scaled < best:
                    error = np.abs(extra) + w * scaled * (1.0 + 8.0 * UNIT) + TINY
                    found = x, np.where(np.isfinite(error) & np.isfinite(x), error, np.inf)
                if not scaled < 0.5 * best:
                    break
                best = scaled
                extra = extra + self._solver(rest)
                whole = x + extra
                extra, x = extra + (x - whole), whole
        return found

    def mean_time(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean time until the states are left, and a bound on its error, shape (m,)."""
        return self.solve(np.ones(len(self.states)))

    def net_flow(self, v: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return -v A, and a bound on the rounding error of each entry, shape (m,) each."""
        product = self._exact.net_flow(np.append(v, np.zeros(self._exact.Q.shape[0] - len(v))))
        return product.value[: len(v)], product.error[: len(v)]

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return w > 0, and a lower bound > 0 on A w; inf and 1 where none is found."""
        costs = 1.0 + self.exit_rates / max(float(self.exit_rates.mean()), TINY)
        w = self._solver(costs)
        rest, rounding = self._residual(_Right(costs, 0), w, np.zeros_like(w))
        drift = costs - rest - rounding - 4.0 * UNIT * costs
        good = np.all(np.isfinite(w)) and w.min() > 0.0 and drift.min() > 0.0
        return (w, drift) if good else (np.full_like(w, np.inf), np.ones_like(w))

    def _residual(
        self, b: _Right, x: NDArray[np.float64], extra: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return b - A (x + extra), and a bound on the rounding error of that."""
        m, beyond = len(x), np.zeros(self._exact.Q.shape[0] - len(x))
        product = self._exact.drift(np.append(x, beyond), np.append(extra, beyond))
        change = product.value[:m]
        total = change + b.high
        rest = total + (sum_error(change, b.high) + b.low)
        return rest, product.error[:m] + b.error + 4.0 * UNIT * (np.abs(rest) + np.abs(b.low))

    @cached_property
    def _most(self) -> int:
        """Most transitions out of a state: terms of a sum of exit rates."""
        return int(np.bincount(self._rows, minlength=1).max())

    @cached_property
    def _solver(self) -> Solver:
        n = len(self.states)
        found: Solver | None = None
        if n <= FACTORED:
            found = self._factored()
        return found or self._iterative() or self._factored() or (lambda b: np.full_like(b, np.nan))

    def _factored(self) -> Solver | None:
        with suppress(RuntimeError, MemoryError):
            lu = splu(sp.csc_matrix(self.A), diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            return lambda b: np.asarray(lu.solve(b))
        return None

    def _iterative(self) -> Solver | None:
        with suppress(RuntimeError, MemoryError):
            matrix = sp.csc_matrix(self.A)
            ilu = spilu(matrix, drop_tol=1e-3, fill_factor=6.0, diag_pivot_thresh=0.0)
            shape = self.A.shape
            preconditioner = LinearOperator(shape, ilu.solve)

            def solve(b: NDArray[np.float64]) -> NDArray[np.float64]:
                x, _ = bicgstab(self.A, b, rtol=1e-13, maxiter=MAX_ITERATIONS, M=preconditioner)
                return np.asarray(x)

            return solve
        return None


def _summed(
    rows: NDArray[np.int64], values: NDArray[np.longdouble], n: int
) -> NDArray[np.longdouble]:
    """Return the sums of values by their rows, which ascend, in extended precision, shape (n,)."""
    found = np.zeros(n, dtype=np.longdouble)
    if len(rows):
        starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        found[rows[starts]] = np.add.reduceat(values, starts)
    return found
