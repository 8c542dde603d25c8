"""From a grid to one of wider cells, and which flows make up which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.grids.grids import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Aggregation", "JoinedFlows", "coarsen", "factors_along"]

WIDE_FACTOR = 3  # cells that become one along an axis where they are to be wide
MAX_WIDE_AXES = 2  # along which as many do: with more it is two cells


class JoinedFlows(NamedTuple):
    """The flows of a grid that add up to those of a coarser one, in the order of these.

    Attributes
    ----------
    first
        Of the flows of each kind of coarse cell, and one more, shape (coarse kinds + 1,).
    begin
        First part of each of these flows, and one more.
    cell
        For each part, which of the cells that make up the coarse one it belongs to.
    kind, entry
        Of that cell; the entry counted from the cell's first.
    state
        Its own state less the first one of the coarse cell.
    """

    first: NDArray[np.int64]
    begin: NDArray[np.int64]
    cell: NDArray[np.int64]
    kind: NDArray[np.int64]
    entry: NDArray[np.int64]
    state: NDArray[np.int64]


@dataclass(frozen=True)
class Aggregation:
    """Which cells of a grid make up a cell of the next, and which flows a flow.

    Attributes
    ----------
    factors
        How many cells become one, along each axis.
    child_rows
        The rows of a coarse row, -1 where the grid has ended, shape (coarse rows, children).
    children
        The kinds of the cells of a coarse kind, -1: none, shape (coarse kinds, rows * last).
    parts
        What the entries of the coarse kinds are the sums of.
    """

    factors: tuple[int, ...]
    child_rows: NDArray[np.int64]
    children: NDArray[np.int64]
    parts: JoinedFlows

    @property
    def last(self) -> int:
        """Cells of a row that become one."""
        return self.factors[-1]


def factors_along(axes: Sequence[bool], *, wide: bool) -> tuple[int, ...]:
    """Return how many cells become one along each axis, given along which any do: two, or three if wide.

    Coarse levels below wide cells of the finest grid take less than half of the memory and of the time.
    Two sweeps of it instead of one, and corrections to the power 1.25, make up for most of the rest.
    """
    joined = WIDE_FACTOR if wide and sum(axes) <= MAX_WIDE_AXES else 2
    return tuple(joined if along else 1 for along in axes)


def coarsen(grid: Grid, factors: Sequence[int]) -> tuple[Grid, Aggregation]:
    """Return the grid in which so many cells are one along each axis, and how it came about."""
    factor = np.array(factors)
    shape = tuple(-(-n // f) for n, f in zip(grid.shape, factor.tolist(), strict=True))
    child_rows = _child_rows(grid.shape[:-1], shape[:-1], factor[:-1].tolist())
    padded = np.append(grid.row_kind, -1)[child_rows]  # kinds of the rows of each coarse row
    combinations, row_kind = np.unique(padded, axis=0, return_inverse=True)
    last = int(factor[-1])
    n = grid.rows.shape[1]
    lines = np.full((len(grid.rows) + 1, shape[-1] * last), -1)
    lines[: len(grid.rows), :n] = grid.rows
    # kinds of the children of each coarse cell: (combinations, cells, children)
    cells = lines[combinations].reshape(len(combinations), -1, shape[-1], last)
    cells = cells.transpose(0, 2, 1, 3).reshape(-1, combinations.shape[1] * last)
    children, kinds = np.unique(cells, axis=0, return_inverse=True)
    rows = kinds.reshape(len(combinations), shape[-1])
    positions = np.array([(*row, p) for row in np.ndindex(*factor[:-1].tolist()) for p in range(last)])
    entries, parts = _join_flows(grid, children, positions, factor)
    coarse = Grid(shape, grid.width, *entries, rows, row_kind.ravel())
    return coarse, Aggregation(tuple(factors), child_rows, children, parts)


def _child_rows(shape: Sequence[int], coarse_shape: Sequence[int], factor: Sequence[int]) -> NDArray[np.int64]:
    """Return the numbers of the rows of each coarse row, -1 where there is none."""
    rows = np.zeros((1, 1), dtype=np.int64)
    alive = np.ones((1, 1), dtype=bool)
    for n, m, f in zip(shape, coarse_shape, factor, strict=True):
        coordinates = (np.arange(m) * f)[:, None] + np.arange(f)
        inside = coordinates < n
        rows = (rows[:, None, :, None] * n + coordinates[None, :, None, :]).reshape(
            rows.shape[0] * m, rows.shape[1] * f
        )
        alive = (alive[:, None, :, None] & inside[None, :, None, :]).reshape(rows.shape)
    return np.where(alive, rows, -1)


def _join_flows(
    grid: Grid,
    children: NDArray[np.int64],
    positions: NDArray[np.int64],
    factor: NDArray[np.int64],
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], JoinedFlows]:
    """Return the entries of cells made of some kinds of cells each, and the parts of these."""
    coarse, cell = np.nonzero(children >= 0)
    kinds = children[coarse, cell]
    counts = grid.counts[kinds]
    cell_of_entry = np.repeat(np.arange(len(kinds)), counts)
    entry = np.arange(len(cell_of_entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    number = grid.begin[:: grid.width][kinds][cell_of_entry] + entry
    cell, slot, other = cell[cell_of_entry], grid.slots[number], grid.others[number]
    row = coarse[cell_of_entry] * grid.width + slot
    step = (positions[cell] + grid.steps[number]) // factor
    outer = np.flatnonzero((slot != other) | step.any(axis=1))
    key = _keys(row[outer], step[outer], other[outer], grid.width)
    order = np.argsort(key, kind="stable")
    new = np.flatnonzero(np.diff(key[order], prepend=-1))
    order = outer[order]
    firsts = order[new]
    begin = np.searchsorted(row[firsts], np.arange(len(children) * grid.width + 1))
    state = positions[cell] @ grid.strides + slot
    begins = np.append(new, len(order))
    columns = cell, kinds[cell_of_entry], entry, state
    parts = JoinedFlows(begin[:: grid.width], begins, *(column[order] for column in columns))
    return (begin, step[firsts], other[firsts]), parts


def _keys(row: NDArray[np.int64], step: NDArray[np.int64], other: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return numbers in the order of places, steps along each axis in turn, and other slots."""
    key = row
    for along in step.T:
        minimum = along.min(initial=0)
        key = key * (along.max(initial=0) - minimum + 1) + along - minimum
    return key * width + other
