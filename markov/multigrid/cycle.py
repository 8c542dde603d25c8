"""When cycles of a multigrid end, and how its iterates are combined: the same for every kind of level.

@@ One cycle of multigrid on a grid, whatever is solved for.
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
    "MIN_ENTRY_SHARE",
    "RANK_TOLERANCE",
    "CorrectedLevel",
    "StoppingRule",
    "SweptLevel",
    "best_shares",
    "w_cycle",
]

MAX_STAGNANT_CYCLES = 30
"""Cycles that do not halve the best residual, after which none follows."""
MIN_ENTRY_SHARE = 0.1
"""Of an entry of an iterate, which a combination leaves of it."""
RANK_TOLERANCE = 1e-12
"""Singular values of the normal equations below this share of the largest count as zero."""
GROWTH_FACTOR = 2.0
"""A combination counts as long as its residual is below this multiple of that of the newest iterate."""
UNDERFLOW_GUARD = 1e-300


class StoppingRule:
    """Counts cycles and residuals; cycles end at a tolerance, at a number, or where they gain nothing.

    Parameters
    ----------
    tolerance
        Residual at which they end.
    max_cycles
        Most cycles.
    done
        Cycles that were done before.
    max_stagnant
        Cycles in a row that do not halve the best residual, after which none follows.

    Attributes
    ----------
    size, before
        The last residual, and the one before.
    stagnant
        Cycles since the best residual was halved.
    """

    def __init__(
        self, tolerance: float, max_cycles: int, *, done: int = 0, max_stagnant: int = MAX_STAGNANT_CYCLES
    ) -> None:
        self.tolerance, self.max_cycles, self.done, self.max_stagnant = tolerance, max_cycles, done, max_stagnant
        self.restart()

    def restart(self) -> None:
        """Forget the residuals: the cycles are others from now on."""
        self.size = self.before = self._best_residual = np.inf
        self.stagnant = 0

    @property
    def may_continue(self) -> bool:
        """Whether another cycle may follow."""
        return self.done < self.max_cycles and self.stagnant <= self.max_stagnant

    def record(self, size: float, cycles: int = 1) -> bool:
        """Take in the residual after some cycles; return whether it is at the tolerance, or not a number."""
        self.done += cycles
        self.before, self.size = self.size, size
        if size < 0.5 * self._best_residual:
            self._best_residual, self.stagnant = size, 0
        else:
            self.stagnant += cycles
        return not self.tolerance < size < np.inf


def best_shares(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of m former iterates in the combination with the least residual, shape (m,).

    ``products``, shape (m, m + 1), are the scalar products of the changes of the residual with each other and, in
    the last column, with the residual, negative. The equations are scaled to a unit diagonal.
    """
    size = np.sqrt(np.diag(products)) + UNDERFLOW_GUARD
    normal, right = products[:, :-1] / np.outer(size, size), products[:, -1] / size
    shares: Any = np.linalg.lstsq(normal, right, rcond=RANK_TOLERANCE)[0]
    return np.asarray(shares / size)


COARSEST_LEVEL_STATES = 1_500
"""States of a level that is coarsened no further: it is left to a sparse matrix."""

MIN_COARSENING_FOR_W = 2.5
"""Times as many states as on the next level: two visits to it per cycle pay."""


class SweptLevel(Protocol):
    """A level, the finest one too: a grid, and a sweep over its states in each direction."""

    grid: Grid
    forward: Callable[[], object]
    backward: Callable[[], object]


class CorrectedLevel(SweptLevel, Protocol):
    """A coarse level, which corrects the one above it."""

    def restrict(self) -> None:
        """Restrict the residual of the finer level, and begin at zero."""

    def prolong(self) -> object:
        """Correct the finer level."""


def w_cycle(
    finest: SweptLevel, coarse: Sequence[CorrectedLevel], solve: Callable[[], None], sweeps: Sequence[int]
) -> None:
    """Improve the numbers of a level by one W-cycle.

    Parameters
    ----------
    finest, coarse
        The level, and those below it; each visited twice from one that has far more states.
    solve
        Solves the equations of the last of them.
    sweeps
        Of the level, and each below it but the last, before a correction and after it.
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
