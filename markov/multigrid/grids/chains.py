"""The chain of a model that was solved without a matrix: its states, and a matrix only on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain
from markov.computing.memory import check_room
from markov.generators.building import build_chain
from markov.models.state_tables import StateBlocks, StateTable
from markov.multigrid.grids.places import REACHED, RECURRENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.multigrid.grids.models import GridModel

__all__ = ["GridChain"]


class GridChain(MarkovChain):
    """A `MarkovChain` whose generator is built when it is asked for, and not to solve it.

    Its states are those of ``MarkovChain(model)``, in the same order.
    """

    def __init__(self, grid: GridModel) -> None:
        self.grid_model = grid
        self.model, self._names = grid.model, None
        self._space, self.how = grid.space, grid.how
        self._grid_states = grid.states

    @cached_property
    def Q(self) -> sp.csr_matrix:  # type: ignore[override]
        """The generator; TooLargeError where it would not fit into memory."""
        return build_chain(self.grid_model.model).Q

    @property
    def size(self) -> int:
        """Number of states."""
        return self._grid_states.size

    @property
    def transitions(self) -> int:
        """Number of pairs of states with a rate from one to the other."""
        return self._grid_states.transitions

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """Numbers of the states in the product space, ascending."""
        check_room(f"{self.grid_model.model.name}: the numbers of {self.size} states", 8.0 * self.size)
        return np.concatenate([numbers for numbers, _ in self._grid_states.blocks()])

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        nbytes = 8.0 * self.size * (2 + len(self.grid_model.space.components))
        check_room(f"{self.grid_model.model.name}: a list of {self.size} states", nbytes)
        return self.grid_model.space.unnumbered(self._numbers)

    @cached_property
    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """The one closed class that the start leads to: the sorted indices of its states."""
        if self._grid_states.recurrent == self.size:
            return [np.arange(self.size)]
        parts, begin = [], 0
        for _, indices in self._grid_states.blocks(REACHED):
            marked = (self._grid_states.marks[indices] & RECURRENT) > 0
            parts.append(begin + np.flatnonzero(marked))
            begin += len(indices)
        return [np.concatenate(parts)]

    @cached_property
    def transient_states(self) -> NDArray[np.int64]:
        """Indices of the states that the chain leaves for good."""
        if self._grid_states.recurrent == self.size:
            return np.zeros(0, dtype=np.int64)
        return super().transient_states

    def number_of(self, state: Any) -> int:
        """Return the number of a state: its place in ``states``, in pi, and in Q."""
        space = self.grid_model.space
        try:
            number = int(space.numbers(space.codes([space.canonical(state)]))[0])
        except ValueError:
            raise KeyError(state) from None
        index = int(np.searchsorted(self._numbers, number))
        if index == self.size or self._numbers[index] != number:
            raise KeyError(state)
        return index

    def state_blocks(self) -> StateBlocks:
        """Return the states in blocks, by which measures take little memory."""
        space = self.grid_model.space

        def blocks() -> Iterator[StateTable]:
            for numbers, _ in self._grid_states.blocks():
                if len(numbers):
                    yield StateTable(space, space.unnumbered(numbers))

        return StateBlocks(self.size, blocks, lambda: self.table)
