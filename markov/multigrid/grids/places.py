"""Which states of a grid count, and where in the grid each state of the space is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.computing.compilation import bound_kernel
from markov.multigrid.grids.loops import place_kernels
from markov.multigrid.grids.loops.place_kernels import Digits, SlotIndex
from markov.multigrid.grids.loops.tables import Marked, cells_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from markov.models.spaces import Space
    from markov.multigrid.grids.grids import Grid
    from markov.multigrid.grids.layouts import Layout

__all__ = ["GridStates", "SeveralClassesError"]

PRESENT, REACHED, RECURRENT, VISITED, BACK, QUEUED = 1, 2, 4, 8, 16, 32
MAX_PASSES = 16  # over all states, before they are followed one by one
STACK_STATES = 1 << 16  # states that are kept to be followed
BLOCK = 1 << 20  # numbers of the space that are looked up at once


class SeveralClassesError(ValueError):
    """The chain has several recurrent classes."""


class GridStates:
    """The states of a grid that the start leads to, and those that the chain comes back to.

    Parameters
    ----------
    layout
        The grid.
    space
        What a state is made of.
    start
        The values of the components of the state that the chain starts in; None: all count.

    Attributes
    ----------
    marks
        Bits of each state of the grid: ``PRESENT``, ``REACHED`` from the start, ``RECURRENT``.
    size, transitions
        How many states count, and how many transitions they have.
    recurrent
        How many states are in the recurrent class.

    Raises
    ------
    SeveralClassesError
        When the chain has several recurrent classes.
    """

    def __init__(self, layout: Layout, space: Space, start: NDArray[np.int64] | None) -> None:
        self.layout, self.space = layout, space
        grid = layout.out[0]
        cells, span = cells_of(grid), _all_rows(grid)
        self._slot = self._slots()
        self.marks = np.zeros(grid.size, dtype=np.uint8)
        present = np.ascontiguousarray((layout.combinations >= 0).ravel())
        bit = PRESENT | (REACHED if start is None else 0)
        bound_kernel(place_kernels.fill, span, cells, present, bit, self.marks)()
        self._search(start)
        reached, recurrent = (
            bound_kernel(place_kernels.count_entries, span, cells, bit, self.marks)() for bit in (REACHED, RECURRENT)
        )
        self.size, self.transitions = map(int, reached)
        self.recurrent = int(recurrent[0])

    def _slots(self) -> NDArray[np.int64]:
        """Return the slot of each combination in each kind of cell, -1: none."""
        combinations = self.layout.combinations
        slots = np.full((len(combinations), len(self.layout.shift)), -1)
        for slot in range(combinations.shape[1]):
            has = np.flatnonzero(combinations[:, slot] >= 0)
            slots[has, combinations[has, slot]] = slot
        return slots

    # ------------------------------------------------------------------ which states count

    def _search(self, start: NDArray[np.int64] | None) -> None:
        """Mark the states that are reached, and the recurrent ones."""
        out, into = self.layout.out[0], self.layout.into[0]
        state = int(np.argmax(self.marks)) if start is None else self._index(start)
        if start is not None:
            self._spread(out, state, PRESENT, REACHED)
            self.marks[(self.marks & REACHED) > 0] |= VISITED
        else:
            self._spread(out, state, REACHED, VISITED)
        while True:  # on to a state that does not lead back, until all do
            self._spread(into, state, REACHED, BACK)
            remaining = np.flatnonzero((self.marks & (VISITED | BACK)) == VISITED)
            if not len(remaining):
                break
            state = int(remaining[0])
            self._clear(VISITED | BACK)
            self._spread(out, state, REACHED, VISITED)
        if bool(np.any((self.marks & (REACHED | BACK)) == REACHED)):
            raise SeveralClassesError
        self.marks[(self.marks & VISITED) > 0] |= RECURRENT
        self._clear(VISITED | BACK)

    def _spread(self, grid: Grid, state: int, old: int, new: int) -> None:
        """Mark what a state leads to along the transitions of a grid."""
        self.marks[state] |= new
        table = _all_rows(grid), cells_of(grid)
        runs = [
            bound_kernel(place_kernels.spread, *table, backward, old, new, self.marks) for backward in (False, True)
        ]
        remaining = int(np.count_nonzero((self.marks & (old | new)) == old))
        number = 0
        while remaining and (n_marked := runs[number % 2]()):  # a run that finds nothing was the last
            remaining, number = remaining - n_marked, number + 1
            if number == MAX_PASSES:
                runs = [self._follower(grid, old, new)] * 2

    def _follower(self, grid: Grid, old: int, new: int) -> Callable[[], int]:
        """Return what marks states one after another: where transitions lead to and fro, runs take a step each."""
        stack = np.empty(STACK_STATES, dtype=np.uint64)
        return bound_kernel(place_kernels.follow, cells_of(grid), stack, old, new, self.marks)

    def _clear(self, bits: int) -> None:
        self.marks &= np.uint8(255 ^ bits)

    # ------------------------------------------------------------------ where they are

    def _index(self, codes: NDArray[np.int64]) -> int:
        """Return the place in the grid of one state, by its codes."""
        number = int(self.space.numbers(codes[:, None])[0])
        _, indices = self._survey(number, 1, PRESENT)
        return int(indices[0])

    def _survey(self, begin: int, count: int, bit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        layout, grid = self.layout, self.layout.out[0]
        shape = np.array(self.space.shape)
        weight, ahead = np.zeros((2, len(shape)), dtype=np.int64)
        tail = 1
        for n, size in zip(reversed(layout.inner), reversed(layout.inner_shape), strict=True):
            weight[n] = tail
            tail *= size
        strides = grid.strides[:-1] // (grid.shape[-1] * grid.width)  # rows from one to the next
        ahead[list(layout.axes[:-1])] = strides
        digits = self.space.unnumbered(np.array([begin]))[:, 0] - np.array(self.space.low)
        numbers, indices = np.empty((2, count), dtype=np.int64)
        index = SlotIndex(
            along=layout.axes[-1],
            lead=layout.shift[:, :-1] @ strides,
            shift=np.ascontiguousarray(layout.shift[:, -1]),
            cells=grid.shape[-1],
            width=grid.width,
            row_kind=grid.row_kind,
            rows=grid.rows,
            slot=self._slot,
        )
        digit = Digits(digits, shape, weight, ahead)
        arguments = begin, count, digit, index, Marked(bit, self.marks), (numbers, indices)
        count_found = bound_kernel(place_kernels.survey, *arguments)()
        return numbers[:count_found], indices[:count_found]

    @property
    def in_order(self) -> bool:
        """Whether all states of the grid count, in the order of their numbers."""
        ordered = self.layout.axes == tuple(range(len(self.layout.axes)))
        return ordered and not self.layout.shift.any() and self.size == len(self.marks)

    def blocks(self, bit: int = REACHED) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the numbers in the space, and the places in the grid, of states; ascending numbers."""
        for begin in range(0, self.space.size, BLOCK):
            yield self._survey(begin, min(BLOCK, self.space.size - begin), bit)

    def gather(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers over the grid as numbers over the states that count, shape (size,).

        Where the order is the same they are not copied.
        """
        if self.in_order:
            return x
        values, begin = np.empty(self.size), 0
        for _, indices in self.blocks():
            values[begin : begin + len(indices)] = x[indices]
            begin += len(indices)
        return values

    def codes_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of states by their places in the grid, shape (components, places)."""
        layout, grid = self.layout, self.layout.out[0]
        cells, slots = np.divmod(indices, grid.width)
        coordinates = self.cells_at(indices)
        kinds = grid.rows[grid.row_kind[cells // grid.shape[-1]], coordinates[-1]]
        combination = layout.combinations[kinds, slots]
        codes = np.empty((len(layout.low), len(indices)), dtype=np.int64)
        codes[list(layout.axes)] = coordinates - layout.shift[combination].T
        if layout.inner:
            codes[list(layout.inner)] = np.stack(np.unravel_index(combination, layout.inner_shape))
        codes += np.array(layout.low)[:, None]
        return codes

    def cells_at(self, indices: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return the coordinates of the cells of states by their places in the grid, shape (axes, places)."""
        grid = self.layout.out[0]
        return np.stack(np.unravel_index(np.asarray(indices) // grid.width, grid.shape))

    def kinds_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return kind * width + slot of states by their places in the grid."""
        grid = self.layout.out[0]
        cells, slots = np.divmod(indices, grid.width)
        kinds = grid.rows[grid.row_kind[cells // grid.shape[-1]], cells % grid.shape[-1]]
        return np.asarray(kinds * grid.width + slots, dtype=np.int64)


def _all_rows(grid: Grid) -> tuple[np.uint64, np.uint64]:
    """Return the span of all rows of a grid."""
    return np.uint64(0), np.uint64(len(grid.row_kind))
