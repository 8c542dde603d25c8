"""Boxes of cells with the same transitions, and which states of them may be reached."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from markov.stencils.counts import Varying, by_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Cell = tuple[int, ...]

__all__ = [
    "Boxes",
    "Move",
    "Unsuitable",
    "box_at",
    "covered",
    "disjoint",
    "divided",
    "first_of",
    "moves_of",
]

MIN_VALUES = (
    8,
    4,
)  # of a component that is an axis: the first number for which cells are small enough
MAX_STEP = 64  # by which transitions change it
ALIKE = 2  # cells in each box of a row, on average: those of an axis that may become the last
MAX_WIDTH = 64  # states of a cell
MAX_BOXES = 60_000  # boxes of cells times states of a cell


class Unsuitable(ValueError):
    """The model's rules or its space are not those of a grid; the message says why."""


class Move(NamedTuple):
    """Transitions out of a box of cells, ``low`` up to but not ``high``, by one step at one rate.

    Or at one that depends on the coordinates of the source.
    """

    low: Cell
    high: Cell
    step: Cell
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rate: float | Varying


class Boxes:
    """The boxes of cells with the same transitions, and which states of them may be reached.

    Attributes
    ----------
    cuts
        Where boxes begin along each axis.
    occupied
        Which states of a cell may be reached in each box, shape (*boxes, states of a cell).
    """

    def __init__(
        self, moves: Sequence[Move], ends: Cell, width: int, first: tuple[Cell, int] | None
    ) -> None:
        self.moves, self.ends, self.width, self.first = moves, ends, width, first
        self.cuts = [_cuts(moves, n, end) for n, end in enumerate(ends)]
        count = math.prod(map(len, self.cuts))
        if count * width > MAX_BOXES:
            msg = f"{count} boxes of cells with different transitions"
            raise Unsuitable(f"{msg}: at most {MAX_BOXES // width} are allowed")
        self.occupied = _occupied(moves, self.cuts, ends, width, first)

    @property
    def states(self) -> int:
        """States of the grid, with room for as many in each cell as any has."""
        return math.prod(self.ends) * int(self.occupied.sum(axis=-1).max())

    def shifted(self, n: int, shift: NDArray[np.int64]) -> Boxes:
        """Return the same with states moved along an axis, each combination by its own distance."""
        moves = []
        for move in self.moves:
            pairs = np.stack([shift[move.sources], shift[move.targets]])
            for a, b in sorted(set(zip(*pairs.tolist(), strict=True))):
                these = (pairs[0] == a) & (pairs[1] == b)
                step = _added(move.step, n, b - a)
                cells = _added(move.low, n, a), _added(move.high, n, a), step
                rate = move.rate.moved(n, a) if isinstance(move.rate, Varying) else move.rate
                moves.append(Move(*cells, move.sources[these], move.targets[these], rate))
        first = self.first
        if first is not None:
            first = _added(first[0], n, int(shift[first[1]])), first[1]
        ends = _added(self.ends, n, int(shift.max()))
        return Boxes(moves, ends, self.width, first)


def _added(cell: Cell, n: int, by: int) -> Cell:
    return (*cell[:n], cell[n] + by, *cell[n + 1 :])


def disjoint(boxes: Boxes, n: int) -> NDArray[np.int64]:
    """Return how far each combination is to be moved along an axis, so that few overlap.

    Those that occupy the same interval stay together.
    """
    shift = np.zeros(boxes.width, dtype=np.int64)
    cut, end = boxes.cuts[n], boxes.ends[n]
    first: NDArray[np.bool_] = np.moveaxis(boxes.occupied, n, 0)
    along: NDArray[np.bool_] = np.asarray(first.reshape(len(cut), -1, boxes.width).any(axis=1))
    beyond = [*cut[1:], end]
    spans: dict[tuple[int, int], list[int]] = {}
    for place in np.flatnonzero(along.any(axis=0)).tolist():
        here = np.flatnonzero(along[:, place])
        spans.setdefault((cut[here[0]], beyond[here[-1]]), []).append(place)
    last = 0
    for (begin, after), places in sorted(spans.items()):
        shift[places] = max(0, last - begin)
        last = max(last, after + int(shift[places[0]]))
    return shift


def divided(regions: Sequence[Region], shape: Sequence[int]) -> tuple[Cell, Cell]:
    """Return which components are axes, and which are not."""
    changes = [c for region in regions for c, _ in region.moves or ()]
    if not changes:
        raise Unsuitable("there are no transitions")
    largest = np.abs(np.array(changes)).max(axis=0)
    for least in MIN_VALUES:
        fits = (np.array(shape) >= least) & (largest >= 1) & (largest <= MAX_STEP)
        axes = tuple(np.flatnonzero(fits).tolist())
        inner = tuple(np.flatnonzero(~fits).tolist())
        width = math.prod(shape[n] for n in inner)
        if width <= MAX_WIDTH:
            break
    if not axes:
        msg = f"no component has {least} values or more and changes by at most {MAX_STEP}"
        raise Unsuitable(msg)
    if width > MAX_WIDTH:
        msg = f"the components that do not change by small steps have {width} combinations"
        raise Unsuitable(f"{msg}: at most {MAX_WIDTH} are allowed")
    return _long_rows(regions, shape, axes), inner


def _long_rows(regions: Sequence[Region], shape: Sequence[int], axes: Cell) -> Cell:
    """Return axes with another one last where no two cells are alike along that: rows are swept along it."""
    boxes = {n: len({region.low[n] for region in regions}) for n in axes}
    long = [n for n in axes if shape[n] >= ALIKE * boxes[n]]
    if not long or boxes[axes[-1]] < shape[axes[-1]]:
        return axes
    return (*(n for n in axes if n != long[-1]), long[-1])


def moves_of(
    regions: Sequence[Region], low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> Iterator[Move]:
    """Yield the transitions of regions that change the state."""
    number = np.arange(math.prod(inner_shape)).reshape(inner_shape)
    for region in regions:
        a = [v - least for v, least in zip(region.low, low, strict=True)]
        b = [v - least + 1 for v, least in zip(region.high, low, strict=True)]
        cells = tuple(a[n] for n in axes), tuple(b[n] for n in axes)
        for changes, rate in region.moves or ():
            if not any(changes):
                continue
            step = tuple(int(changes[n]) for n in axes)
            for component, value, each in by_count(rate, region.low, region.high, axes):
                spans = {n: range(a[n], b[n]) for n in inner}
                if component is not None:
                    spans[component] = range(value - low[component], value - low[component] + 1)
                sources = number[np.ix_(*spans.values())].ravel()
                moved = [[v + changes[n] for v in span] for n, span in spans.items()]
                yield Move(*cells, step, sources, number[np.ix_(*moved)].ravel(), each)


def _cuts(moves: Sequence[Move], n: int, end: int) -> list[int]:
    """Return where boxes with the same transitions, in and out, begin along an axis."""
    ends = {0}
    for move in moves:
        a, b, step = move.low[n], move.high[n], move.step[n]
        ends |= {a, b, a + step, b + step}
    return sorted(cut for cut in ends if 0 <= cut < end)


def covered(cuts: Sequence[list[int]], low: Sequence[int], high: Sequence[int]) -> list[int]:
    """Return the numbers of the boxes that meet some cells."""
    found = [0]
    for cut, a, b in zip(cuts, low, high, strict=True):
        places = range(max(bisect_right(cut, a) - 1, 0), bisect_left(cut, b))
        found = [number * len(cut) + place for number in found for place in places]
    return found


def box_at(cuts: Sequence[list[int]], cell: Sequence[int], step: Sequence[int]) -> int:
    """Return the number of the box that a step from a cell leads to."""
    found = 0
    for cut, at, by in zip(cuts, cell, step, strict=True):
        found = found * len(cut) + bisect_right(cut, at + by) - 1
    return found


def first_of(
    start: Sequence[int] | None, low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> tuple[Cell, int] | None:
    """Return the cell of the state that the chain starts in, and its combination; None for none."""
    if start is None:
        return None
    at = [int(v) - least for v, least in zip(start, low, strict=True)]
    place = 0
    for n, size in zip(inner, inner_shape, strict=True):
        place = place * size + at[n]
    return tuple(at[n] for n in axes), place


def _occupied(
    moves: Sequence[Move],
    cuts: Sequence[list[int]],
    ends: Cell,
    width: int,
    first: tuple[Cell, int] | None,
) -> NDArray[np.bool_]:
    """Return which states of a cell may be reached in each box, shape (*boxes, width)."""
    shape = tuple(map(len, cuts))
    if first is None:
        return np.ones((*shape, width), dtype=bool)
    n = math.prod(shape) * width
    lows = list(itertools.product(*cuts))
    highs = list(itertools.product(*([*cut[1:], end] for cut, end in zip(cuts, ends, strict=True))))
    sources, targets = [], []
    for move in moves:
        for box in covered(cuts, move.low, move.high):
            low = [a + d for a, d in zip(lows[box], move.step, strict=True)]
            high = [b + d for b, d in zip(highs[box], move.step, strict=True)]
            for other in covered(cuts, low, high):
                sources.append(box * width + move.sources)
                targets.append(other * width + move.targets)
    pairs = np.concatenate(sources), np.concatenate(targets)
    graph = sp.csr_matrix((np.ones(len(pairs[0]), dtype=np.int8), pairs), shape=(n, n))
    begin = covered(cuts, first[0], [v + 1 for v in first[0]])[0] * width + first[1]
    found = np.zeros(n, dtype=bool)
    found[breadth_first_order(graph, begin, return_predecessors=False)] = True
    return found.reshape(*shape, width)
