"""One W-cycle over levels with matrices, for any equation.

The levels are concatenated in the same arrays, with states and entries numbered consecutively. Three functions are
compiled in: ``descend`` sweeps and restricts, ``solve_coarsest`` solves the last level, and ``ascend`` corrects the
next finer level and sweeps. `markov.multigrid.kernels.aggregation_kernels` has these for the stationary distribution,
`markov.multigrid.kernels.linear_kernels` for linear equations. `markov.multigrid.cycle.w_cycle` is the same schedule
for grids.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["Schedule", "cycle"]


class Schedule(NamedTuple):
    """The order in which a cycle visits the levels, and the number of sweeps on each level.

    Attributes
    ----------
    first
        First state of each level, and the total.
    remaining
        Buffer for the remaining visits to each level. The entry of the first level is its number of consecutive visits
        in the first cycle, and 0 afterwards.
    repeats
        Consecutive visits to each level.
    sweeps
        On each level but the last, before and after a correction.
    """

    first: NDArray[np.int64]
    remaining: NDArray[np.int64]
    repeats: NDArray[np.int64]
    sweeps: int


def cycle(schedule, levels):
    """Run one W-cycle over all levels, from the first level and back, in place."""
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
