"""Many states at a time: one array per variable, of which parts may be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Columns"]


class Columns:
    """The values of the variables in some states.

    Parameters
    ----------
    codes
        Shape (variables, states), whole numbers.
    states
        Their numbers in the product space, shape (states,), or None.
    """

    def __init__(self, codes: NDArray[np.int64], states: NDArray[np.int64] | None = None) -> None:
        self.codes, self.states = codes, states
        self.count = codes.shape[1]
        self._kept: dict[Callable[[Columns], Any], Any] = {}

    def take(self, places: NDArray[np.int64]) -> Columns:
        """Return some of the states."""
        if len(places) == self.count:
            return self
        return Columns(self.codes[:, places], None if self.states is None else self.states[places])

    def remembered(self, run: Callable[[Columns], Any]) -> Any:
        """Return the values of a formula in these states, computed once."""
        if run not in self._kept:
            self._kept[run] = run(self)
        return self._kept[run]
