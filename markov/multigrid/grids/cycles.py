"""One cycle of multigrid on a grid, whatever is solved for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.multigrid.grids.grids import Grid

__all__ = ["COARSEST_LEVEL_STATES", "CorrectedLevel", "SweptLevel", "cycle"]

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


def cycle(
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
        cycle(below, coarse[1:], solve, sweeps[1:])
    below.prolong()
    for _ in range(sweeps[0]):
        finest.backward()
