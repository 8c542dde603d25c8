"""The transitions of a chain on a grid of cells, kept once for each kind of cell.

The components of a state that change by small steps are the axes of a grid of cells; the others make up
the states of a cell. Where the rules are alike on boxes of the space there are few kinds of cells: cells
of a kind have the same transitions into their states, from states at the same distances. A grid is rows
of cells along its last axis; a row is a list of segments of cells of one kind, and few rows differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

__all__ = ["Entry", "Grid", "grid_of"]


class Entry(NamedTuple):
    """A transition into a state of a cell.

    Attributes
    ----------
    step
        From the cell of its source to this one, along each axis, with the sign changed: where the
        source is.
    source
        The source's place in its cell.
    """

    step: tuple[int, ...]
    source: int


@dataclass(frozen=True)
class Grid:
    """Kinds of cells and where they are.

    Attributes
    ----------
    shape
        Cells along each axis.
    width
        States of a cell.
    kinds
        For each kind and each state of a cell, the transitions into it.
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
        """Number of states."""
        return len(self.row_kind) * self.rows.shape[1] * self.width

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """States between a cell and the next one along each axis."""
        ends = np.array([*self.shape[1:], self.width], dtype=np.int64)
        return np.cumprod(ends[::-1])[::-1]

    @cached_property
    def begin(self) -> NDArray[np.int64]:
        """First entry of each state of each kind, and one more, shape (kinds * width + 1,)."""
        counts = [len(entries) for kind in self.kinds for entries in kind]
        return np.append(0, np.cumsum(counts, dtype=np.int64))

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Number of its source less that of its target, for each entry."""
        return np.array(
            [
                int(np.dot(self.strides, entry.step)) + entry.source - state
                for kind in self.kinds
                for state, entries in enumerate(kind)
                for entry in entries
            ],
            dtype=np.int64,
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Entries of a cell of each kind."""
        return np.diff(self.begin[:: self.width])

    @cached_property
    def segments(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells of one kind in a row: first of each kind of row, where each begins, and its kind."""
        return segmented(self.rows)

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


class Rates(NamedTuple):
    """Of the finest grid: the rate of each entry, and the total rate out of each state of each kind."""

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]


def grid_of(
    regions: Sequence[Region], low: Sequence[int], shape: Sequence[int], axes: int
) -> tuple[Grid, Rates]:
    """Return the grid of regions that fill a space, and its rates.

    Parameters
    ----------
    regions
        With moves, all of them.
    low, shape
        Of the space: the lowest value of each component, and how many values there are.
    axes
        How many components, the first ones, are the axes of the grid.
    """
    boxes = []  # of targets, moved to begin at zero: low, past the high, changes, rate
    exits = []
    for region in regions:
        a = np.array(region.low) - low
        b = np.array(region.high) - low + 1
        total = 0.0
        for changes, rate in region.moves or ():
            if any(changes):
                boxes.append((a + changes, b + changes, np.array(changes), rate))
                total += rate
        exits.append((a, b, total))
    cuts = [
        np.unique([0] + [end for box in [*boxes, *exits] for end in (box[0][n], box[1][n])])
        for n in range(axes)
    ]
    cuts = [cut[(cut >= 0) & (cut < shape[n])] for n, cut in enumerate(cuts)]
    inner = tuple(shape[axes:])
    width = int(np.prod(inner, dtype=np.int64))
    kinds_shape = tuple(map(len, cuts))
    table: dict[tuple[int, ...], list[dict[Entry, float]]] = {}
    out = {}
    for place in np.ndindex(*kinds_shape):
        table[place] = [{} for _ in range(width)]
        out[place] = np.zeros(width)

    def places(a, b):
        spans = [
            range(np.searchsorted(cut, a[n]), np.searchsorted(cut, b[n]))
            for n, cut in enumerate(cuts)
        ]
        for offset in np.ndindex(*map(len, spans)):
            yield tuple(span[o] for span, o in zip(spans, offset, strict=True))

    number = np.arange(width).reshape(inner)
    for a, b, changes, rate in boxes:
        targets = number[tuple(slice(p, q) for p, q in zip(a[axes:], b[axes:], strict=True))]
        sources = number[
            tuple(
                slice(p - c, q - c)
                for p, q, c in zip(a[axes:], b[axes:], changes[axes:], strict=True)
            )
        ]
        step = tuple(-int(c) for c in changes[:axes])
        for place in places(a, b):
            for target, source in zip(targets.ravel(), sources.ravel(), strict=True):
                entry = Entry(step, int(source))
                kind = table[place][target]
                kind[entry] = kind.get(entry, 0.0) + rate
    for a, b, total in exits:
        states = number[tuple(slice(p, q) for p, q in zip(a[axes:], b[axes:], strict=True))]
        for place in places(a, b):
            out[place][states.ravel()] = total
    return _gathered(table, out, cuts, tuple(shape[:axes]), width)


def _gathered(table, out, cuts, shape, width):
    """Number the kinds of cells by what they have."""
    known: dict[object, int] = {}
    kinds, rates, exit_rates = [], [], []
    numbers = np.empty(tuple(map(len, cuts)), dtype=np.int64)
    for place, states in table.items():
        ordered = [sorted(state.items()) for state in states]
        key = (tuple(map(tuple, ordered)), tuple(out[place]))
        if key not in known:
            known[key] = len(kinds)
            kinds.append([[entry for entry, _ in state] for state in ordered])
            rates += [rate for state in ordered for _, rate in state]
            exit_rates += out[place].tolist()
        numbers[place] = known[key]
    lines = numbers.reshape(-1, numbers.shape[-1])
    last = np.searchsorted(cuts[-1], np.arange(shape[-1]), "right") - 1
    rows, line_kind = np.unique(lines[:, last], axis=0, return_inverse=True)
    row_kind = np.zeros(1, dtype=np.int64)
    for cut, count in zip(cuts[:-1], shape[:-1], strict=True):
        which = np.searchsorted(cut, np.arange(count), "right") - 1
        row_kind = np.add.outer(row_kind * len(cut), which).ravel()
    grid = Grid(shape, width, kinds, rows, line_kind.ravel()[row_kind])
    return grid, Rates(np.array(rates), np.array(exit_rates))
