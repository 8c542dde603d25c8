"""One cycle over the levels of a hierarchy with matrices, as a template of kernels, whatever is solved for.

All levels lie one behind the other in the same arrays; states and entries are numbered through. What is done on a level
are three functions that are compiled in: ``descend`` sweeps and restricts, ``solve_coarsest`` solves the last level, and
``ascend`` corrects the level above and sweeps. `markov.multigrid.kernels.aggregation_kernels` has those for the stationary
distribution, `markov.multigrid.kernels.linear_kernels` those for linear equations. Levels of grids, whose sweeps are
calls of their own, follow the same schedule in `markov.multigrid.cycles`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["Schedule", "cycle"]


class Schedule(NamedTuple):
    """In which order the levels are visited.

    Attributes
    ----------
    first
        First state of each level, and one more.
    remaining
        Visits that are left to each level: room for the kernel. That of the first level is its visits in a row at
        the first cycle, and 0 afterwards.
    repeats
        Visits in a row to each level.
    sweeps
        On each level but the last, before a correction and after it.
    """

    first: NDArray[np.int64]
    remaining: NDArray[np.int64]
    repeats: NDArray[np.int64]
    sweeps: int


def cycle(schedule, levels):
    """Run one cycle from the first level."""
    remaining = schedule.remaining
    last = len(schedule.first) - 2
    level = 0
    while True:
        while level < last:
            descend(level, schedule, levels)  # type: ignore[name-defined]  # noqa: F821
            level += 1
            remaining[level] = schedule.repeats[level]
        solve_coarsest(schedule, levels)  # type: ignore[name-defined]  # noqa: F821
        while level > 0:  # up, to a level that is to correct once more
            remaining[level] -= 1
            if remaining[level] > 0 and level < last:
                break
            level -= 1
            ascend(level, schedule, levels)  # type: ignore[name-defined]  # noqa: F821
        if level == 0:
            remaining[0] = 0
            return
