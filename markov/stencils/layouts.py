"""From the regions of a model's rules to the grids of its transitions, by target and by source."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.stencils.boxes import (
    Boxes,
    Move,
    box_at,
    covered,
    disjoint,
    divided,
    first_of,
    moves_of,
)
from markov.stencils.counts import Counts, Varying, terms_of
from markov.stencils.grids import Entry, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region
    from markov.stencils.boxes import Cell

__all__ = ["Layout", "Rates", "laid_out"]


class Rates(NamedTuple):
    """The rate of each entry of a grid, and the total rate out of each slot of each kind.

    ``exit_rest`` is what that lacks of the sum, by rounding. Those that depend on counts are not a number:
    ``counts`` says what they are.
    """

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]
    exit_rest: NDArray[np.float64]
    counts: Counts | None = None

    def at(self, coordinates: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rates of entries and slots at a cell, by its place along each axis."""
        if self.counts is None:
            return self.rate, self.exit_rate
        curves, *terms = self.counts
        rate, exit_rate = (each.at(curves, coordinates) for each in terms)
        return rate, exit_rate

    def typical(self, shape: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rates as they are in the middle of a grid of some shape: about what is exchanged."""
        found = self.at([n // 2 for n in shape])
        rate, exit_rate = (np.where(np.isfinite(v), np.maximum(v, 0.0), 0.0) for v in found)
        return rate, exit_rate


class Layout(NamedTuple):
    """A chain on a grid.

    Attributes
    ----------
    into, out
        The transitions into, and out of, each state, with their rates.
    axes, inner
        Which components are the axes, and which make up the slots of a cell.
    place
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
    place: NDArray[np.int64]
    shift: NDArray[np.int64]
    low: tuple[int, ...]
    inner_shape: tuple[int, ...]


def laid_out(
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
    axes, inner = divided(regions, shape)
    inner_shape = tuple(shape[n] for n in inner)
    width = math.prod(inner_shape)
    moves = list(moves_of(regions, low, axes, inner, inner_shape))
    ends = tuple(shape[n] for n in axes)
    first = first_of(start, low, axes, inner, inner_shape)
    shift = np.zeros((width, len(axes)), dtype=np.int64)
    boxes = Boxes(moves, ends, width, first)
    for n in range(len(axes)):
        trial = disjoint(boxes, n)
        if trial.any():
            moved = boxes.shifted(n, trial)
            if moved.states < boxes.states:
                boxes = moved
                shift[:, n] = trial
    return _gathered(boxes, axes, inner, shift, tuple(low), inner_shape)


def _refined(boxes: Boxes) -> list[list[int]]:
    """Return finer cuts: cells a step away from those of a box have the same slots."""
    found = []
    for n, (cut, end) in enumerate(zip(boxes.cuts, boxes.ends, strict=True)):
        along = np.moveaxis(boxes.occupied, n, 0).reshape(len(cut), -1)
        other = np.flatnonzero((along[1:] != along[:-1]).any(axis=1)) + 1
        steps = {step for move in boxes.moves for step in (move.step[n], -move.step[n])}
        every = {*cut, *(cut[place] + step for place in other.tolist() for step in steps)}
        found.append(sorted(each for each in every if 0 <= each < end))
    return found


def _gathered(
    boxes: Boxes,
    axes: Cell,
    inner: Cell,
    shift: NDArray[np.int64],
    low: Cell,
    inner_shape: Cell,
) -> Layout:
    """Return the layout: kinds of cells are those with different transitions."""
    moves, ends, cuts = boxes.moves, boxes.ends, _refined(boxes)
    pairs = zip(boxes.cuts, cuts, strict=True)
    occupied = boxes.occupied[np.ix_(*(np.searchsorted(a, b, "right") - 1 for a, b in pairs))]
    shape, total = occupied.shape[:-1], boxes.width
    flat = occupied.reshape(-1, total)
    width = int(flat.sum(axis=1).max())
    slot = np.where(flat, np.cumsum(flat, axis=1) - 1, -1)
    into: list[list[dict[Entry, Any]]] = [[{} for _ in range(width)] for _ in flat]
    out: list[list[dict[Entry, Any]]] = [[{} for _ in range(width)] for _ in flat]
    origin = list(itertools.product(*cuts))
    for move in moves:
        for here in covered(cuts, move.low, move.high):
            there = box_at(cuts, origin[here], move.step)
            _add(out[here], slot[here][move.sources], slot[there][move.targets], move.step, move)
        back = tuple(-d for d in move.step)
        shifted = [a + d for a, d in zip(move.low, move.step, strict=True)]
        beyond = [b + d for b, d in zip(move.high, move.step, strict=True)]
        for here in covered(cuts, shifted, beyond):
            there = box_at(cuts, origin[here], back)
            _add(into[here], slot[here][move.targets], slot[there][move.sources], back, move)
    places = [np.flatnonzero(row).tolist() for row in flat]
    known: dict[object, int] = {}
    numbers = np.empty(len(flat), dtype=np.int64)
    kept = []
    for box, (a, b, place) in enumerate(zip(into, out, places, strict=True)):
        key = tuple(tuple(sorted(s.items())) for s in (*a, *b)), tuple(place)
        if key not in known:
            known[key] = len(known)
            kept.append(box)
        numbers[box] = known[key]
    slots_out = [s.values() for box in kept for s in out[box]]
    exits = [sum(values, 0.0) for values in slots_out]
    rests = [
        0.0 if isinstance(total, Varying) else math.fsum((*values, -total))
        for values, total in zip(slots_out, exits, strict=True)
    ]
    rows, row_kind = _rows(numbers.reshape(shape), cuts, ends)

    def table(side: list[list[dict[Entry, Any]]], sign: int) -> tuple[Grid, Rates]:
        ordered = [[sorted(s.items()) for s in side[box]] for box in kept]
        kinds = [[[e for e, _ in s] for s in kind] for kind in ordered]
        grid = Grid(ends, width, kinds, rows, row_kind)
        each = [r for kind in ordered for s in kind for _, r in s]
        return grid, _rates(each, sign * grid.steps, exits, np.array(rests))

    slots = np.array([places[box] + [-1] * (width - len(places[box])) for box in kept])
    return Layout(table(into, 1), table(out, 0), axes, inner, slots, shift, low, inner_shape)


def _rates(
    each: list[Any], sources: NDArray[np.int64], exits: list[Any], rests: NDArray[np.float64]
) -> Rates:
    """Return the rates of entries whose sources are so many cells away, and those out of slots."""
    curves: dict[bytes, int] = {}
    every = [c.values for r in (*each, *exits) if isinstance(r, Varying) for c in r.curves]
    length = max(map(len, every), default=0) // 8
    rate, own = terms_of(each, sources, curves, length)
    exit_rate, out = terms_of(exits, np.zeros((len(exits), sources.shape[1]), int), curves, length)
    if not curves:
        return Rates(rate, exit_rate, rests)
    table = [np.pad(np.frombuffer(curve), (0, length - len(curve) // 8)) for curve in curves]
    return Rates(rate, exit_rate, rests, Counts(np.concatenate(table), own, out))


def _add(
    slots: list[dict[Entry, Any]],
    own: NDArray[np.int64],
    others: NDArray[np.int64],
    step: Cell,
    move: Move,
) -> None:
    """Add the transitions of a move at the states that are occupied."""
    for a, b in zip(own.tolist(), others.tolist(), strict=True):
        if a >= 0 and b >= 0:
            entry = Entry(step, b)
            slots[a][entry] = slots[a].get(entry, 0.0) + move.rate


def _rows(
    numbers: NDArray[np.int64], cuts: list[list[int]], ends: Cell
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kinds of the cells of each kind of row, and the kind of each row."""
    lines = numbers.reshape(-1, numbers.shape[-1])
    last = np.searchsorted(cuts[-1], np.arange(ends[-1]), "right") - 1
    rows, line_kind = np.unique(lines[:, last], axis=0, return_inverse=True)
    row_kind = np.zeros(1, dtype=np.int64)
    for cut, count in zip(cuts[:-1], ends[:-1], strict=True):
        which = np.searchsorted(cut, np.arange(count), "right") - 1
        row_kind = np.add.outer(row_kind * len(cut), which).ravel()
    return rows, line_kind.ravel()[row_kind]
