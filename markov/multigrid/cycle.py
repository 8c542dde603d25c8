"""Cycles of multigrid: their order, when they end, and how iterates are combined.

The schedule is that of a W-cycle. `w_cycle` runs it on levels of grids, whose sweeps are calls of their own;
`markov.multigrid.kernels.cycle_kernels` is the same schedule as one kernel, for levels with matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grid import Grid


__all__ = [
    "COARSEST_LEVEL_STATES",
    "GROWTH_FACTOR",
    "MIN_COARSENING_FOR_W",
    "MIN_ENTRY_SHARE",
    "RANK_TOLERANCE",
    "CorrectedLevel",
    "StoppingRule",
    "SweptLevel",
    "best_shares",
    "w_cycle",
]

MAX_STAGNANT_CYCLES = 30
"""Maximum number of consecutive cycles that do not halve the best residual."""
MIN_ENTRY_SHARE = 0.1
"""Minimum of a combined entry, relative to the last iterate's entry."""
RANK_TOLERANCE = 1e-12
"""Singular values of the normal equations below this share of the largest count as zero."""
GROWTH_FACTOR = 2.0
"""A combination is accepted if its residual is below this multiple of the last iterate's residual."""
UNDERFLOW_GUARD = 1e-300


class StoppingRule:
    """Rule that ends cycles of multigrid: at a residual, at a number of cycles, or at stagnation.

    Parameters
    ----------
    tolerance
        Residual at which cycles end.
    max_cycles
        Maximum number of cycles.
    done
        Number of cycles before this rule begins.
    max_stagnant
        Maximum number of consecutive cycles that do not halve the best residual.

    Attributes
    ----------
    size, before
        The last residual, and the previous one.
    stagnant
        Number of cycles since the best residual was halved.
    """

    def __init__(
        self, tolerance: float, max_cycles: int, *, done: int = 0, max_stagnant: int = MAX_STAGNANT_CYCLES
    ) -> None:
        self.tolerance, self.max_cycles, self.done, self.max_stagnant = tolerance, max_cycles, done, max_stagnant
        self.restart()

    def restart(self) -> None:
        """Discard the recorded residuals, before cycles on other levels."""
        self.size = self.before = self._best_residual = np.inf
        self.stagnant = 0

    @property
    def may_continue(self) -> bool:
        """Whether another cycle may follow: neither the number of cycles nor stagnation ends them."""
        return self.done < self.max_cycles and self.stagnant <= self.max_stagnant

    def record(self, size: float, cycles: int = 1) -> bool:
        """Record the residual after ``cycles`` more cycles; return whether it is at the tolerance or not finite."""
        self.done += cycles
        self.before, self.size = self.size, size
        if size < 0.5 * self._best_residual:
            self._best_residual, self.stagnant = size, 0
        else:
            self.stagnant += cycles
        return not self.tolerance < size < np.inf


def best_shares(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of m former iterates in the combination with the smallest residual, shape (m,).

    The current iterate has the rest.

    Shape (m,); the current iterate has the rest.

    ``products``, shape (m, m + 1), are the scalar products of the changes of the residual with each other and, in
    the last column, with the negative residual. The equations are scaled to a unit diagonal.
    """
    size = np.sqrt(np.diag(products)) + UNDERFLOW_GUARD
    normal, right = products[:, :-1] / np.outer(size, size), products[:, -1] / size
    shares: Any = np.linalg.lstsq(normal, right, rcond=RANK_TOLERANCE)[0]
    return np.asarray(shares / size)


COARSEST_LEVEL_STATES = 1_500
"""A level with at most this number of states becomes a sparse matrix."""

MIN_COARSENING_FOR_W = 2.5
"""States over those of the next level for which two visits per cycle pay."""


class SweptLevel(Protocol):
    """Interface of a level of multigrid on a grid: a sweep over its states in each direction."""

    grid: Grid
    forward: Callable[[], object]
    backward: Callable[[], object]


class CorrectedLevel(SweptLevel, Protocol):
    """Interface of a coarse level of multigrid on a grid, which corrects the next finer level."""

    def restrict(self) -> None:
        """Compute this level's equations from the finer level's iterate, and reset this level's unknown."""

    def prolong(self) -> object:
        """Correct the finer level's iterate by this level's unknown."""


def w_cycle(
    finest: SweptLevel, coarse: Sequence[CorrectedLevel], solve: Callable[[], None], sweeps: Sequence[int]
) -> None:
    """Run one W-cycle of multigrid on the levels of a grid, in place.

    Parameters
    ----------
    finest, coarse
        The level, and the coarser levels below it. A level is visited twice per cycle if it is far smaller than the
        level above it.
    solve
        Solves the equations of the last level.
    sweeps
        Number of sweeps before and after a correction, on each level but the last.
    """
    if not coarse:
        solve()
        return
    below = coarse[0]
    for _ in range(sweeps[0]):
        finest.forward()
    below.restrict()
    for _ in range(2 if finest.grid.size > MIN_COARSENING_FOR_W * below.grid.size else 1):
        w_cycle(below, coarse[1:], solve, sweeps[1:])
    below.prolong()
    for _ in range(sweeps[0]):
        finest.backward()
