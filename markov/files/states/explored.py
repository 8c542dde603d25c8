"""The reachable states of a file's model, and the rates between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.files.binding import Instance
    from markov.files.columns import Columns

__all__ = ["StateSpace"]


@dataclass(frozen=True)
class StateSpace:
    """Reachable states with their transitions and rewards.

    Attributes
    ----------
    instance
        The program with its ranges.
    columns
        The states, ascending.
    Q
        Generator, shape (n, n); for a discrete-time chain P - I, scaled so that rows of P sum to 1.
    loops
        Total rate from each state to itself, shape (n,), which is not part of Q.
    initial
        Indices of the initial states.
    action_rates
        Total rate of the transitions with each action, loops included, shape (n,) each.
    gains
        Rewards per second earned on transitions (JANI), shape (rewards, n).
    """

    instance: Instance
    columns: Columns
    Q: sp.csr_matrix
    loops: NDArray[np.float64]
    initial: NDArray[np.int64]
    action_rates: dict[str, NDArray[np.float64]]
    gains: NDArray[np.float64]

    def indices_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of states by the values of their variables, shape (variables, ...)."""
        assert self.columns.states is not None
        if self.instance.is_numbered:
            numbers = self.instance.numbers(codes)
            indices: NDArray[np.int64] = np.searchsorted(self.columns.states, numbers)
            return indices
        shape = codes.shape[1:]
        rows = codes.reshape(len(codes), -1).T.tolist()
        return np.array([self._by_values[tuple(row)] for row in rows]).reshape(shape)

    @cached_property
    def _by_values(self) -> dict[tuple[int, ...], int]:
        return {tuple(row): k for k, row in enumerate(self.columns.codes.T.tolist())}
