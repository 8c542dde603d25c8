"""Where hitting times on a grid fall short of Q h <= -c, and how they are raised there.

After a cycle of multigrid few states do, along the lines where aggregates meet. Any h that satisfies the
inequality will do for a bound: there h is raised, one state after another, until it holds everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.compilation import bound_kernel
from markov.computing.rounding import U
from markov.multigrid.grids.hitting_times import proof_kernels
from markov.multigrid.grids.hitting_times.proof_kernels import Checked, Queue, Raising
from markov.multigrid.grids.levels import Level
from markov.multigrid.grids.loops import unrolled
from markov.multigrid.grids.loops.tables import Marked
from markov.multigrid.grids.places import QUEUED, RECURRENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.multigrid.grids.hitting_times.equations import HittingTimes
    from markov.multigrid.grids.layouts import Layout

__all__ = ["ACCEPTED_DRIFT", "Drift"]

ACCEPTED_DRIFT = 0.4  # of c: an h that proves more is not looked for
DRIFT_LIMIT = -1.01 * ACCEPTED_DRIFT  # of a drift: sums in another order are rounded in other ways
RAISED_DRIFT = 1.2 * ACCEPTED_DRIFT  # times the costs of a state: what its h is raised to
MAX_VISITED_SHARE = 0.25  # of the states: if more are to be looked at, cycles are left to go on


class Drift:
    """The largest (Q h)(s) of the recurrent states but the reference, rounded up.

    Parameters
    ----------
    times
        Hitting times h, as they are when it is asked for.
    layout, marks
        The chain, and which of its states count.
    """

    def __init__(self, times: HittingTimes, layout: Layout, marks: NDArray[np.uint8]) -> None:
        level = self._level = times.finest
        self._into, self._marks = Level(layout.into[0], times.h, unroll=False), marks
        self._states: list[NDArray[np.uint64]] = []
        self._counts: tuple[int, ...] = ()
        self._max_failing = 1000 + int(4.0 * level.grid.size ** (2.0 / 3.0))  # of what lies along lines
        text = unrolled.drifts(level.patterns, proof_kernels.ROUNDINGS, U)
        checked = Checked(times.h, Marked(RECURRENT, marks), DRIFT_LIMIT)
        run = level.cells, level.unrolled_kinds, level.equations, checked
        options: dict[str, Any] = {"buffers": self._failing_buffer, "table": level.table, "unrolled": text}
        self._run = level.by_rows(proof_kernels.drift, *run, **options)

    def _failing_buffer(self) -> tuple[NDArray[np.uint64]]:
        """Return room for the numbers of states of a block of rows."""
        self._states.append(np.empty(self._max_failing, dtype=np.uint64))
        return (self._states[-1],)

    def drift_bound(self) -> float:
        """Return c, so that Q h is at most -c."""
        worst, counts = zip(*self._run(), strict=True)
        self._counts = tuple(map(int, counts))
        return -float(np.max(worst))

    def failing(self) -> NDArray[np.uint64]:
        """Return the states in which Q h was above the limit, or some of them where they are very many."""
        pairs = zip(self._states, self._counts, strict=True)
        return np.concatenate([states[:count] for states, count in pairs])

    def raise_failing(self) -> bool:
        """Raise h where Q h was too large, and in the states that this makes too large; return whether it did.

        Raising h in a state lowers Q h there, and raises it in states with a transition into it only.
        """
        count, level, into = sum(self._counts), self._level, self._into.cells
        if count > self._max_failing:
            return False
        queue = np.empty(2 * self._max_failing + len(into.step), dtype=np.uint64)
        queue[:count] = self.failing()
        max_visits = max(MAX_VISITED_SHARE * level.grid.size, self._max_failing)
        sizes = map(np.uint64, (count, len(queue), 2 * self._max_failing, max_visits))
        rule = Raising(DRIFT_LIMIT, RAISED_DRIFT, QUEUED, Marked(RECURRENT, self._marks), into)
        run = Queue(queue, *sizes), level.cells, level.table.slots, level.equations, rule, level.x
        run_queue = bound_kernel(proof_kernels.raise_failing, *run, helpers=level.table.helpers)
        return int(run_queue()) == 0
