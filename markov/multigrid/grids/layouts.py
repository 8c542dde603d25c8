"""From the regions of a model's rules to the grids of its transitions, by target and by source."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.grids.boxes import Boxes, boxes_of, check_cost, disjoint_shifts, divide_components, first_of
from markov.multigrid.grids.counts import Counts, Varying, terms_of
from markov.multigrid.grids.entries import Entries, entries_of
from markov.multigrid.grids.grids import Grid
from markov.multigrid.grids.moves import moves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region
    from markov.multigrid.grids.boxes import Cell

    Numbers = NDArray[np.int64]

__all__ = ["Layout", "Rates", "lay_out"]


class Rates(NamedTuple):
    """The rate of each entry of a grid, and the total rate out of each slot of each kind.

    ``exit_rounding`` is what that lacks of the sum, by rounding. Those that depend on counts are not a number:
    ``counts`` says what they are.
    """

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]
    exit_rounding: NDArray[np.float64]
    counts: Counts | None = None

    def at(self, coordinates: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rates of entries and slots at a cell, by its place along each axis."""
        if self.counts is None:
            return self.rate, self.exit_rate
        curves, *terms = self.counts
        rate, exit_rate = (part.at(curves, coordinates) for part in terms)
        return rate, exit_rate

    def typical(self, shape: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rates as they are in the middle of a grid of some shape: about what is exchanged."""
        rates = self.at([n // 2 for n in shape])
        rate, exit_rate = (np.where(np.isfinite(v), np.maximum(v, 0.0), 0.0) for v in rates)
        return rate, exit_rate


class Layout(NamedTuple):
    """A chain on a grid.

    Attributes
    ----------
    into, out
        The transitions into, and out of, each state, with their rates.
    axes, inner
        Which components are the axes, and which make up the slots of a cell.
    combinations
        Which combination of the values of the others is in each slot of each kind of cell, -1: none;
        shape (kinds, width).
    shift
        By how many cells along each axis states with one of these combinations are moved, shape
        (combinations, axes).
    low, inner_shape
        Least value of each component; how many values each of ``inner`` has.
    """

    into: tuple[Grid, Rates]
    out: tuple[Grid, Rates]
    axes: tuple[int, ...]
    inner: tuple[int, ...]
    combinations: NDArray[np.int64]
    shift: NDArray[np.int64]
    low: tuple[int, ...]
    inner_shape: tuple[int, ...]


def lay_out(
    regions: Sequence[Region],
    low: Sequence[int],
    shape: Sequence[int],
    start: Sequence[int] | None,
) -> Layout:
    """Return a chain on a grid.

    Parameters
    ----------
    regions
        With moves, that fill the space.
    low, shape
        Of the space: the least value of each component, and how many values there are.
    start
        The values of the components of the state that the chain starts in; None: all states count.

    Raises
    ------
    Unsuitable
        Where no component is an axis, or a cell would have too many states or kinds.
    """
    axes, inner = divide_components(regions, shape)
    inner_shape = tuple(shape[n] for n in inner)
    width = math.prod(inner_shape)
    moves = moves_of(regions, low, axes, inner, inner_shape)
    n_cells = tuple(shape[n] for n in axes)
    first = first_of(start, low, axes, inner, inner_shape)
    shift = np.zeros((width, len(axes)), dtype=np.int64)
    boxes = boxes_of(moves, n_cells, width, first)
    for n in range(len(axes)):
        trial = disjoint_shifts(boxes, n)
        if trial.any():
            moved = boxes.shift_states(n, trial)
            if moved.states < boxes.states:
                boxes = moved
                shift[:, n] = trial
    return _collect_kinds(boxes, axes, inner, shift, tuple(low), inner_shape)


def _refine_cuts(boxes: Boxes) -> list[Numbers]:
    """Return finer cuts: cells a step away from those of a box have the same slots."""
    cuts = []
    for n, (cut, end) in enumerate(zip(boxes.cuts, boxes.n_cells, strict=True)):
        along = np.moveaxis(boxes.occupied, n, 0).reshape(len(cut), -1)
        other = cut[np.flatnonzero((along[1:] != along[:-1]).any(axis=1)) + 1]
        steps = np.unique(boxes.moves.step[:, n])
        shifted = (other[:, None] + np.concatenate([steps, -steps])).ravel()
        inside = shifted[(shifted >= 0) & (shifted < end)]
        cuts.append(np.union1d(cut, inside))
    return cuts


def _collect_kinds(
    boxes: Boxes,
    axes: Cell,
    inner: Cell,
    shift: Numbers,
    low: Cell,
    inner_shape: Cell,
) -> Layout:
    """Return the layout: kinds of cells are those with different transitions."""
    moves, n_cells, cuts = boxes.moves, boxes.n_cells, _refine_cuts(boxes)
    check_cost(moves, cuts, boxes.states)
    pairs = zip(boxes.cuts, cuts, strict=True)
    occupied = boxes.occupied[np.ix_(*(np.searchsorted(a, b, "right") - 1 for a, b in pairs))]
    flat = occupied.reshape(-1, boxes.width)
    width = int(flat.sum(axis=1).max())
    slot = np.where(flat, np.cumsum(flat, axis=1) - 1, -1)
    into, out = (entries_of(cuts, slot, width, side_moves) for side_moves in (moves.back, moves))
    numbers, first_boxes = _kinds(into, out, flat)
    exits, rests = _exits(out.of_boxes(first_boxes), len(first_boxes) * width)
    rows, row_kind = _rows(numbers.reshape(occupied.shape[:-1]), cuts, n_cells)

    def table(side: Entries, sign: int) -> tuple[Grid, Rates]:
        entries = side.of_boxes(first_boxes)
        begin = np.searchsorted(entries.row, np.arange(len(first_boxes) * width + 1))
        grid = Grid(n_cells, width, begin, entries.step, entries.other, rows, row_kind)
        return grid, _rates(entries, sign * entries.step, exits, rests)

    slots = np.argsort(~flat[first_boxes], axis=1, kind="stable")[:, :width]
    slots[~np.take_along_axis(flat[first_boxes], slots, axis=1)] = -1
    return Layout(table(into, 1), table(out, 0), axes, inner, slots, shift, low, inner_shape)


def _kinds(into: Entries, out: Entries, flat: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Return the kind of each box, and the first box of each kind.

    ``flat`` says which combinations each box has, shape (boxes, combinations).
    """
    sides = [side.by_box(len(flat)) for side in (into, out)]
    number_of: dict[object, int] = {}
    numbers = np.empty(len(flat), dtype=np.int64)
    for box, (a, b, occupied) in enumerate(zip(*sides, flat, strict=True)):
        numbers[box] = number_of.setdefault((a, b, occupied.tobytes()), len(number_of))
    return numbers, np.unique(numbers, return_index=True)[1]


def _exits(out: Entries, slots: int) -> tuple[list[float | Varying], NDArray[np.float64]]:
    """Return the sum of the rates out of each slot, in the order of the rules, and what it lacks.

    Nothing is said to be missing where rates depend on counts.
    """
    order = np.argsort(out.first)
    total = np.bincount(out.row[order], out.rate[order], minlength=slots).astype(np.float64)
    bounds = np.searchsorted(out.row, np.arange(slots + 1)).tolist()
    rates = out.rate.tolist()
    pairs = zip(itertools.pairwise(bounds), total.tolist(), strict=True)
    rests = np.array([math.fsum((*rates[a:b], -total_rate)) for (a, b), total_rate in pairs])
    sums: list[float | Varying] = total.tolist()
    for n in order[out.varying[order] >= 0].tolist():
        sums[out.row[n]] = out.variants[out.varying[n]] + sums[out.row[n]]
        rests[out.row[n]] = 0.0
    return sums, rests


def _rates(entries: Entries, sources: Numbers, exits: list[float | Varying], rests: NDArray[np.float64]) -> Rates:
    """Return the rates of entries whose sources are so many cells away, and those out of slots."""
    if not entries.variants:
        return Rates(entries.rate, np.array(exits), rests)
    curves: dict[bytes, int] = {}
    rates = entries.rates
    tables = [c.values for r in (*rates, *exits) if isinstance(r, Varying) for c in r.curves]
    length = max(map(len, tables), default=0) // 8
    rate, entry_terms = terms_of(rates, sources, curves, length)
    exit_rate, out = terms_of(exits, np.zeros((len(exits), sources.shape[1]), int), curves, length)
    table = [np.pad(np.frombuffer(curve), (0, length - len(curve) // 8)) for curve in curves]
    return Rates(rate, exit_rate, rests, Counts(np.concatenate(table), entry_terms, out))


def _rows(numbers: Numbers, cuts: list[Numbers], n_cells: Cell) -> tuple[Numbers, Numbers]:
    """Return the kinds of the cells of each kind of row, and the kind of each row."""
    lines = numbers.reshape(-1, numbers.shape[-1])
    last = np.searchsorted(cuts[-1], np.arange(n_cells[-1]), "right") - 1
    rows, line_kind = np.unique(lines[:, last], axis=0, return_inverse=True)
    row_kind = np.zeros(1, dtype=np.int64)
    for cut, count in zip(cuts[:-1], n_cells[:-1], strict=True):
        which = np.searchsorted(cut, np.arange(count), "right") - 1
        row_kind = np.add.outer(row_kind * len(cut), which).ravel()
    return rows, line_kind.ravel()[row_kind]
