"""Solvers of Poisson's equation Q g = -f apart from a method's factors: multigrid, and their order by predicted cost.

A solver proves nothing: `markov.proofs.certificates` verifies each h and g by a product with Q. So solvers work in
float64, and rounding in them costs tightness alone.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from markov.computing import costs
from markov.computing.matrices import inner
from markov.elimination.bands import band, eliminate_band
from markov.elimination.lu import LUFactors, best_order
from markov.methods.jump_chain import jump_chain_of
from markov.methods.solution import Factors
from markov.multigrid.hierarchy import build_hierarchy
from markov.multigrid.linear_multigrid import CoarseLevels, LinearMultigrid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

    Vector = NDArray[np.float64]
    Components = Mapping[str, NDArray[np.int64]]

__all__ = ["MultigridPoisson", "Solver", "candidates"]

MIN_FLOW = 1e-300
MAX_PREDICTION_COST = 0.3  # of the cost of multigrid, for the prediction of other costs
MAX_LU_COST = 30.0  # times the cost of multigrid, of a last attempt after all others failed


class MultigridPoisson:
    """Multigrid for Q g = -f, and for d Q = -r, on levels frozen at a nearly stationary vector.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    pi
        Its approximate stationary vector, shape (n,).
    hierarchy
        Levels of the chain; their values are replaced by ``pi``.
    weights
        Shape (n,): the norm of a residual of Q g = -f is that of residual / weights.

    Attributes
    ----------
    reference
        The likeliest state, in which solutions are zero.
    """

    def __init__(self, Q: sp.csr_matrix, pi: Vector, hierarchy: Hierarchy, weights: Vector) -> None:
        self.reference = int(np.argmax(pi))
        self._pi, self._weights, self._ones = pi, weights, np.ones_like(pi)
        self._exits = -np.asarray(Q.diagonal())
        # the last level has zero in the leak: otherwise it would solve the chain without a leak
        self._coarse_levels = CoarseLevels.by_target(hierarchy, pi * self._exits, self.reference)
        self._right = self._build_with_leak(Q, self._coarse_levels)
        self._left: LinearMultigrid | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the multigrid levels."""
        return self._right.nbytes + self._coarse_levels.nbytes

    def _build_with_leak(self, Q: sp.csr_matrix, by_target: CoarseLevels) -> LinearMultigrid:
        """Return multigrid for Q g = -f with a leak: an additional rate out of the chain in the reference.

        For any f there is then one solution, and up to a constant it solves the other equations without
        the leak. Without a leak, and with pi f not exactly zero, there would be none: the residual would grow far from
        the reference, where pi is smallest.
        """
        reference, entries, diagonal = self.reference, Q.data.copy(), -self._exits
        row = slice(Q.indptr[reference], Q.indptr[reference + 1])
        entries[row][Q.indices[row] == reference] -= self._exits[reference]
        diagonal[reference] *= 2.0
        leak = float(self._pi[reference] * self._exits[reference])
        rows = Q.indptr, Q.indices, entries
        levels = by_target.by_source(reference, leak)
        return LinearMultigrid(rows, 0.0, diagonal, self._pi, self._ones, levels)

    def poisson(self, f: Vector, is_accurate: Callable[[Vector], bool], uncombined_cycles: int = 0) -> Vector:
        """Return g with Q g = -f, shape (n,), by cycles until ``is_accurate`` accepts the residual."""
        f = f.copy()
        f[self.reference] = 0.0  # the value that makes its mean zero
        f[self.reference] = -inner(self._pi, f) / self._pi[self.reference]
        g = self._right.solve(f, is_accurate, self._weights, uncombined_cycles)
        g -= g[self.reference]
        return g

    def balance(self, r: Vector, is_accurate: Callable[[Vector], bool]) -> Vector:
        """Return d with d Q = -r, up to a multiple of pi, shape (n,), until ``is_accurate`` accepts d Q + r.

        Its unknown is the flow d q out of the states, as for pi; shape (n,).
        """
        flow = self._pi * self._exits
        if self._left is None:
            self._left = LinearMultigrid(self._coarse_levels.jumps, -1.0, -1.0, self._ones, flow, self._coarse_levels)
        deviation = self._left.solve(r, is_accurate, np.sqrt(np.maximum(flow, MIN_FLOW)))
        deviation /= self._exits
        return deviation


Solver = Factors | MultigridPoisson


def candidates(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Components | None,
    hierarchy: Hierarchy | None,
) -> Iterator[Solver]:
    """Yield solvers of Poisson's equation Q g = -f for a chain, the lowest predicted cost first.

    Elimination towards the likeliest state, multigrid (on the levels of a method, if any) and sparse LU, by
    predicted speed; last multigrid on new levels without the components.
    """
    n, entries, reference = Q.shape[0], Q.nnz, int(np.argmax(pi))
    shared = costs.multigrid_proof(n, entries, hierarchy is not None)
    makers: list[tuple[float, Callable[[], Solver]]] = [
        (shared, partial(_multigrid_solver, Q, pi, weights, components, hierarchy))
    ]
    if costs.order_by_bandwidth(entries) <= MAX_PREDICTION_COST * shared:
        layout = band(Q, reference=reference)
        if layout.memory <= costs.MEMORY:
            makers.append((layout.seconds, partial(eliminate_band, Q, layout, "error bound")))
    fastest = min(seconds for seconds, _ in makers)
    lu_considered = costs.order_by_fill(entries) <= MAX_PREDICTION_COST * fastest
    if lu_considered:
        makers.append(_lu_solver(Q, reference))
    for _, make in sorted(makers, key=lambda maker: maker[0]):
        with suppress(RuntimeError, MemoryError):  # exactly singular, or too large
            yield make()
    if not lu_considered and costs.order_by_fill(entries) <= MAX_LU_COST * shared:
        seconds, make = _lu_solver(Q, reference)
        if seconds <= MAX_LU_COST * shared:
            with suppress(RuntimeError, MemoryError):
                yield make()
    if components is not None or hierarchy is not None:
        yield _multigrid_solver(Q, pi, weights, None, None)


def _multigrid_solver(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Components | None,
    hierarchy: Hierarchy | None,
) -> Solver:
    """Return the multigrid solver of Poisson's equation, on the levels of a method or on new levels."""
    flow = pi * -Q.diagonal()
    if hierarchy is None:
        inflow = jump_chain_of(Q).inflow
        hierarchy = build_hierarchy(inflow, flow, flow, components)
    return MultigridPoisson(Q, pi, hierarchy, weights)


def _lu_solver(Q: sp.csr_matrix, reference: int) -> tuple[float, Callable[[], Solver]]:
    """Return the predicted seconds of sparse LU of a generator, and a function that computes its factors."""
    order = best_order(Q)
    return order.seconds, partial(LUFactors, Q, reference, order)
