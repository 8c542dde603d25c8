"""From a grid to the grid of twice as wide cells, and which flows make up which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markov.stencils.grids import Entry, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Halving", "halved"]


@dataclass(frozen=True)
class Halving:
    """Which cells of a grid make up a cell of the next, and which entries an entry.

    Attributes
    ----------
    axes
        Whether two cells become one, along each axis.
    child_rows
        The rows of a coarse row, -1 where the grid has ended, shape (coarse rows, children).
    children
        The kinds of the cells of a coarse kind, -1: none, shape (coarse kinds, rows * 1 or 2).
    map_begin
        Where the entries of each of them begin in ``target``, the same shape.
    target
        The place of the coarse entry among those of the coarse cell, -1: the flow stays inside.
    """

    axes: tuple[bool, ...]
    child_rows: NDArray[np.int64]
    children: NDArray[np.int64]
    map_begin: NDArray[np.int64]
    target: NDArray[np.int64]


def halved(grid: Grid, axes: Sequence[bool]) -> tuple[Grid, Halving]:
    """Return the grid in which two cells are one along some axes, and how it came about."""
    factor = np.where(axes, 2, 1)
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
    new_kinds, target = [], []
    map_begin = np.full(children.shape, -1)
    for g, kids in enumerate(children.tolist()):
        states, places = _joined(grid, kids, positions, factor)
        new_kinds.append(states)
        for p, kid in enumerate(kids):
            if kid >= 0:
                map_begin[g, p] = len(target)
                target += places[p]
    coarse = Grid(shape, grid.width, new_kinds, rows, row_kind.ravel())
    return coarse, Halving(
        tuple(map(bool, axes)), child_rows, children, map_begin, np.array(target)
    )


def _child_rows(shape, coarse_shape, factor):
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


def _joined(grid: Grid, kids, positions, factor):
    """Return the entries of a cell of some kinds of cells, and the place of each of theirs."""
    merged: list[dict[Entry, None]] = [{} for _ in range(grid.width)]
    moved: list[list[tuple[int, Entry] | None]] = []
    for kid, position in zip(kids, positions, strict=True):
        these: list[tuple[int, Entry] | None] = []
        for state, entries in enumerate(grid.kinds[kid] if kid >= 0 else []):
            for entry in entries:
                step = tuple(((position + entry.step) // factor).tolist())
                if entry.source == state and not any(step):
                    these.append(None)
                    continue
                coarse = Entry(step, entry.source)
                merged[state][coarse] = None
                these.append((state, coarse))
        moved.append(these)
    states = [sorted(entries) for entries in merged]
    first = np.append(0, np.cumsum([len(entries) for entries in states])).tolist()
    place = {
        (state, entry): first[state] + n
        for state, entries in enumerate(states)
        for n, entry in enumerate(entries)
    }
    return states, [[-1 if one is None else place[one] for one in these] for these in moved]
