"""From a grid to one of wider cells, and which flows make up which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markov.stencils.grids import Entry, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Aggregation", "Part", "coarsened", "factors_along"]

JOINED = 3  # cells that become one along an axis where they are to be wide
MOST_AXES = 2  # along which as many do: with more it is two cells


@dataclass(frozen=True)
class Part:
    """A flow of the finer grid that is a part of a flow of the coarse one.

    Attributes
    ----------
    cell, row
        Which of the cells that make up the coarse one it belongs to, and in which of their rows.
    kind, entry
        Of that cell; the entry counted from the cell's first.
    state
        Its own state less the first one of the coarse cell.
    """

    cell: int
    row: int
    kind: int
    entry: int
    state: int


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
        For each coarse kind and each of its entries, what it is the sum of.
    """

    factors: tuple[int, ...]
    child_rows: NDArray[np.int64]
    children: NDArray[np.int64]
    parts: list[list[list[Part]]]

    @property
    def last(self) -> int:
        """Cells of a row that become one."""
        return self.factors[-1]


def factors_along(axes: Sequence[bool], *, wide: bool) -> tuple[int, ...]:
    """Return how many cells become one along each axis, given along which any do: two, or three if wide.

    Coarse levels below wide cells of the finest grid take less than half of the memory and of the time.
    Two sweeps of it instead of one, and corrections to the power 1.25, make up for most of the rest.
    """
    joined = JOINED if wide and sum(axes) <= MOST_AXES else 2
    return tuple(joined if along else 1 for along in axes)


def coarsened(grid: Grid, factors: Sequence[int]) -> tuple[Grid, Aggregation]:
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
    positions = np.array(
        [(*row, p) for row in np.ndindex(*factor[:-1].tolist()) for p in range(last)]
    )
    offsets = positions @ grid.strides
    found = [_joined(grid, kids, positions, factor, offsets) for kids in children.tolist()]
    coarse = Grid(shape, grid.width, [kind for kind, _ in found], rows, row_kind.ravel())
    aggregation = Aggregation(tuple(factors), child_rows, children, [parts for _, parts in found])
    return coarse, aggregation


def _child_rows(
    shape: Sequence[int], coarse_shape: Sequence[int], factor: Sequence[int]
) -> NDArray[np.int64]:
    """Return the numbers of the rows of each coarse row, -1 where there is none."""
    found = np.zeros((1, 1), dtype=np.int64)
    alive = np.ones((1, 1), dtype=bool)
    for n, m, f in zip(shape, coarse_shape, factor, strict=True):
        places = (np.arange(m) * f)[:, None] + np.arange(f)
        inside = places < n
        found = (found[:, None, :, None] * n + places[None, :, None, :]).reshape(
            found.shape[0] * m, found.shape[1] * f
        )
        alive = (alive[:, None, :, None] & inside[None, :, None, :]).reshape(found.shape)
    return np.where(alive, found, -1)


def _joined(
    grid: Grid,
    kids: Sequence[int],
    positions: NDArray[np.int64],
    factor: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> tuple[list[list[Entry]], list[list[Part]]]:
    """Return the entries of a cell made of some kinds of cells, and the parts of each."""
    last = int(factor[-1])
    merged: list[dict[Entry, list[Part]]] = [{} for _ in range(grid.width)]
    for number, (kid, position) in enumerate(zip(kids, positions, strict=True)):
        if kid < 0:
            continue
        count = 0
        for slot, entries in enumerate(grid.kinds[kid]):
            for entry in entries:
                step = tuple(((position + entry.step) // factor).tolist())
                if entry.slot != slot or any(step):
                    state = int(offsets[number]) + slot
                    part = Part(number, number // last, kid, count, state)
                    merged[slot].setdefault(Entry(step, entry.slot), []).append(part)
                count += 1
    kind = [sorted(entries) for entries in merged]
    parts = [entries[e] for entries in merged for e in sorted(entries)]
    return kind, parts
