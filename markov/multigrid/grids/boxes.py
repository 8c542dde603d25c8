"""Boxes of cells with the same transitions, and which states of them may be reached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from markov.computing.graphs import breadth_first_order
from markov.computing.memory import check_room
from markov.multigrid.grids.moves import Moves, products

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Cell = tuple[int, ...]
    Numbers = NDArray[np.int64]

__all__ = [
    "Boxes",
    "Unsuitable",
    "boxes_at",
    "boxes_covering",
    "boxes_of",
    "check_cost",
    "cuts_of",
    "disjoint_shifts",
    "divide_components",
    "first_of",
]

MIN_VALUES = (
    8,
    4,
)  # of a component that is an axis: the first number for which cells are small enough
MAX_STEP = 64  # by which transitions change it
MIN_CELLS_PER_BOX = 2  # cells in each box of a row, on average: those of an axis that may become the last
MAX_WIDTH = 64  # states of a cell
SECONDS_PER_MOVE, BYTES_PER_MOVE = 7e-7, 250.0  # that a move takes in each of its boxes to be laid out
LAYOUT_SECONDS = 2.0, 5.0  # for all of them: on small grids, and at most
LAYOUT_SECONDS_PER_STATE = 5e-7  # as much for each state, in between


class Unsuitable(ValueError):
    """The model's rules or its space are not those of a grid; the message says why."""


@dataclass(frozen=True)
class Boxes:
    """The boxes of cells with the same transitions, and which states of them may be reached.

    Attributes
    ----------
    moves
        All transitions.
    n_cells
        Cells along each axis.
    occupied
        Which states of a cell may be reached in each box, shape (*boxes, states of a cell).
    """

    moves: Moves
    n_cells: Cell
    occupied: NDArray[np.bool_]

    @cached_property
    def cuts(self) -> list[Numbers]:
        """Where boxes begin along each axis."""
        return cuts_of(self.moves, self.n_cells)

    @property
    def width(self) -> int:
        """Combinations, which are the states of a cell if all are reached."""
        return int(self.occupied.shape[-1])

    @property
    def states(self) -> int:
        """States of the grid, with room for as many in each cell as any has."""
        return math.prod(self.n_cells) * int(self.occupied.sum(axis=-1).max())

    def shift_states(self, n: int, shift: Numbers) -> Boxes:
        """Return the same with states moved along an axis, each combination by its own distance."""
        n_cells = *self.n_cells[:n], self.n_cells[n] + int(shift.max()), *self.n_cells[n + 1 :]
        moves = self.moves.shift_states(n, shift)
        cut, old = cuts_of(moves, n_cells)[n], self.cuts[n]
        before: NDArray[np.bool_] = np.moveaxis(self.occupied, n, 0)
        occupied = np.zeros((len(cut), *before.shape[1:]), dtype=bool)
        for by in np.unique(shift).tolist():
            low, high = cut - by, np.append(cut[1:], n_cells[n]) - by
            meet = (low[:, None] < np.append(old[1:], self.n_cells[n])) & (high[:, None] > old)
            occupied[..., shift == by] = np.tensordot(meet, before[..., shift == by], 1)
        return Boxes(moves, n_cells, np.moveaxis(occupied, 0, n))


def disjoint_shifts(boxes: Boxes, n: int) -> NDArray[np.int64]:
    """Return how far each combination is to be moved along an axis, so that few overlap.

    Those that occupy the same interval stay together.
    """
    shift = np.zeros(boxes.width, dtype=np.int64)
    cut, end = boxes.cuts[n].tolist(), boxes.n_cells[n]
    first: NDArray[np.bool_] = np.moveaxis(boxes.occupied, n, 0)
    along: NDArray[np.bool_] = np.asarray(first.reshape(len(cut), -1, boxes.width).any(axis=1))
    beyond = [*cut[1:], end]
    spans: dict[tuple[int, int], list[int]] = {}
    for combination in np.flatnonzero(along.any(axis=0)).tolist():
        boxes_along = np.flatnonzero(along[:, combination])
        spans.setdefault((cut[boxes_along[0]], beyond[boxes_along[-1]]), []).append(combination)
    last = 0
    for (begin, after), combinations in sorted(spans.items()):
        shift[combinations] = max(0, last - begin)
        last = max(last, after + int(shift[combinations[0]]))
    return shift


def divide_components(regions: Sequence[Region], shape: Sequence[int]) -> tuple[Cell, Cell]:
    """Return which components are axes, and which are not."""
    changes = [c for region in regions for c, _ in region.moves or ()]
    if not changes:
        raise Unsuitable("there are no transitions")
    largest = np.abs(np.array(changes)).max(axis=0)
    for min_values in MIN_VALUES:
        fits = (np.array(shape) >= min_values) & (largest >= 1) & (largest <= MAX_STEP)
        axes = tuple(np.flatnonzero(fits).tolist())
        inner = tuple(np.flatnonzero(~fits).tolist())
        width = math.prod(shape[n] for n in inner)
        if width <= MAX_WIDTH:
            break
    if not axes:
        msg = f"no component has {min_values} values or more and changes by at most {MAX_STEP}"
        raise Unsuitable(msg)
    if width > MAX_WIDTH:
        msg = f"the components that do not change by small steps have {width} combinations"
        raise Unsuitable(f"{msg}: at most {MAX_WIDTH} are allowed")
    return _long_rows(regions, shape, axes), inner


def _long_rows(regions: Sequence[Region], shape: Sequence[int], axes: Cell) -> Cell:
    """Return axes with another one last where no two cells are alike along that: rows are swept along it."""
    boxes = {n: len({region.low[n] for region in regions}) for n in axes}
    long = [n for n in axes if shape[n] >= MIN_CELLS_PER_BOX * boxes[n]]
    if not long or boxes[axes[-1]] < shape[axes[-1]]:
        return axes
    return (*(n for n in axes if n != long[-1]), long[-1])


def cuts_of(moves: Moves, n_cells: Cell) -> list[Numbers]:
    """Return where boxes with the same transitions, in and out, begin along each axis."""
    beyond = moves.low + moves.step, moves.high + moves.step
    edges = np.concatenate([moves.low, moves.high, *beyond])
    cuts = (np.unique(np.append(0, along)) for along in edges.T)
    return [cut[(cut >= 0) & (cut < end)] for cut, end in zip(cuts, n_cells, strict=True)]


def check_cost(moves: Moves, cuts: Sequence[Numbers], states: int) -> None:
    """Raise Unsuitable where boxes would take too long to lay out, for a grid of so many states.

    TooLargeError where what that takes meanwhile would not fit into memory.
    """
    begin, end = _ranges(cuts, moves.low, moves.high)
    pairs = float(np.prod(end - begin, axis=1, dtype=np.float64).sum())
    minimum, maximum = LAYOUT_SECONDS
    allowed = min(max(LAYOUT_SECONDS_PER_STATE * states, minimum), maximum)
    message = f"{math.prod(map(len, cuts))} boxes of cells with different transitions"
    if SECONDS_PER_MOVE * pairs > allowed:
        message = f"{message} would take {SECONDS_PER_MOVE * pairs:.3g} s to lay out"
        raise Unsuitable(f"{message}: with {states} states at most {allowed:.3g} s are allowed")
    check_room(message, BYTES_PER_MOVE * pairs)


def _ranges(cuts: Sequence[Numbers], low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Return which boxes some ranges of cells meet along each axis: from the first up to the second."""
    pairs = [(cut, low[:, n], high[:, n]) for n, cut in enumerate(cuts)]
    begin = [np.maximum(np.searchsorted(cut, a, "right") - 1, 0) for cut, a, _ in pairs]
    end = [np.searchsorted(cut, b, "left") for cut, _, b in pairs]
    return np.stack(begin, axis=1), np.stack(end, axis=1)


def boxes_covering(cuts: Sequence[Numbers], low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Return the numbers of the boxes that meet some ranges of cells, and which range each meets.

    ``low`` and ``high`` have shape (ranges, axes).
    """
    return products(*_ranges(cuts, low, high), [len(cut) for cut in cuts])


def boxes_at(cuts: Sequence[Numbers], cells: Numbers) -> Numbers:
    """Return the numbers of the boxes that cells are in, shape (cells,) for (cells, axes)."""
    numbers = np.zeros(len(cells), dtype=np.int64)
    for n, cut in enumerate(cuts):
        numbers = numbers * len(cut) + np.searchsorted(cut, cells[:, n], "right") - 1
    return numbers


def first_of(
    start: Sequence[int] | None, low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> tuple[Cell, int] | None:
    """Return the cell of the state that the chain starts in, and its combination; None for none."""
    if start is None:
        return None
    at = [int(v) - minimum for v, minimum in zip(start, low, strict=True)]
    combination = 0
    for n, size in zip(inner, inner_shape, strict=True):
        combination = combination * size + at[n]
    return tuple(at[n] for n in axes), combination


def boxes_of(moves: Moves, n_cells: Cell, width: int, first: tuple[Cell, int] | None) -> Boxes:
    """Return boxes, and what of them may be reached from a state, given by its cell and combination.

    None: all states count.
    """
    cuts = cuts_of(moves, n_cells)
    check_cost(moves, cuts, math.prod(n_cells) * width)
    shape = tuple(map(len, cuts))
    if first is None:
        return Boxes(moves, n_cells, np.ones((*shape, width), dtype=bool))
    size = math.prod(shape) * width
    which, box = boxes_covering(cuts, moves.low, moves.high)
    corner = list(zip(cuts, np.unravel_index(box, shape), n_cells, strict=True))
    step = moves.step[which]
    low = np.stack([cut[at] for cut, at, _ in corner], axis=1) + step
    high = np.stack([np.append(cut[1:], end)[at] for cut, at, end in corner], axis=1) + step
    which_range, other = boxes_covering(cuts, low, high)
    which, box = which[which_range], box[which_range]
    pairs = box * width + moves.source[which], other * width + moves.target[which]
    graph = sp.csr_matrix((np.ones(len(box), dtype=np.int8), pairs), shape=(size, size))
    begin = int(boxes_at(cuts, np.array([first[0]]))[0]) * width + first[1]
    reached = np.zeros(size, dtype=bool)
    reached[breadth_first_order(graph, begin)] = True
    return Boxes(moves, n_cells, reached.reshape(*shape, width))
