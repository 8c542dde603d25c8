"""The transitions of a chain on a grid of cells, stored once for each kind of cell.

Components of the state that change by small steps are the axes of a grid of cells; the values of all
others are the states of a cell, its slots. Where the rules are alike on boxes of the space there are few
kinds of cells: cells of one kind have the same transitions, to states at the same distances. A grid is
rows of cells along its last axis; a row is a list of segments of cells of one kind, and few rows differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Entry", "Grid", "segmented"]


class Entry(NamedTuple):
    """A transition between a state of a cell and one of another, or of the same cell.

    Attributes
    ----------
    step
        From this cell to the other one, along each axis.
    slot
        Of the other state.
    """

    step: tuple[int, ...]
    slot: int


@dataclass(frozen=True)
class Grid:
    """Kinds of cells and where they are.

    Attributes
    ----------
    shape
        Cells along each axis.
    width
        Slots of a cell.
    kinds
        For each kind and each slot of a cell, its transitions: those into it, each with the place of
        the source, or those out of it, each with the place of the target.
    rows
        For each kind of row, the kind of each of its cells, shape (kinds of rows, shape[-1]).
    row_kind
        The kind of each row, shape (rows,), in the order of the cells' numbers.
    """

    shape: tuple[int, ...]
    width: int
    kinds: list[list[list[Entry]]]
    rows: NDArray[np.int64]
    row_kind: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of states, slots that are never occupied included."""
        return len(self.row_kind) * int(self.rows.shape[1]) * self.width

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """States between a cell and the next one along each axis."""
        ends = np.array([*self.shape[1:], self.width], dtype=np.int64)
        return np.cumprod(ends[::-1])[::-1]

    @cached_property
    def begin(self) -> NDArray[np.int64]:
        """First entry of each slot of each kind, and one more, shape (kinds * width + 1,)."""
        counts = [len(entries) for kind in self.kinds for entries in kind]
        return np.append(0, np.cumsum(counts, dtype=np.int64))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """From the cell of each entry to the other one, shape (entries, axes)."""
        found = [e.step for kind in self.kinds for entries in kind for e in entries]
        return np.array(found, dtype=np.int64).reshape(-1, len(self.shape))

    @cached_property
    def slots(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slot of each entry, and that of the other state."""
        own = np.tile(np.arange(self.width), len(self.kinds)).repeat(np.diff(self.begin))
        other = [e.slot for kind in self.kinds for entries in kind for e in entries]
        return own, np.array(other, dtype=np.int64)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Number of the other state less that of this one, for each entry."""
        own, other = self.slots
        return np.asarray(self.steps @ self.strides + other - own)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Entries of a cell of each kind."""
        return np.diff(self.begin[:: self.width])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of the cells that are of each kind."""
        rows = np.bincount(self.row_kind, minlength=len(self.rows)).astype(np.float64)
        cells: NDArray[np.float64] = np.zeros(len(self.kinds))
        for row, count in zip(self.rows, rows, strict=True):
            cells += count * np.bincount(row, minlength=len(cells))
        cells /= cells.sum()
        return cells

    @cached_property
    def cyclic(self) -> NDArray[np.bool_]:
        """Whether a cell of each kind has transitions in a circle among its own slots."""
        return np.array([_has_circle(kind) for kind in self.kinds], dtype=bool)

    @cached_property
    def segments(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells of one kind in a row: first of each kind of row, where each begins, and its kind."""
        return segmented(self.rows)

    @cached_property
    def segment_begin(self) -> NDArray[np.int64]:
        """How many entries the cells of a row have before each segment, if every cell has its own."""
        each = self.counts[self.rows]
        before = np.cumsum(each, axis=1) - each
        first, begins, _ = self.segments
        kinds = np.repeat(np.arange(len(self.rows)), np.diff(first))
        found: NDArray[np.int64] = before[kinds, begins]
        return found

    @cached_property
    def value_begin(self) -> NDArray[np.int64]:
        """Where the entries of each row begin, if every cell has its own, and their number."""
        each = self.counts[self.rows].sum(axis=1)
        return np.append(0, np.cumsum(each[self.row_kind]))


def segmented(
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of equal numbers in each row: first run of each row, beginnings, numbers."""
    first, begins, numbers = [0], [], []
    for row in rows:
        starts = np.append(0, np.flatnonzero(np.diff(row)) + 1)
        begins += starts.tolist()
        numbers += row[starts].tolist()
        first.append(len(begins))
    return np.array(first), np.array(begins, dtype=np.int64), np.array(numbers, dtype=np.int64)


def _has_circle(kind: list[list[Entry]]) -> bool:
    """Whether the transitions within a cell form a circle: no order of the slots follows them all."""
    left = {
        slot: {e.slot for e in entries if e.slot != slot and not any(e.step)}
        for slot, entries in enumerate(kind)
    }
    while left:
        done = [slot for slot, others in left.items() if not others & left.keys()]
        if not done:
            return True
        for slot in done:
            del left[slot]
    return False
