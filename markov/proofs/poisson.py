"""Solvers of Poisson's equation Q g = -f: direct by factors, iterative by multigrid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.computing.vectors import inner
from markov.methods.solution import Factors
from markov.multigrid.linear_multigrid import CoarseLevels, LinearMultigrid

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

    Vector = NDArray[np.float64]

__all__ = ["MultigridPoisson", "Solver", "solved"]

MIN_FLOW = 1e-300


class MultigridPoisson:
    """Multigrid for Q g = -f, and for d Q = -r, on levels frozen at a nearly stationary vector.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    pi
        Its stationary vector, nearly; shape (n,).
    hierarchy
        Levels of the chain; their values become those of ``pi``.
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
        # the last level has zero where the leak is: else what it solves would not be the chain that leaks
        self._entered = CoarseLevels.entered(hierarchy, pi * self._exits, self.reference)
        self._right = self._leaking(Q, self._entered)
        self._left: LinearMultigrid | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._right.nbytes + self._entered.nbytes

    def _leaking(self, Q: sp.csr_matrix, entered: CoarseLevels) -> LinearMultigrid:
        """Return multigrid for Q g = -f with a leak in the reference, as large as its exit rate.

        There is one solution then, of any f, and up to a constant it solves the other equations without
        the leak. Else, with pi f not quite zero, there would be none: far from the reference, where pi
        is smallest, what is left would grow and grow.
        """
        place, entries, diagonal = self.reference, Q.data.copy(), -self._exits
        row = slice(Q.indptr[place], Q.indptr[place + 1])
        entries[row][Q.indices[row] == place] -= self._exits[place]
        diagonal[place] *= 2.0
        leak = float(self._pi[place] * self._exits[place])
        rows = Q.indptr, Q.indices, entries
        levels = entered.left(place, leak)
        return LinearMultigrid(rows, 0.0, diagonal, self._pi, self._ones, levels)

    def poisson(self, f: Vector, enough: Callable[[Vector], bool], plain: int = 0) -> Vector:
        """Return g, shape (n,); arguments as for `LinearMultigrid.solve`."""
        f = f.copy()
        f[self.reference] = 0.0  # what makes its mean zero instead
        f[self.reference] = -inner(self._pi, f) / self._pi[self.reference]
        g = self._right.solve(f, enough, self._weights, plain)
        g -= g[self.reference]
        return g

    def balance(self, r: Vector, enough: Callable[[Vector], bool]) -> Vector:
        """Return d with d Q = -r, up to a multiple of pi, as soon as ``enough`` says so of d Q + r.

        Its unknown is the flow d q out of the states, as for pi; shape (n,).
        """
        flow = self._pi * self._exits
        if self._left is None:
            self._left = LinearMultigrid(
                self._entered.jumps, -1.0, -1.0, self._ones, flow, self._entered
            )
        found = self._left.solve(r, enough, np.sqrt(np.maximum(flow, MIN_FLOW)))
        found /= self._exits
        return found


Solver = Factors | MultigridPoisson


def balanced(solver: Solver, r: Vector, enough: Callable[[Vector], bool]) -> Vector:
    """Return d with d Q = -r, nearly; see `MultigridPoisson.balance`. With factors it is as near as they are."""
    if isinstance(solver, MultigridPoisson):
        return solver.balance(r, enough)
    return solver.balance(r)


def solved(
    solver: Solver, f: Vector, enough: Callable[[Vector], bool], plain: int = 0
) -> tuple[Vector, Vector]:
    """Return g with Q g = -f, nearly, as a sum of two vectors; see `MultigridPoisson.poisson`."""
    if isinstance(solver, MultigridPoisson):
        return solver.poisson(f, enough, plain), np.zeros_like(f)
    return solver.poisson(f)
