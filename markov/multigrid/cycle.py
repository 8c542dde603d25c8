"""Cycles of multigrid: their order, when they end, and how iterates are combined.

All levels and all equations have one W-cycle, `w_cycle`. It calls ``descend``, which sweeps a level and restricts it to
the next, ``solve_coarsest``, and ``ascend``, which corrects a level by the next and sweeps it:

1. Levels with matrices are concatenated in the same arrays. The cycle is compiled with the functions of
   `markov.multigrid.kernels.aggregation_kernels` for pi, or `markov.multigrid.kernels.linear_kernels` for linear
   equations: small levels take less time than calls from Python.
2. On grids the cycle runs as plain Python with the functions of this module, since threads share the sweeps of a level.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


__all__ = [
    "COARSEST_LEVEL_STATES",
    "GROWTH_FACTOR",
    "MIN_COARSENING_FOR_W",
    "MIN_ENTRY_SHARE",
    "RANK_TOLERANCE",
    "UNDERFLOW_GUARD",
    "GridLevels",
    "Schedule",
    "StoppingRule",
    "best_shares",
    "cycle_on_grid",
    "visits",
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
"""What divisors and masses of states are at least."""


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

    def record(self, residual: float, cycles: int = 1) -> bool:
        """Record the residual after ``cycles`` more cycles; return whether it is at the tolerance or not finite."""
        self.done += cycles
        self.before, self.size = self.size, residual
        if residual < 0.5 * self._best_residual:
            self._best_residual, self.stagnant = residual, 0
        else:
            self.stagnant += cycles
        return not self.tolerance < residual < np.inf


def best_shares(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of m former iterates in the combination with the smallest residual, shape (m,).

    The current iterate has the rest.

    ``products``, shape (m, m + 1), are the scalar products of the changes of the residual with each other and, in
    the last column, with the negative residual. The equations are scaled to a unit diagonal.
    """
    size = np.sqrt(np.diag(products)) + UNDERFLOW_GUARD
    normal, right = products[:, :-1] / np.outer(size, size), products[:, -1] / size
    shares: Any = np.linalg.lstsq(normal, right, rcond=RANK_TOLERANCE)[0]
    return np.asarray(shares / size)


COARSEST_LEVEL_STATES = 1_500
"""A level of a grid with at most this number of states becomes a sparse matrix."""

MIN_COARSENING_FOR_W = 2.5
"""States over those of the next level for which two visits per cycle pay."""


class Schedule(NamedTuple):
    """The order in which a cycle visits the levels, and the number of sweeps on each level.

    Attributes
    ----------
    first
        First state of each level, and the total; empty for grids.
    remaining
        Buffer for the remaining visits to each level. The entry of the first level is its number of consecutive
        visits in the first cycle, and 0 afterwards.
    repeats
        Consecutive visits to each level, see `visits`.
    sweeps
        On each level but the last, before and after a correction; on grids a number for each level.
    """

    first: Any
    remaining: Any
    repeats: Any
    sweeps: Any


def visits(sizes: Sequence[int]) -> list[int]:
    """Return the number of consecutive visits to each level per cycle, by its number of states.

    A level is visited twice if it is far smaller than the next finer level.
    """
    return [1, *(2 if fine > MIN_COARSENING_FOR_W * coarse else 1 for fine, coarse in itertools.pairwise(sizes))]


def w_cycle(schedule, levels):  # type: ignore[no-untyped-def]
    """Run one W-cycle over all levels, from the first level and back, in place (a template of kernels)."""
    remaining = schedule.remaining
    last = len(schedule.repeats) - 1
    level = 0
    while True:
        while level < last:
            descend(level, schedule, levels)
            level += 1
            remaining[level] = schedule.repeats[level]
        solve_coarsest(schedule, levels)
        while level > 0:  # up, to a level that is to correct once more
            remaining[level] -= 1
            if remaining[level] > 0:
                break
            level -= 1
            ascend(level, schedule, levels)
        if level == 0:
            remaining[0] = 0
            return


class GridLevels(NamedTuple):
    """The levels of multigrid on a grid, the finest first, and a call that solves the equations of the last level."""

    levels: Sequence[Any]
    solve: Callable[[], None]


def descend(level: int, schedule: Schedule, grids: GridLevels) -> None:
    """Sweep a level of a grid forward, and restrict it to the next level."""
    for _ in range(schedule.sweeps[level]):
        grids.levels[level].forward()
    grids.levels[level + 1].restrict()


def solve_coarsest(_: Schedule, grids: GridLevels) -> None:
    """Solve the equations of the last level of a grid."""
    grids.solve()


def ascend(level: int, schedule: Schedule, grids: GridLevels) -> None:
    """Correct a level of a grid by the next level, and sweep it again."""
    grids.levels[level + 1].prolong()
    for _ in range(schedule.sweeps[level]):
        grids.levels[level].backward()


def cycle_on_grid(levels: Sequence[Any], solve: Callable[[], None], sweeps: Sequence[int]) -> None:
    """Run one W-cycle over the levels of a grid, from the first level and back, in place.

    Parameters
    ----------
    levels
        The finest level, which has a ``grid`` and the sweeps ``forward`` and ``backward``, before and after a
        correction, and the coarser levels, which also have ``restrict`` and ``prolong``: they compute their equations
        from the finer level, and correct it.
    solve
        Solves the equations of the last level, at each visit to the level above.
    sweeps
        Number of sweeps before and after a correction, on each level but the last.
    """
    repeats = visits([level.grid.size for level in levels])
    repeats[-1] = 1  # it is solved
    schedule = Schedule((), [0] * len(levels), repeats, sweeps)
    w_cycle(schedule, GridLevels(levels, solve))  # type: ignore[no-untyped-call]
