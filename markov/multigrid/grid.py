"""The transitions of a chain on a grid of cells, stored once for each kind of cell.

Components of the state that change by small steps are the axes of a grid of cells. The combinations of all other
components are the states of a cell, its slots. If the rules are identical on boxes of the space, there are few
kinds of cells: cells of one kind have the same transitions, to states at the same distances. A grid consists of
rows of cells along its last axis. A row is a list of segments of cells of one kind, and few rows differ.

From rules to a grid:

1. `moves_of`: the regions of a model's rules become arrays, a row per step between two combinations.
2. `boxes_of`: cuts along the axes give boxes of cells with the same transitions; a search marks the reached states.
3. `disjoint_shifts`: combinations that occupy different intervals are shifted apart along an axis, so that they share
   slots.
4. `entries_of`: transitions of the slots of each box, into and out of them.
5. `lay_out`: boxes with equal transitions are one kind; rows of kinds make up the grid.

**Rates that depend on a count.** Cells with the same transitions are of one kind, even if rates grow with a count. An
entry of a kind then has curves: tables of the amount that is added to its rate at each coordinate along an axis.
Kernels write the rates of a cell into the arrays of all rates before they process it
(`markov.multigrid.kernels.count_kernels`). Before that these rates are NaN, so that no result can depend on rates that
were not written.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from markov.computing.matrices import breadth_first_order, expand
from markov.computing.resources import check_room
from markov.generators.standins import Curve
from markov.multigrid.kernels.tables import Cells, as_unsigned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from markov.generators.regions import Region

    Vector = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Cell = tuple[int, ...]

__all__ = [
    "Aggregation",
    "Boxes",
    "Counts",
    "Entries",
    "Grid",
    "JoinedFlows",
    "Layout",
    "Moves",
    "Rates",
    "Terms",
    "Unsuitable",
    "VaryingRate",
    "boxes_at",
    "boxes_covering",
    "boxes_of",
    "check_cost",
    "coarsen",
    "cuts_of",
    "disjoint_shifts",
    "distinct_rows",
    "divide_components",
    "entries_of",
    "factors_along",
    "find_segments",
    "lay_out",
    "moves_of",
    "positions_in_boxes",
    "split_rate",
    "start_position",
    "terms_of_rates",
]


@dataclass(frozen=True)
class Grid:
    """A grid of cells: the transitions of each kind of cell, and the kind of each cell.

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
        """Number of states of the grid, slots that are never occupied included."""
        return len(self.row_kind) * int(self.rows.shape[1]) * self.width

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """Difference of state numbers between a cell and the next cell along each axis, shape (axes,)."""
        sizes = np.array([*self.shape[1:], self.width], dtype=np.int64)
        return np.cumprod(sizes[::-1])[::-1]

    @property
    def kinds(self) -> int:
        """Number of kinds of cells."""
        return (len(self.begin) - 1) // self.width

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The slot of each entry (transition), shape (entries,)."""
        slots_of_kinds = np.tile(np.arange(self.width), self.kinds)
        return slots_of_kinds.repeat(np.diff(self.begin))

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """Number of the other state minus number of this state, for each entry (transition), shape (entries,)."""
        return np.asarray(self.steps @ self.strides + self.others - self.slots)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of entries (transitions) of a cell of each kind, shape (kinds,)."""
        return np.diff(self.begin[:: self.width])

    @cached_property
    def kind_of_entry(self) -> NDArray[np.int64]:
        """The kind of cell of each entry (transition), shape (entries,)."""
        return np.repeat(np.arange(self.kinds), self.counts)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Fraction of the grid's cells that are of each kind, shape (kinds,)."""
        rows = np.bincount(self.row_kind, minlength=len(self.rows)).astype(np.float64)
        weights = np.repeat(rows, self.rows.shape[1])
        cells = np.bincount(self.rows.ravel(), weights, minlength=self.kinds)
        return np.asarray(cells / cells.sum(), dtype=np.float64)

    @cached_property
    def cyclic(self) -> NDArray[np.bool_]:
        """Whether a cell of each kind has transitions in a circle among its own slots, shape (kinds,)."""
        within = (self.slots != self.others) & ~self.steps.any(axis=1)
        kind = self.kind_of_entry
        leads = np.zeros((self.kinds, self.width, self.width), dtype=bool)
        leads[kind[within], self.slots[within], self.others[within]] = True
        in_cycle: NDArray[np.bool_] = np.asarray(leads.any(axis=2))
        for _ in range(self.width):  # slots that lead to none of those left are not in a circle
            in_cycle &= (leads & in_cycle[:, None]).any(axis=2)
        return np.asarray(in_cycle.any(axis=1))

    @cached_property
    def segments(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Runs of cells of one kind: first run of each kind of row; first cell and kind of each run."""
        return find_segments(self.rows)

    @cached_property
    def segment_begin(self) -> NDArray[np.int64]:
        """Number of entries before each segment in its row, if cells have their own entries, shape (segments,)."""
        counts = self.counts[self.rows]
        before = np.cumsum(counts, axis=1) - counts
        first, begins, _ = self.segments
        kinds = np.repeat(np.arange(len(self.rows)), np.diff(first))
        offsets: NDArray[np.int64] = before[kinds, begins]
        return offsets

    @cached_property
    def value_begin(self) -> NDArray[np.int64]:
        """First entry of each row, and the number of entries, if cells have their own entries, shape (rows + 1,)."""
        counts = self.counts[self.rows].sum(axis=1)
        return np.append(0, np.cumsum(counts[self.row_kind]))

    @cached_property
    def cells(self) -> Cells:
        """The cells and transitions of the grid as a record for kernels."""
        first, starts, numbers = self.segments
        stops = np.append(starts[1:], 0)
        stops[first[1:] - 1] = self.shape[-1]
        return Cells(
            row_kind=as_unsigned(self.row_kind),
            rows=as_unsigned(self.rows),
            first=as_unsigned(first),
            starts=as_unsigned(starts),
            stops=as_unsigned(stops),
            numbers=as_unsigned(numbers),
            cells=np.uint64(self.shape[-1]),
            width=np.uint64(self.width),
            begin=as_unsigned(self.begin),
            step=as_unsigned(self.step),
            value_begin=as_unsigned(self.value_begin),
        )

    @cached_property
    def coarser(self) -> dict[Cell, tuple[Grid, Aggregation]]:
        """Results of `coarsen` by the number of cells that are joined along each axis."""
        return {}


def find_segments(
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of equal numbers in the rows of a matrix: first run of each row; begin and number of each run."""
    first, begins, numbers = [0], [], []
    for row in rows:
        starts = np.append(0, np.flatnonzero(np.diff(row)) + 1)
        begins += starts.tolist()
        numbers += row[starts].tolist()
        first.append(len(begins))
    return np.array(first), np.array(begins, dtype=np.int64), np.array(numbers, dtype=np.int64)


class AxisCurve(NamedTuple):
    """A curve that adds ``values[coordinate - offset]`` to a rate, by the coordinate of a cell along an axis.

    Values are the bytes of float64.
    """

    axis: int
    offset: int
    values: bytes


@dataclass(frozen=True)
class VaryingRate:
    """A rate that depends on the cell's coordinates: a constant, and at most one curve per axis and offset."""

    constant: float
    curves: tuple[AxisCurve, ...]

    def __add__(self, other: Any) -> VaryingRate:
        if not isinstance(other, VaryingRate):
            return VaryingRate(self.constant + other, self.curves)
        by_axis = {(c.axis, c.offset): c for c in self.curves}
        for curve in other.curves:
            key = curve.axis, curve.offset
            if key in by_axis:
                with np.errstate(all="ignore"):
                    both = np.frombuffer(by_axis[key].values) + np.frombuffer(curve.values)
                curve = AxisCurve(*key, both.tobytes())
            by_axis[key] = curve
        return VaryingRate(self.constant + other.constant, tuple(sorted(by_axis.values())))

    __radd__ = __add__

    def shift(self, axis: int, by: int) -> VaryingRate:
        """Return the rate of the same states after they are moved by ``by`` cells along an axis."""
        curves = (c._replace(offset=c.offset + by * (c.axis == axis)) for c in self.curves)
        return VaryingRate(self.constant, tuple(curves))


def split_rate(
    rate: Any, low: Sequence[int], high: Sequence[int], axes: Sequence[int]
) -> Iterator[tuple[int | None, int, Any]]:
    """Yield the parts (component, value, rate) of a rate on a box: one, or one per value of an inner component.

    Along an axis, or if it is constant on the box, the rate is one part without a component. If it depends on another
    component, there is a part for each value of that component.
    """
    if type(rate) is not Curve:
        yield None, 0, rate
        return
    n, first = rate.component, rate.first
    inside = rate.values[low[n] - first : high[n] - first + 1].astype(np.float64)
    if (inside == inside[0]).all():
        yield None, 0, float(inside[0])
    elif n in axes:
        values = rate.values.astype(np.float64).tobytes()
        yield None, 0, VaryingRate(0.0, (AxisCurve(tuple(axes).index(n), 0, values),))
    else:
        for value, number in zip(range(low[n], high[n] + 1), inside.tolist(), strict=True):
            yield n, value, number


class Terms(NamedTuple):
    """Terms added to numbers by the coordinates of a cell: ``curves[curve_offset + coordinate]`` along ``axis``.

    Each is added to the number ``target``.

    Attributes
    ----------
    constant
        The constant part of each number.
    target, axis, curve_offset
        Of each term, shape (terms,); targets ascend.
    """

    constant: Vector
    target: Numbers
    axis: Numbers
    curve_offset: Numbers

    def at_cell(self, curves: Vector, coordinates: Sequence[int]) -> Vector:
        """Return the numbers at a cell, constants plus terms; they have a meaning for the cell's kind only."""
        values = self.constant.copy()
        positions = self.curve_offset + np.array(coordinates, dtype=np.int64)[self.axis]
        np.add.at(values, self.target, curves[np.clip(positions, 0, len(curves) - 1)])
        return values

    def select(self, numbers: Numbers, offsets: Numbers) -> Terms:
        """Return the terms of selected numbers at cells moved by an offset for each, shape (numbers, axes)."""
        first = np.searchsorted(self.target, numbers)
        counts = np.searchsorted(self.target, numbers, "right") - first
        target, term = expand(counts)
        term += np.repeat(first, counts)
        axis = self.axis[term]
        curve_offset = self.curve_offset[term] + offsets[target, axis]
        return Terms(self.constant[numbers], target, axis, curve_offset)


def terms_of_rates(
    rates: Sequence[Any], offsets: NDArray[np.int64], curves: dict[bytes, int], length: int
) -> tuple[Vector, Terms]:
    """Return rates as an array, NaN where they depend on the cell, and the terms that they consist of.

    Parameters
    ----------
    rates
        Numbers, or varying.
    offsets
        From the cell to the cell whose coordinates the rates depend on, shape (rates, axes).
    curves
        Offset of each curve; new curves are appended.
    length
        Maximum length of a curve.
    """
    terms: list[tuple[int, int, int]] = []
    constants = np.empty(len(rates))
    for n, rate in enumerate(rates):
        constants[n] = rate.constant if isinstance(rate, VaryingRate) else rate
        for c in rate.curves if isinstance(rate, VaryingRate) else ():
            begin = curves.setdefault(c.values, len(curves) * length)
            terms.append((n, c.axis, begin - c.offset + int(offsets[n, c.axis])))
    target, axis, curve_offset = np.array(terms, dtype=np.int64).reshape(-1, 3).T
    values = constants.copy()
    values[target] = math.nan
    return values, Terms(constants, *map(np.ascontiguousarray, (target, axis, curve_offset)))


class Counts(NamedTuple):
    """The terms of a grid's rates that depend on counts: of entries, and of total rates out of states.

    Attributes
    ----------
    curves
        All of them, one after the other.
    rates, exits
        Of the rate of each entry, and of the total rate out of each slot of each kind.
    """

    curves: Vector
    rates: Terms
    exits: Terms


class Moves(NamedTuple):
    """Transitions out of boxes of cells: each row is a box, a step and a rate, which may depend on counts.

    Attributes
    ----------
    low, high
        The cells of each box along each axis, ``low`` up to but not ``high``, shape (moves, axes).
    step
        From each cell to the target cell.
    source, target
        Combinations of the values of all components but the axes, before and after, shape (moves,).
    rate
        Shape (moves,); zero if it depends on counts.
    varying
        Index into ``variants``; -1 for constant rates.
    variants
        Distinct rates that depend on counts.
    """

    low: Numbers
    high: Numbers
    step: Numbers
    source: Numbers
    target: Numbers
    rate: NDArray[np.float64]
    varying: Numbers
    variants: tuple[VaryingRate, ...]

    @property
    def back(self) -> Moves:
        """The same transitions seen from their targets: boxes of target cells, and opposite steps."""
        targets = self.low + self.step, self.high + self.step
        return self._replace(low=targets[0], high=targets[1], step=-self.step, source=self.target, target=self.source)

    def shift_states(self, n: int, shift: Numbers) -> Moves:
        """Return the transitions after the states of each combination are moved along axis ``n`` by its ``shift``."""
        low, high, step = self.low.copy(), self.high.copy(), self.step.copy()
        low[:, n] += shift[self.source]
        high[:, n] += shift[self.source]
        step[:, n] += shift[self.target] - shift[self.source]
        varying, numbers = self.varying.copy(), dict[VaryingRate, int]()
        for row in np.flatnonzero(varying >= 0).tolist():
            moved = self.variants[varying[row]].shift(n, int(shift[self.source[row]]))
            varying[row] = numbers.setdefault(moved, len(numbers))
        return self._replace(low=low, high=high, step=step, varying=varying, variants=tuple(numbers))


def moves_of(
    regions: Sequence[Region],
    low: Sequence[int],
    axes: Sequence[int],
    inner: Sequence[int],
    inner_shape: Sequence[int],
) -> Moves:
    """Return the transitions of the regions of a model's rules that change the state, in the order of the regions."""
    cells = [
        (n, changes, *part)
        for n, region in enumerate(regions)
        for changes, rate in region.moves or ()
        if any(changes)
        for part in split_rate(rate, region.low, region.high, axes)
    ]
    region_numbers, changes_of_rows, components, values, rates = zip(*cells, strict=True)
    changes = np.array(changes_of_rows, dtype=np.int64)
    region = np.array(region_numbers)
    begin = (np.array([r.low for r in regions]) - np.array(low))[region]
    end = (np.array([r.high for r in regions]) - np.array(low))[region] + 1
    for row, (n, value) in enumerate(zip(components, values, strict=True)):
        if n is not None:  # a part of the region, with one value of a component
            begin[row, n], end[row, n] = value - low[n], value - low[n] + 1
    which, source = positions_in_boxes(begin[:, inner], end[:, inner], inner_shape)
    weights = [math.prod(inner_shape[n + 1 :]) for n in range(len(inner_shape))]
    target = source + (changes[:, inner] @ np.array(weights, dtype=np.int64))[which]
    low_cells, high_cells, steps = (part[which][:, axes] for part in (begin, end, changes))
    numbers: dict[VaryingRate, int] = {}
    varying = [numbers.setdefault(r, len(numbers)) if isinstance(r, VaryingRate) else -1 for r in rates]
    rate = np.array([0.0 if isinstance(r, VaryingRate) else r for r in rates])[which]
    kinds = np.array(varying, dtype=np.int64)[which]
    return Moves(low_cells, high_cells, steps, source, target, rate, kinds, tuple(numbers))


def positions_in_boxes(low: Numbers, high: Numbers, shape: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the box and the flat index of every position in a list of boxes of an array, shape (positions,) each.

    Parameters
    ----------
    low, high
        Bounds of each box along each axis, ``low`` up to but not ``high``, shape (boxes, axes).
    shape
        Shape of the array.
    """
    which = np.arange(len(low))
    numbers = np.zeros(len(low), dtype=np.int64)
    for n, size in enumerate(shape):
        counts = np.maximum(high[:, n] - low[:, n], 0)[which]
        index, within = expand(counts)
        which = which[index]
        numbers = numbers[index] * size + low[which, n] + within
    return which, numbers


MIN_VALUES = (
    8,
    4,
)  # of a component that is an axis: the first number for which cells are small enough
MAX_STEP = 64  # by which transitions change it
MIN_CELLS_PER_BOX = 2  # mean number of cells in a box, along an axis that may become the last
MAX_WIDTH = 64  # states of a cell
SECONDS_PER_MOVE, BYTES_PER_MOVE = 7e-7, 250.0  # to lay out a move in one of its boxes
LAYOUT_SECONDS = 2.0, 5.0  # limit for all moves: of small grids, and of any grid
LAYOUT_SECONDS_PER_STATE = 5e-7  # between these limits


class Unsuitable(ValueError):
    """Error: the model's rules or its space do not form a grid; the message gives the reason."""


@dataclass(frozen=True)
class Boxes:
    """Boxes of cells with the same transitions, and the states that are reached in each box.

    Attributes
    ----------
    moves
        All transitions.
    n_cells
        Number of cells along each axis.
    occupied
        Whether each combination is reached in each box, shape (*boxes, combinations).
    """

    moves: Moves
    n_cells: Cell
    occupied: NDArray[np.bool_]

    @cached_property
    def cuts(self) -> list[Numbers]:
        """First cell of each box along each axis: a list of arrays."""
        return cuts_of(self.moves, self.n_cells)

    @property
    def width(self) -> int:
        """Number of combinations of values of all components but the axes: the states of a cell if all are reached."""
        return int(self.occupied.shape[-1])

    @property
    def states(self) -> int:
        """Number of states of the grid if every cell has as many slots as the fullest cell."""
        return math.prod(self.n_cells) * int(self.occupied.sum(axis=-1).max())

    def shift_states(self, n: int, shift: Numbers) -> Boxes:
        """Return the boxes after the states of each combination are moved along axis ``n`` by its ``shift``."""
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
    """Return the number of cells by which to move each combination along an axis, so that few overlap.

    Combinations that occupy the same interval stay together.
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
    """Return the components that are axes of the grid, and all others, as two tuples of their numbers."""
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
    return _put_row_axis_last(regions, shape, axes), inner


def _put_row_axis_last(regions: Sequence[Region], shape: Sequence[int], axes: Cell) -> Cell:
    """Return the axes with an axis along which cells are identical moved to the end, since rows lie along the last."""
    boxes = {n: len({region.low[n] for region in regions}) for n in axes}
    long = [n for n in axes if shape[n] >= MIN_CELLS_PER_BOX * boxes[n]]
    if not long or boxes[axes[-1]] < shape[axes[-1]]:
        return axes
    return (*(n for n in axes if n != long[-1]), long[-1])


def cuts_of(moves: Moves, n_cells: Cell) -> list[Numbers]:
    """Return the first cell of each box of cells with the same transitions, in and out, along each axis."""
    beyond = moves.low + moves.step, moves.high + moves.step
    edges = np.concatenate([moves.low, moves.high, *beyond])
    cuts = (np.unique(np.append(0, along)) for along in edges.T)
    return [cut[(cut >= 0) & (cut < end)] for cut, end in zip(cuts, n_cells, strict=True)]


def check_cost(moves: Moves, cuts: Sequence[Numbers], states: int) -> None:
    """Raise Unsuitable if boxes of cells would take too long to lay out, for a grid of ``states`` states.

    TooLargeError if the layout would not fit into memory.
    """
    begin, end = _box_ranges(cuts, moves.low, moves.high)
    pairs = float(np.prod(end - begin, axis=1, dtype=np.float64).sum())
    minimum, maximum = LAYOUT_SECONDS
    allowed = min(max(LAYOUT_SECONDS_PER_STATE * states, minimum), maximum)
    message = f"{math.prod(map(len, cuts))} boxes of cells with different transitions"
    if SECONDS_PER_MOVE * pairs > allowed:
        message = f"{message} would take {SECONDS_PER_MOVE * pairs:.3g} s to lay out"
        raise Unsuitable(f"{message}: with {states} states at most {allowed:.3g} s are allowed")
    check_room(message, BYTES_PER_MOVE * pairs)


def _box_ranges(cuts: Sequence[Numbers], low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Return the first box that each range of cells meets along each axis, and the box after the last."""
    pairs = [(cut, low[:, n], high[:, n]) for n, cut in enumerate(cuts)]
    begin = [np.maximum(np.searchsorted(cut, a, "right") - 1, 0) for cut, a, _ in pairs]
    end = [np.searchsorted(cut, b, "left") for cut, _, b in pairs]
    return np.stack(begin, axis=1), np.stack(end, axis=1)


def boxes_covering(cuts: Sequence[Numbers], low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Return every pair of a range of cells and a box that it meets: range numbers and box numbers.

    ``low`` and ``high`` have shape (ranges, axes).
    """
    return positions_in_boxes(*_box_ranges(cuts, low, high), [len(cut) for cut in cuts])


def boxes_at(cuts: Sequence[Numbers], cells: Numbers) -> Numbers:
    """Return the number of the box of each cell, shape (cells,), by its coordinates, shape (cells, axes)."""
    numbers = np.zeros(len(cells), dtype=np.int64)
    for n, cut in enumerate(cuts):
        numbers = numbers * len(cut) + np.searchsorted(cut, cells[:, n], "right") - 1
    return numbers


def start_position(
    start: Sequence[int] | None, low: Sequence[int], axes: Cell, inner: Cell, inner_shape: Cell
) -> tuple[Cell, int] | None:
    """Return the cell and the combination of a start state; None without a start."""
    if start is None:
        return None
    at = [int(v) - minimum for v, minimum in zip(start, low, strict=True)]
    combination = 0
    for n, size in zip(inner, inner_shape, strict=True):
        combination = combination * size + at[n]
    return tuple(at[n] for n in axes), combination


def boxes_of(moves: Moves, n_cells: Cell, width: int, first: tuple[Cell, int] | None) -> Boxes:
    """Return boxes of cells with the same transitions, with the states that a start reaches.

    The start is a cell and a combination.

    None: all states are occupied.
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


class Entries(NamedTuple):
    """Transitions of the slots of boxes of cells, summed where equal; sorted by box, slot, step, other slot.

    Attributes
    ----------
    row
        Number of the box times slots of a cell, plus the slot, ascending, shape (entries,).
    step
        From the cell to the cell of the other state, shape (entries, axes).
    other
        Slot of the other state.
    rate
        Sum of the constant rates of this transition's moves.
    first
        Number of the first of these moves.
    varying
        Index into ``variants`` of the sum of the varying rates; -1: none.
    width
        Slots of a cell.
    variants
        Distinct sums of rates that depend on counts.
    """

    row: Numbers
    step: Numbers
    other: Numbers
    rate: NDArray[np.float64]
    first: Numbers
    varying: Numbers
    width: int
    variants: tuple[VaryingRate, ...]

    @property
    def rates(self) -> list[float | VaryingRate]:
        """The rate of each transition (entry): a list of numbers and `VaryingRate`."""
        pairs = zip(self.rate.tolist(), self.varying.tolist(), strict=True)
        return [self.variants[n] + rate if n >= 0 else rate for rate, n in pairs]

    def keys_by_box(self, boxes: int) -> list[bytes]:
        """Return a hashable key of the transitions of each box: a list of bytes."""
        slot = self.row % self.width
        rate = self.rate.view(np.int64), self.varying
        table = np.column_stack([slot, self.other, self.step, *rate])
        bounds = np.searchsorted(self.row, np.arange(boxes + 1) * self.width) * 8 * table.shape[1]
        text = table.tobytes()
        return [text[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]

    def of_boxes(self, boxes: Numbers) -> Entries:
        """Return the entries of selected boxes, with boxes numbered in the order of the selection."""
        begin = np.searchsorted(self.row, boxes * self.width)
        end = np.searchsorted(self.row, (boxes + 1) * self.width)
        which, entries = positions_in_boxes(begin[:, None], end[:, None], (1,))
        row = which * self.width + self.row[entries] % self.width
        return self._replace(
            row=row,
            step=self.step[entries],
            other=self.other[entries],
            rate=self.rate[entries],
            first=self.first[entries],
            varying=self.varying[entries],
        )


def entries_of(cuts: Sequence[Numbers], slot: Numbers, width: int, moves: Moves) -> Entries:
    """Return the transitions of the slots of boxes of cells; rates of moves between the same slots are summed.

    Parameters
    ----------
    cuts
        First cell of each box along each axis. All cells of a box have the same moves, and so have the cells that these
        lead to.
    slot
        Of each combination in the cells of each box, -1: none; shape (boxes, combinations).
    width
        Slots of a cell.
    moves
        Out of the cells, or into them with source and target exchanged.
    """
    which, box = boxes_covering(cuts, moves.low, moves.high)
    slots = slot[box, moves.source[which]]
    which, box, slots = (part[slots >= 0] for part in (which, box, slots))
    corner = np.unravel_index(box, [len(cut) for cut in cuts])
    cells = np.stack([cut[at] for cut, at in zip(cuts, corner, strict=True)], axis=1)
    target_boxes = boxes_at(cuts, cells + moves.step[which])
    other = slot[target_boxes, moves.target[which]]
    which, box, slots, other = (part[other >= 0] for part in (which, box, slots, other))
    steps, number = distinct_rows(moves.step)
    key = ((box * width + slots) * len(steps) + number[which]) * width + other
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rate = np.bincount(inverse.ravel(), moves.rate[which]).astype(np.float64)
    row, step = box[first] * width + slots[first], moves.step[which[first]]
    sums: dict[int, VaryingRate] = {}
    for entry in np.flatnonzero(moves.varying[which] >= 0).tolist():
        n, rate_of_sum = int(inverse.ravel()[entry]), moves.variants[moves.varying[which[entry]]]
        sums[n] = sums[n] + rate_of_sum if n in sums else rate_of_sum
    numbers: dict[VaryingRate, int] = {}
    varying = np.full(len(first), -1, dtype=np.int64)
    for n, rate_of_sum in sums.items():
        varying[n] = numbers.setdefault(rate_of_sum, len(numbers))
    return Entries(row, step, other[first], rate, first, varying, width, tuple(numbers))


class Rates(NamedTuple):
    """The rate of each transition (entry) of a grid's kinds of cells, and the total rate out of each slot of each kind.

    ``exit_rounding`` is the rounding error of the total rate. Rates that depend on counts are NaN: they are in
    ``counts``.
    """

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]
    exit_rounding: NDArray[np.float64]
    counts: Counts | None = None

    def at_cell(self, coordinates: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rate of each entry and out of each slot at a cell, by its coordinates."""
        if self.counts is None:
            return self.rate, self.exit_rate
        curves, *terms = self.counts
        rate, exit_rate = (part.at_cell(curves, coordinates) for part in terms)
        return rate, exit_rate

    def typical(self, shape: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rate of each entry and out of each slot in the middle of a grid, not negative, as an estimate."""
        rates = self.at_cell([n // 2 for n in shape])
        rate, exit_rate = (np.where(np.isfinite(v), np.maximum(v, 0.0), 0.0) for v in rates)
        return rate, exit_rate


class Layout(NamedTuple):
    """A chain on a grid: its transitions by target and by source, and the components that cells and slots stand for.

    Attributes
    ----------
    into, out
        The transitions into, and out of, each state, with their rates.
    axes, inner
        Components that are the axes, and components that make up the slots of a cell.
    combinations
        The combination of the values of ``inner`` in each slot of each kind of cell, -1: none; shape (kinds, width).
    shift
        Number of cells by which states of each combination are shifted along each axis, shape (combinations, axes).
    low, inner_shape
        Minimum of each component; number of values of each component of ``inner``.
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
    """Return the layout of a chain as a grid, from the regions of its model's rules.

    Parameters
    ----------
    regions
        With moves, that fill the space.
    low, shape
        Minimum and number of values of each component of the space.
    start
        Component values of the initial state; None: every state is reached.

    Raises
    ------
    Unsuitable
        If no component is an axis, or a cell would have too many states or kinds.
    """
    axes, inner = divide_components(regions, shape)
    inner_shape = tuple(shape[n] for n in inner)
    width = math.prod(inner_shape)
    moves = moves_of(regions, low, axes, inner, inner_shape)
    n_cells = tuple(shape[n] for n in axes)
    first = start_position(start, low, axes, inner, inner_shape)
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
    """Return finer cuts of boxes along each axis, such that all cells one step from a box have the same slots."""
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
    """Return the layout of boxes of cells as a grid; cells with different transitions are of different kinds."""
    moves, n_cells, cuts = boxes.moves, boxes.n_cells, _refine_cuts(boxes)
    check_cost(moves, cuts, boxes.states)
    pairs = zip(boxes.cuts, cuts, strict=True)
    occupied = boxes.occupied[np.ix_(*(np.searchsorted(a, b, "right") - 1 for a, b in pairs))]
    flat = occupied.reshape(-1, boxes.width)
    width = int(flat.sum(axis=1).max())
    slot = np.where(flat, np.cumsum(flat, axis=1) - 1, -1)
    into, out = (entries_of(cuts, slot, width, side_moves) for side_moves in (moves.back, moves))
    numbers, first_boxes = _kinds_of_boxes(into, out, flat)
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


def _kinds_of_boxes(into: Entries, out: Entries, flat: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Return the kind of each box, shape (boxes,), and the first box of each kind, shape (kinds,).

    ``flat`` is whether each box has each combination, shape (boxes, combinations).
    """
    sides = [side.keys_by_box(len(flat)) for side in (into, out)]
    number_of: dict[object, int] = {}
    numbers = np.empty(len(flat), dtype=np.int64)
    for box, (a, b, occupied) in enumerate(zip(*sides, flat, strict=True)):
        numbers[box] = number_of.setdefault((a, b, occupied.tobytes()), len(number_of))
    return numbers, np.unique(numbers, return_index=True)[1]


def _exits(out: Entries, slots: int) -> tuple[list[float | VaryingRate], NDArray[np.float64]]:
    """Return the total rate out of each slot, summed in the order of the rules, and its rounding error.

    The rounding error counts as zero if rates depend on counts.
    """
    order = np.argsort(out.first)
    total = np.bincount(out.row[order], out.rate[order], minlength=slots).astype(np.float64)
    bounds = np.searchsorted(out.row, np.arange(slots + 1)).tolist()
    rates = out.rate.tolist()
    pairs = zip(itertools.pairwise(bounds), total.tolist(), strict=True)
    rests = np.array([math.fsum((*rates[a:b], -total_rate)) for (a, b), total_rate in pairs])
    sums: list[float | VaryingRate] = total.tolist()
    for n in order[out.varying[order] >= 0].tolist():
        sums[out.row[n]] = out.variants[out.varying[n]] + sums[out.row[n]]
        rests[out.row[n]] = 0.0
    return sums, rests


def _rates(entries: Entries, sources: Numbers, exits: list[float | VaryingRate], rests: NDArray[np.float64]) -> Rates:
    """Return the rates of entries and out of slots, by the offset from each cell to the source of the entry."""
    if not entries.variants:
        return Rates(entries.rate, np.array(exits), rests)
    curves: dict[bytes, int] = {}
    rates = entries.rates
    tables = [c.values for r in (*rates, *exits) if isinstance(r, VaryingRate) for c in r.curves]
    length = max(map(len, tables), default=0) // 8
    rate, entry_terms = terms_of_rates(rates, sources, curves, length)
    exit_rate, out = terms_of_rates(exits, np.zeros((len(exits), sources.shape[1]), int), curves, length)
    table = [np.pad(np.frombuffer(curve), (0, length - len(curve) // 8)) for curve in curves]
    return Rates(rate, exit_rate, rests, Counts(np.concatenate(table), entry_terms, out))


def _rows(numbers: Numbers, cuts: list[Numbers], n_cells: Cell) -> tuple[Numbers, Numbers]:
    """Return the kinds of the cells of each distinct row of cells, and the number of the distinct row of each row."""
    lines = numbers.reshape(-1, numbers.shape[-1])
    last = np.searchsorted(cuts[-1], np.arange(n_cells[-1]), "right") - 1
    distinct, line_kind = distinct_rows(lines)
    row_kind = np.zeros(1, dtype=np.int64)
    for cut, count in zip(cuts[:-1], n_cells[:-1], strict=True):
        which = np.searchsorted(cut, np.arange(count), "right") - 1
        row_kind = np.add.outer(row_kind * len(cut), which).ravel()
    return distinct[:, last], line_kind[row_kind]


MAX_KEY = 2**62


def distinct_rows(table: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct rows of a matrix, sorted, and the index of each row among them, shape (rows,)."""
    low = table.min(axis=0)
    sizes = (table.max(axis=0) - low + 1).tolist()
    if math.prod(sizes) > MAX_KEY:
        distinct, index = np.unique(table, axis=0, return_inverse=True)
        return distinct, index.ravel()
    weights = [math.prod(sizes[n + 1 :]) for n in range(len(sizes))]
    # one key for each row, in their order: sorting rows takes five times as long
    _, first, index = np.unique((table - low) @ np.array(weights), return_index=True, return_inverse=True)
    return table[first], index


WIDE_FACTOR = 3  # cells that become one along an axis where they are to be wide


MAX_WIDE_AXES = 2  # along more axes two cells are joined


class JoinedFlows(NamedTuple):
    """The flows of a grid that add up to the flows of the next coarser grid, in the order of the latter.

    Attributes
    ----------
    first
        First flow of each kind of coarse cell, and the total, shape (coarse kinds + 1,).
    begin
        First part of each of these flows, and the total.
    cell
        For each part, its cell among the children of the coarse cell.
    kind, entry
        Kind of that cell; the entry counted from the cell's first.
    state
        Its own state minus the first state of the coarse cell.
    """

    first: NDArray[np.int64]
    begin: NDArray[np.int64]
    cell: NDArray[np.int64]
    kind: NDArray[np.int64]
    entry: NDArray[np.int64]
    state: NDArray[np.int64]


@dataclass(frozen=True)
class Aggregation:
    """The cells of a grid that make up each cell of the next coarser grid, and the flows that make up each flow.

    Attributes
    ----------
    factors
        Number of cells joined along each axis.
    child_rows
        The rows of a coarse row, -1 beyond the end of the grid, shape (coarse rows, children).
    children
        The kinds of the cells of a coarse kind, -1: none, shape (coarse kinds, rows * last).
    parts
        The flows that are summed to the entries of the coarse kinds.
    """

    factors: tuple[int, ...]
    child_rows: NDArray[np.int64]
    children: NDArray[np.int64]
    parts: JoinedFlows

    @property
    def last(self) -> int:
        """Number of cells joined along the last axis, within a row."""
        return self.factors[-1]


def factors_along(axes: Sequence[bool], *, wide: bool) -> tuple[int, ...]:
    """Return the number of cells to join along each axis: 1 if it is False in ``axes``, otherwise 2, or 3 if wide.

    Coarse levels below wide cells of the finest grid take less than half of the memory and of the time.
    Two sweeps of it instead of one, and corrections to the power 1.25, make up for most of the additional cycles.
    """
    joined = WIDE_FACTOR if wide and sum(axes) <= MAX_WIDE_AXES else 2
    return tuple(joined if along else 1 for along in axes)


def coarsen(grid: Grid, factors: Sequence[int]) -> tuple[Grid, Aggregation]:
    """Return the grid with ``factors`` cells joined along each axis, and the cells and flows that are joined."""
    key = tuple(factors)
    if key not in grid.coarser:
        grid.coarser[key] = _join_cells(grid, key)
    return grid.coarser[key]


def _join_cells(grid: Grid, factors: Cell) -> tuple[Grid, Aggregation]:
    """Return the result of `coarsen`."""
    factor = np.array(factors)
    shape = tuple(-(-n // f) for n, f in zip(grid.shape, factor.tolist(), strict=True))
    child_rows = _child_rows(grid.shape[:-1], shape[:-1], factor[:-1].tolist())
    padded = np.append(grid.row_kind, -1)[child_rows]  # kinds of the rows of each coarse row
    combinations, row_kind = distinct_rows(padded)
    last = int(factor[-1])
    n = grid.rows.shape[1]
    lines = np.full((len(grid.rows) + 1, shape[-1] * last), -1)
    lines[: len(grid.rows), :n] = grid.rows
    # kinds of the children of each coarse cell: (combinations, cells, children)
    cells: Numbers = lines[combinations].reshape(len(combinations), -1, shape[-1], last)
    cells = cells.transpose(0, 2, 1, 3).reshape(-1, combinations.shape[1] * last)
    children, kinds = distinct_rows(cells)
    rows = kinds.reshape(len(combinations), shape[-1])
    positions = np.array([(*row, p) for row in np.ndindex(*factor[:-1].tolist()) for p in range(last)])
    entries, parts = _join_flows(grid, children, positions, factor)
    coarse = Grid(shape, grid.width, *entries, rows, row_kind)
    return coarse, Aggregation(factors, child_rows, children, parts)


def _child_rows(shape: Sequence[int], coarse_shape: Sequence[int], factor: Sequence[int]) -> NDArray[np.int64]:
    """Return the numbers of the rows that make up each coarse row, -1 for none, shape (coarse rows, children)."""
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
    """Return the entries of coarse cells that consist of the kinds ``children``, and the flows that add up to them."""
    coarse, cell = np.nonzero(children >= 0)
    kinds = children[coarse, cell]
    cell_of_entry, entry = expand(grid.counts[kinds])
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
    """Return a sort key of each flow: by row, then by step along each axis, then by other slot."""
    key = row
    for along in step.T:
        minimum = along.min(initial=0)
        key = key * (along.max(initial=0) - minimum + 1) + along - minimum
    return key * width + other
