"""The transitions of a chain on a grid of cells, stored once for each kind of cell.

Components of the state that change by small steps are the axes of a grid of cells; the values of all
others are the states of a cell, its slots. Where the rules are alike on boxes of the space there are few
kinds of cells: cells of one kind have the same transitions, to states at the same distances. A grid is
rows of cells along its last axis; a row is a list of segments of cells of one kind, and few rows differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Grid", "find_segments"]


@dataclass(frozen=True)
class Grid:
    """Kinds of cells and where they are.

    Attributes
    ----------
    shape
        Cells along each axis.
    width
        Slots of a cell.
    begin
        First entry of each slot of each kind of cell, and one more, shape (kinds * width + 1,). Entries are
        transitions into the slot, each with the place of the source, or out of it, with that of the target.
    steps
        From the cell of each entry to the other one, along each axis, shape (entries, axes).
    others
        Slot of the other state of each entry, shape (entries,).
    rows
        For each kind of row, the kind of each of its cells, shape (kinds of rows, shape[-1]).
    row_kind
        The kind of each row, shape (rows,), in the order of the cells' numbers.
    """

    shape: tuple[int, ...]
    width: int
    begin: NDArray[np.int64]
    steps: NDArray[np.int64]
    others: NDArray[np.int64]
    rows: NDArray[np.int64]
    row_kind: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of states, slots that are never occupied included."""
        return len(self.row_kind) * int(self.rows.shape[1]) * self.width

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """States between a cell and the next one along each axis."""
        sizes = np.array([*self.shape[1:], self.width], dtype=np.int64)
        return np.cumprod(sizes[::-1])[::-1]

    @property
    def kinds(self) -> int:
        """Kinds of cells."""
        return (len(self.begin) - 1) // self.width

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The slot of each entry, shape (entries,)."""
        slots_of_kinds = np.tile(np.arange(self.width), self.kinds)
        return slots_of_kinds.repeat(np.diff(self.begin))

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Number of the other state less that of this one, for each entry."""
        return np.asarray(self.steps @ self.strides + self.others - self.slots)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Entries of a cell of each kind."""
        return np.diff(self.begin[:: self.width])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of the cells that are of each kind."""
        rows = np.bincount(self.row_kind, minlength=len(self.rows)).astype(np.float64)
        weights = np.repeat(rows, self.rows.shape[1])
        cells = np.bincount(self.rows.ravel(), weights, minlength=self.kinds)
        return np.asarray(cells / cells.sum(), dtype=np.float64)

    @cached_property
    def cyclic(self) -> NDArray[np.bool_]:
        """Whether a cell of each kind has transitions in a circle among its own slots."""
        within = (self.slots != self.others) & ~self.steps.any(axis=1)
        kind = np.repeat(np.arange(self.kinds), self.counts)
        leads = np.zeros((self.kinds, self.width, self.width), dtype=bool)
        leads[kind[within], self.slots[within], self.others[within]] = True
        in_cycle: NDArray[np.bool_] = np.asarray(leads.any(axis=2))
        for _ in range(self.width):  # slots that lead to none of those left are not in a circle
            in_cycle &= (leads & in_cycle[:, None]).any(axis=2)
        return np.asarray(in_cycle.any(axis=1))

    @cached_property
    def segments(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells of one kind in a row: first of each kind of row, where each begins, and its kind."""
        return find_segments(self.rows)

    @cached_property
    def segment_begin(self) -> NDArray[np.int64]:
        """How many entries the cells of a row have before each segment, if every cell has its own."""
        counts = self.counts[self.rows]
        before = np.cumsum(counts, axis=1) - counts
        first, begins, _ = self.segments
        kinds = np.repeat(np.arange(len(self.rows)), np.diff(first))
        offsets: NDArray[np.int64] = before[kinds, begins]
        return offsets

    @cached_property
    def value_begin(self) -> NDArray[np.int64]:
        """Where the entries of each row begin, if every cell has its own, and their number."""
        counts = self.counts[self.rows].sum(axis=1)
        return np.append(0, np.cumsum(counts[self.row_kind]))


def find_segments(
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
