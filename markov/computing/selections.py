"""The states that one run of the rules stands for, which shrink where Python would decide differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Selection"]


class Selection:
    """The states that a run of the rules is still about.

    Parameters
    ----------
    count
        How many there are at first.

    Attributes
    ----------
    states
        Which of them are left, as places, shape (count,).
    left
        The places of those that left, one array per decision.
    arrays
        Whether functions of NumPy may be called with its columns, which is slow: state by state.
    closed
        Whether the run has ended: a column that outlives it, in a cache of the function, equals
        nothing.
    """

    def __init__(self, count: int, *, arrays: bool = True) -> None:
        self.arrays, self.closed = arrays, False
        self.states = np.arange(count)
        self.left: list[NDArray[np.int64]] = []
        self.kept: list[NDArray[np.int64]] = []
        self._before = self.states

    def decide(self, answers: NDArray[np.bool_]) -> bool:
        """Return the answer of most states, and keep those; answers of shape (states,)."""
        count = int(np.count_nonzero(answers))
        answer = 2 * count >= len(answers)
        if 0 < count < len(answers):
            self._keep(np.flatnonzero(answers == answer))
            self.left.append(self._before[answers != answer])
        return answer

    def split(self, values: NDArray[Any]) -> None:
        """Keep the states of one value, and leave those of each other value together."""
        order = np.argsort(values, kind="stable")
        cuts = np.flatnonzero(np.diff(values[order])) + 1
        first, *others = np.split(order, cuts)
        self._keep(np.sort(first))
        self.left += [self._before[np.sort(group)] for group in others]

    def _keep(self, places: NDArray[np.int64]) -> None:
        self._before = self.states
        self.states = self.states[places]
        self.kept.append(places)
