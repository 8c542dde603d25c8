"""Linear equations of a chain until it is absorbed, with a rigorous bound on each solution.

A = -Q restricted to transient states is an M-matrix with A^-1 >= 0. For w > 0 with A w >= c > 0 and any x,

    |x - A^-1 b| <= w max_i |(b - A x)_i| / (A w)_i.

1. An approximate mean time to absorption serves as w; it need not be accurate, since A w is computed, in double-double.
2. x is the sum of two vectors, refined by the residual b - A x in double-double, so that cancellation does not spoil
   the bound.
3. The first solver that yields such a w serves: multigrid for many states, sparse factors or iterations with incomplete
   factors, and last an elimination without a subtraction for matrices that are singular to rounding.

Rounding enters in the residual alone, and its bound is part of the numerator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

from hopflow.fork_safety import cached_property
from hopflow.results import WithoutCaches
from markov.computing.double_double import DoubleDouble, sum_error
from markov.computing.matrices import row_numbers
from markov.computing.resources import Counter, watch_residuals
from markov.computing.rounding import WIDE_U, U
from markov.elimination.bands import PositiveFactors, band
from markov.elimination.lu import factorize
from markov.methods.jump_chain import jump_chain_of, normalize
from markov.methods.multilevel import Multilevel
from markov.multigrid.linear_multigrid import CoarseLevels, LinearMultigrid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Absorbing", "Refined", "Solver", "multigrid_solver"]

Solver = Callable[["NDArray[np.float64]", float], "NDArray[np.float64]"]
"""From b and the factor by which its residual is to fall to x; shape (m,) each."""

WEIGHT_DISTRIBUTION_TOLERANCE = 1e-3  # residual of the distribution by which states weigh
MAX_CYCLES = 20  # to get there
OUTSIDE_LEAK_RATE = 1e100  # of the state outside, so that its value stays zero


def multigrid_solver(A: sp.csr_matrix, leaving: Vector, costs: Vector) -> Solver | None:
    """Return a function that solves A x = b by multigrid; None if the weights of its coarse levels do not converge.

    Parameters
    ----------
    A
        Minus the generator on m states, shape (m, m).
    leaving
        Rate at which each of them is left for the outside, shape (m,).
    costs
        What a residual is measured by, entry by entry, shape (m,), > 0.
    """
    m = len(leaving)
    inside = sp.hstack([-A, sp.csr_matrix(leaving[:, None])])
    restart = sp.csr_matrix(np.append(np.full(m, 1.0 / m), -1.0)[None, :])
    Q = sp.csr_matrix(sp.vstack([inside, restart]))
    chain = jump_chain_of(Q)
    exits = chain.exit_rates
    with watch_residuals(None):  # progress shows residuals of an answer, not of its weights
        solution = Multilevel(tolerance=WEIGHT_DISTRIBUTION_TOLERANCE, max_iterations=MAX_CYCLES).flows(
            chain, isolated=m
        )
    flow = normalize(solution.flow)
    if solution.hierarchy is None or not (np.all(np.isfinite(flow)) and flow.min() > 0.0):
        return None
    levels = CoarseLevels.by_target(solution.hierarchy, flow, ground=m).by_source(m, OUTSIDE_LEAK_RATE)
    diagonal = np.append(-exits[:m], -np.inf)
    rows = Q.indptr, Q.indices, Q.data
    cycles = LinearMultigrid(rows, 0.0, diagonal, flow / exits, np.ones(m + 1), levels)
    weights = np.append(costs, np.inf)

    def solve(b: Vector, ratio: float) -> Vector:
        """Return x with A x = b, until the largest residual per cost is ``ratio`` times that of x = 0."""
        target = ratio * float(np.max(np.abs(b) / costs))
        return cycles.solve(
            np.append(b, 0.0), lambda residual: bool(np.max(np.abs(residual[:m]) / costs) <= target), weights
        )[:m]

    return solve


MAX_FACTORED_STATES = 3_000  # a factorization is faster on any graph up to here
MAX_FACTORED_TREE_STATES = 30_000  # the same on a graph that is nearly a tree, or without Numba
MAX_TREE_DEGREE = 2.2  # transitions per state of such a graph
MAX_FACTORED_BEFORE_ITERATIONS = 300_000  # with more, iterations with incomplete factors come first
MAX_ITERATIONS = 2_000
REFINEMENTS = 10
ENTRY_ROUNDING = 8.0 * U  # of an entry: corrections are rounded, so that two units of rounding are out of reach
MANY_ENTRIES_ROUNDING = 1e-10  # of an entry, for more states than are factored
MIN_RESIDUAL_RATIO = 1e-11  # of a residual, at most, by iterations in double precision
WEIGHT_RESIDUAL_RATIO = 0.1
WEIGHT_ATTEMPTS = 3  # refinements of weights that float64 rounds too coarsely
MAX_POSITIVE_WORK = 2e9  # multiplications of an elimination on band storage
MIN_FLOAT = float(np.finfo(float).tiny)


class _RightHandSide:
    """Right-hand side of A x = b as the sum of two float64 vectors, with a bound on the error of each entry."""

    def __init__(self, values: NDArray[Any], terms: int) -> None:
        self.high = values.astype(np.float64)
        self.low = (values - self.high).astype(np.float64)
        extended = values.dtype == np.longdouble
        self.error = (WIDE_U * terms if extended else 0.0) * np.abs(self.high)


class Refined(NamedTuple):
    """Solution x = high + low of A x = b, with weights w > 0 and A w >= drift > 0, from which its error bound follows.

    Attributes
    ----------
    high, low, w, drift
        Shape (m,) each.
    scaled
        No entry of the residual b - A x exceeds ``scaled drift``, no error of x ``scaled w``.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    w: NDArray[np.float64]
    drift: NDArray[np.float64]
    scaled: float

    @property
    def error(self) -> NDArray[np.float64]:
        """Bound on the error of each entry of ``high`` alone, shape (m,); inf: no bound."""
        with np.errstate(all="ignore"):
            error = np.abs(self.low) + self.w * self.scaled + MIN_FLOAT
        return np.where(np.isfinite(error) & np.isfinite(self.high), error, np.inf)


class Absorbing(WithoutCaches):
    """Linear equations A x = b on states that a chain leaves for good, solved with bounds; A is -Q on these states.

    Parameters
    ----------
    Q
        Generator of the whole chain, shape (n, n); its off-diagonals are taken as exact.
    inside
        The states of the equations, shape (n,): each must lead out of them.
    """

    def __init__(self, Q: sp.csr_matrix, inside: NDArray[np.bool_]) -> None:
        self.states = np.flatnonzero(inside)
        self.inside = inside
        rows = sp.csr_matrix(Q[self.states])
        owner = row_numbers(rows.indptr)
        off_diagonal = rows.indices != self.states[owner]
        self._rows, self._columns = owner[off_diagonal], rows.indices[off_diagonal]
        self._rates = rows.data[off_diagonal]
        index_of = np.cumsum(inside) - 1
        within = inside[self._columns]
        pairs = self._rows[within], index_of[self._columns[within]]
        size = len(self.states), len(self.states)
        self.F = sp.csr_matrix((self._rates[within], pairs), shape=size)
        self.wide_exit_rates = sum_by_row(self._rows, self._rates.astype(np.longdouble), len(self.states))
        self.exit_rates = self.wide_exit_rates.astype(np.float64)
        self.A = sp.csr_matrix(sp.diags(self.exit_rates) - self.F)

    @cached_property
    def _double_double(self) -> DoubleDouble:
        """Double-double products with A: rows of the states inside, then of the outside states that they lead to."""
        m, within = len(self.states), self.inside[self._columns]
        outside, beyond_of = np.unique(self._columns[~within], return_inverse=True)
        columns = np.empty_like(self._columns)
        columns[within] = np.cumsum(self.inside)[self._columns[within]] - 1
        columns[~within] = m + beyond_of
        absorbing_rows = np.arange(m, m + len(outside))  # any transition out of them: its product is not used
        rows = np.concatenate([self._rows, absorbing_rows])
        columns = np.concatenate([columns, np.zeros(len(outside), dtype=columns.dtype)])
        rates = np.concatenate([self._rates, np.ones(len(outside))])
        size = m + len(outside)
        return DoubleDouble(sp.csr_matrix((rates, (rows, columns)), shape=(size, size)))

    def rates_into(self, target: NDArray[np.bool_]) -> NDArray[np.longdouble]:
        """Return the total rate from each state inside to the states marked in ``target``, shape (m,)."""
        into = target[self._columns]
        rates = self._rates[into].astype(np.longdouble)
        return sum_by_row(self._rows[into], rates, len(self.states))

    def solve(
        self, right: NDArray[np.float64] | NDArray[np.longdouble]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x with A x = right, and a bound on the error of each entry, shape (m,) each.

        The bound is inf where no weights w are proved.
        """
        solution = self.refine(right)
        return solution.high, solution.error

    def refine(
        self,
        right: NDArray[np.float64] | NDArray[np.longdouble],
        absolute: NDArray[np.float64] | float = 0.0,
    ) -> Refined:
        """Return the solution x of A x = ``right`` as a sum of two vectors, with the weights of its error bound.

        Entries in extended precision may be off by their rounding; others are taken as exact.
        Refinement stops where the error of each entry is proved to be at most ``absolute``, shape (m,), rounding, or
        1e-10 of the entry where there are many states.
        """
        if not len(right):
            return Refined(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), 0.0)
        relative = MANY_ENTRIES_ROUNDING if self._has_many_states else ENTRY_ROUNDING
        with np.errstate(all="ignore"):
            b = _RightHandSide(right, self.max_transitions)
            run, w, drift = self._solver
            largest = float(np.max(np.abs(b.high) / drift))
            largest_ratio = 0.5 * float(np.min(absolute / w)) / largest if largest > 0.0 else 0.0
            x = run(b.high, max(MIN_RESIDUAL_RATIO, 0.1 * relative, largest_ratio))
            extra, smallest = np.zeros_like(x), np.inf
            best_solution = Refined(x, extra, w, drift, np.inf)
            for _ in range(REFINEMENTS + 1):
                residual, rounding = self._residual(b, x, extra)
                scaled = float(np.max((np.abs(residual) + rounding) / drift)) * (1.0 + 6.0 * U)
                requested = np.maximum(relative * np.abs(x), absolute)
                ratio = float(np.min(requested / (w * scaled)))  # 1 or more: nothing
                if scaled < smallest:
                    best_solution = Refined(x, extra, w, drift, scaled)
                if ratio >= 1.0 or not scaled < 0.5 * smallest:
                    break
                smallest = scaled
                extra = extra + run(residual, max(MIN_RESIDUAL_RATIO, 0.1 * ratio))
                total = x + extra
                extra, x = extra + (x - total), total
        return best_solution

    def row_products(self, v: Vector, low: Vector | None = None) -> tuple[Vector, Vector]:
        """Return (v + low) A, and a bound on the rounding error of each entry, shape (m,) each."""
        product = self._double_double.net_flow(*self._pad(v, low))
        return -product.value[: len(v)], product.error[: len(v)]

    def column_products(self, x: Vector, low: Vector | None = None) -> tuple[Vector, Vector]:
        """Return A (x + low), and a bound on the rounding error of each entry, shape (m,) each."""
        product = self._double_double.drift(*self._pad(x, low))
        return -product.value[: len(x)], product.error[: len(x)]

    def _pad(self, x: Vector, low: Vector | None) -> tuple[Vector, Vector]:
        """Return ``x`` and ``low`` (None: zeros), each with zeros appended for the outside states."""
        beyond = np.zeros(self._double_double.Q.shape[0] - len(x))
        low = np.zeros_like(x) if low is None else low
        return np.append(x, beyond), np.append(low, beyond)

    def _residual(
        self, b: _RightHandSide, x: NDArray[np.float64], extra: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the residual b - A (x + extra), and a bound on its rounding error, shape (m,) each."""
        product, error = self.column_products(x, extra)
        total = b.high - product
        residual = total + (sum_error(-product, b.high) + b.low)
        return residual, error + b.error + 4.0 * U * (np.abs(residual) + np.abs(b.low))

    @cached_property
    def max_transitions(self) -> int:
        """Largest number of transitions out of one state, and so of terms in the sum of an exit rate."""
        return int(np.bincount(self._rows, minlength=1).max())

    @cached_property
    def _has_many_states(self) -> bool:
        """Whether multigrid or iterations are predicted to be faster than a sparse factorization."""
        count = len(self.states)
        tree = self.F.nnz <= MAX_TREE_DEGREE * count
        return count > (MAX_FACTORED_TREE_STATES if tree else MAX_FACTORED_STATES)

    @cached_property
    def _solver(self) -> tuple[Solver, NDArray[np.float64], NDArray[np.float64]]:
        """Return a solver of A x = b, weights w > 0 and a lower bound > 0 on A w; inf and 1 if no weights are proved.

        The first solver that yields such weights, otherwise the first of all.
        """
        costs = 1.0 + self.exit_rates / max(float(self.exit_rates.mean()), MIN_FLOAT)
        first: Solver | None = None
        for solver, attempts in self._solvers(costs):
            w, low = solver(costs, WEIGHT_RESIDUAL_RATIO), np.zeros_like(costs)
            for _ in range(attempts):
                residual, rounding = self._residual(_RightHandSide(costs, 0), w, low)
                drift = costs - residual - rounding - 4.0 * U * costs
                if not (np.all(np.isfinite(w)) and w.min() > 0.0):
                    break
                if drift.min() > 0.0:
                    return solver, w * (1.0 + 4.0 * U), drift
                extra = low + solver(residual, WEIGHT_RESIDUAL_RATIO)
                total = w + extra
                low, w = extra + (w - total), total
            first = first or solver
        fallback = first or (lambda b, _: np.full_like(b, np.nan))
        return fallback, np.full_like(costs, np.inf), np.ones_like(costs)

    def _solvers(self, costs: NDArray[np.float64]) -> Iterator[tuple[Solver, int]]:
        """Yield solvers of A x = b in order of predicted speed, each with a number of attempts to refine its weights w.

        A matrix that a factorization does not solve is singular to rounding. An elimination without a subtraction
        follows.
        """
        if self._has_many_states:
            leaving = self.rates_into(~self.inside).astype(np.float64)
            if cycles := multigrid_solver(self.A, leaving, costs):
                yield cycles, 1
        too_many = len(self.states) > MAX_FACTORED_BEFORE_ITERATIONS
        for make in (self._incomplete_lu, self._sparse_lu)[:: 1 if too_many else -1]:
            with suppress(RuntimeError, MemoryError):  # singular to rounding, or too large
                yield make(), 1
                break
        if band(self.F).work <= MAX_POSITIVE_WORK:
            factors = PositiveFactors(self.F, self.rates_into(~self.inside).astype(np.float64))
            yield (lambda b, _: factors.right(b)), WEIGHT_ATTEMPTS

    def _sparse_lu(self) -> Solver:
        """Return a solver of A x = b by sparse LU factors."""
        lu = factorize(self.A)
        return lambda b, _: np.asarray(lu.solve(b))

    def _incomplete_lu(self) -> Solver:
        """Return a solver of A x = b by BiCGSTAB with incomplete LU factors."""
        matrix = sp.csc_matrix(self.A)
        ilu = spilu(matrix, drop_tol=1e-3, fill_factor=6.0, diag_pivot_thresh=0.0)
        preconditioner = LinearOperator(self.A.shape, ilu.solve)

        def solve(b: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
            """Return x with A x = b, its residual at most ``ratio`` times b in the 2-norm."""
            numbers = itertools.count(1)
            with Counter("iterations") as counter:
                x, _ = bicgstab(
                    self.A,
                    b,
                    rtol=ratio,
                    maxiter=MAX_ITERATIONS,
                    M=preconditioner,
                    callback=lambda _: counter.show(next(numbers)),
                )
            return np.asarray(x)

        return solve


def sum_by_row(rows: NDArray[np.int64], values: NDArray[np.longdouble], n: int) -> NDArray[np.longdouble]:
    """Return the sum of ``values`` per row number, shape (n,), in extended precision; ``rows`` must ascend."""
    sums = np.zeros(n, dtype=np.longdouble)
    if len(rows):
        starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        sums[rows[starts]] = np.add.reduceat(values, starts)
    return sums
