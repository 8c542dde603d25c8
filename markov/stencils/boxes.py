"""From the regions of a model's rules to the grids of its transitions, by target and by source."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from markov.stencils.grids import Entry, Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Cell = tuple[int, ...]

__all__ = ["Layout", "Rates", "Unsuitable", "laid_out"]

MIN_VALUES = (
    8,
    4,
)  # of a component that is an axis: the first number for which cells are small enough
MAX_STEP = 4  # by which transitions change it
MAX_WIDTH = 64  # states of a cell
MAX_BOXES = 60_000  # boxes of cells times states of a cell


class Unsuitable(ValueError):
    """The model's rules or its space are not those of a grid; the message says why."""


class Rates(NamedTuple):
    """The rate of each entry of a grid, and the total rate out of each slot of each kind."""

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]


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


class _Move(NamedTuple):
    """Transitions out of a box of cells, ``low`` up to but not ``high``, by one step at one rate."""

    low: Cell
    high: Cell
    step: Cell
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rate: float


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
    axes, inner = _divided(regions, shape)
    inner_shape = tuple(shape[n] for n in inner)
    width = math.prod(inner_shape)
    moves = list(_moves(regions, low, axes, inner, inner_shape))
    ends = tuple(shape[n] for n in axes)
    first = _first(start, low, axes, inner, inner_shape)
    shift = np.zeros((width, len(axes)), dtype=np.int64)
    boxes = _Boxes(moves, ends, width, first)
    for n in range(len(axes)):
        trial = _disjoint(boxes, n)
        if trial.any():
            moved = boxes.shifted(n, trial)
            if moved.states < boxes.states:
                boxes = moved
                shift[:, n] = trial
    return _gathered(boxes, axes, inner, shift, tuple(low), inner_shape)


class _Boxes:
    """The boxes of cells with the same transitions, and which states of them may be reached.

    Attributes
    ----------
    cuts
        Where boxes begin along each axis.
    occupied
        Which states of a cell may be reached in each box, shape (*boxes, states of a cell).
    """

    def __init__(
        self, moves: Sequence[_Move], ends: Cell, width: int, first: tuple[Cell, int] | None
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

    def shifted(self, n: int, shift: NDArray[np.int64]) -> _Boxes:
        """Return the same with states moved along an axis, each combination by its own distance."""
        moves = []
        for move in self.moves:
            pairs = np.stack([shift[move.sources], shift[move.targets]])
            for a, b in np.unique(pairs, axis=1).T.tolist():
                these = (pairs[0] == a) & (pairs[1] == b)
                step = _added(move.step, n, b - a)
                cells = _added(move.low, n, a), _added(move.high, n, a), step
                moves.append(_Move(*cells, move.sources[these], move.targets[these], move.rate))
        first = self.first
        if first is not None:
            first = _added(first[0], n, int(shift[first[1]])), first[1]
        ends = _added(self.ends, n, int(shift.max()))
        return _Boxes(moves, ends, self.width, first)


def _added(cell: Cell, n: int, by: int) -> Cell:
    return (*cell[:n], cell[n] + by, *cell[n + 1 :])


def _disjoint(boxes: _Boxes, n: int) -> NDArray[np.int64]:
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


def _divided(regions: Sequence[Region], shape: Sequence[int]) -> tuple[Cell, Cell]:
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
    return axes, inner


def _moves(
    regions: Sequence[Region], low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> Iterator[_Move]:
    """Yield the transitions of regions that change the state."""
    number = np.arange(math.prod(inner_shape)).reshape(inner_shape)
    for region in regions:
        a = [v - least for v, least in zip(region.low, low, strict=True)]
        b = [v - least + 1 for v, least in zip(region.high, low, strict=True)]
        sources = number[tuple(slice(a[n], b[n]) for n in inner)].ravel()
        for changes, rate in region.moves or ():
            if not any(changes):
                continue
            moved = tuple(slice(a[n] + changes[n], b[n] + changes[n]) for n in inner)
            step = tuple(int(changes[n]) for n in axes)
            cells = tuple(a[n] for n in axes), tuple(b[n] for n in axes)
            yield _Move(*cells, step, sources, number[moved].ravel(), rate)


def _cuts(moves: Sequence[_Move], n: int, end: int) -> list[int]:
    """Return where boxes with the same transitions, in and out, begin along an axis."""
    ends = {0}
    for move in moves:
        a, b, step = move.low[n], move.high[n], move.step[n]
        ends |= {a, b, a + step, b + step}
    return sorted(cut for cut in ends if 0 <= cut < end)


def _covered(cuts: Sequence[list[int]], low: Sequence[int], high: Sequence[int]) -> list[int]:
    """Return the numbers of the boxes that meet some cells."""
    found = [0]
    for cut, a, b in zip(cuts, low, high, strict=True):
        places = range(max(bisect_right(cut, a) - 1, 0), bisect_left(cut, b))
        found = [number * len(cut) + place for number in found for place in places]
    return found


def _box_at(cuts: Sequence[list[int]], cell: Sequence[int], step: Sequence[int]) -> int:
    """Return the number of the box that a step from a cell leads to."""
    found = 0
    for cut, at, by in zip(cuts, cell, step, strict=True):
        found = found * len(cut) + bisect_right(cut, at + by) - 1
    return found


def _first(
    start: Sequence[int] | None, low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> tuple[Cell, int] | None:
    if start is None:
        return None
    at = [int(v) - least for v, least in zip(start, low, strict=True)]
    place = 0
    for n, size in zip(inner, inner_shape, strict=True):
        place = place * size + at[n]
    return tuple(at[n] for n in axes), place


def _occupied(
    moves: Sequence[_Move],
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
        for box in _covered(cuts, move.low, move.high):
            low = [a + d for a, d in zip(lows[box], move.step, strict=True)]
            high = [b + d for b, d in zip(highs[box], move.step, strict=True)]
            for other in _covered(cuts, low, high):
                sources.append(box * width + move.sources)
                targets.append(other * width + move.targets)
    pairs = np.concatenate(sources), np.concatenate(targets)
    graph = sp.csr_matrix((np.ones(len(pairs[0]), dtype=np.int8), pairs), shape=(n, n))
    begin = _covered(cuts, first[0], [v + 1 for v in first[0]])[0] * width + first[1]
    found = np.zeros(n, dtype=bool)
    found[breadth_first_order(graph, begin, return_predecessors=False)] = True
    return found.reshape(*shape, width)


def _refined(boxes: _Boxes) -> list[list[int]]:
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
    boxes: _Boxes,
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
    into: list[list[dict[Entry, float]]] = [[{} for _ in range(width)] for _ in flat]
    out: list[list[dict[Entry, float]]] = [[{} for _ in range(width)] for _ in flat]
    origin = list(itertools.product(*cuts))
    for move in moves:
        for here in _covered(cuts, move.low, move.high):
            there = _box_at(cuts, origin[here], move.step)
            _add(out[here], slot[here][move.sources], slot[there][move.targets], move.step, move)
        back = tuple(-d for d in move.step)
        shifted = [a + d for a, d in zip(move.low, move.step, strict=True)]
        beyond = [b + d for b, d in zip(move.high, move.step, strict=True)]
        for here in _covered(cuts, shifted, beyond):
            there = _box_at(cuts, origin[here], back)
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
    exit_rate = np.array([[sum(s.values()) for s in out[box]] for box in kept]).ravel()
    rows, row_kind = _rows(numbers.reshape(shape), cuts, ends)

    def table(side: list[list[dict[Entry, float]]]) -> tuple[Grid, Rates]:
        ordered = [[sorted(s.items()) for s in side[box]] for box in kept]
        kinds = [[[e for e, _ in s] for s in kind] for kind in ordered]
        rate = np.array([r for kind in ordered for s in kind for _, r in s])
        return Grid(ends, width, kinds, rows, row_kind), Rates(rate, exit_rate)

    slots = np.array([places[box] + [-1] * (width - len(places[box])) for box in kept])
    return Layout(table(into), table(out), axes, inner, slots, shift, low, inner_shape)


def _add(
    slots: list[dict[Entry, float]],
    own: NDArray[np.int64],
    others: NDArray[np.int64],
    step: Cell,
    move: _Move,
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
