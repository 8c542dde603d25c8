"""Records for the kernels of grids: cells and transitions, rates, aggregates, unknowns.

All whole numbers are unsigned: a signed index costs a comparison each time. Negative steps wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]
    Vector = NDArray[np.float64]

__all__ = [
    "ONE",
    "ZERO",
    "Cells",
    "Children",
    "Frequent",
    "Marked",
    "PartTable",
    "SlotRates",
    "as_unsigned",
]

ZERO, ONE = np.uint64(0), np.uint64(1)


class Cells(NamedTuple):
    """The cells of a grid in rows, and the targets of their transitions, as unsigned arrays for kernels.

    Attributes
    ----------
    row_kind
        The kind of each row: a list of segments of cells of one kind.
    rows
        The kinds of the cells of each kind of row.
    first, starts, stops, numbers
        The first segment of each kind of row, and the total; first cell of each segment, the cell after
        its last, and its kind.
    cells, width
        Cells of a row, and slots of a cell.
    begin, step
        Slot r of a cell of kind k has the entries ``begin[k * width + r]`` up to ``begin[k * width + r + 1]``;
        the number of the other state of entry e is greater by ``step[e]``.
    value_begin
        First flow of each row, on grids whose cells have their own flows.
    """

    row_kind: Numbers
    rows: Numbers
    first: Numbers
    starts: Numbers
    stops: Numbers
    numbers: Numbers
    cells: np.uint64
    width: np.uint64
    begin: Numbers
    step: Numbers
    value_begin: Numbers


def as_unsigned(numbers: Any) -> NDArray[np.uint64]:
    """Return whole numbers as a contiguous uint64 array; negative numbers wrap."""
    return np.ascontiguousarray(np.asarray(numbers, dtype=np.int64).astype(np.uint64))


class Frequent(NamedTuple):
    """The number (from 1) of each kind's unrolled pattern, 0 for none, and a row without unrolled cells."""

    special: Numbers
    excluded_row: np.uint64


class SlotRates(NamedTuple):
    """The rate of each entry, the total rate out of each slot of each kind, and the counts on which they depend."""

    rate: Vector
    exit_rate: Vector
    counts: Any = ()


class Children(NamedTuple):
    """The rows of a finer grid that make up each coarse row, and whether they exist.

    Attributes
    ----------
    rows, present
        Shape (coarse rows, rows of one) each.
    last
        Cells along a row that become one.
    cells, width
        Of the finer grid.
    """

    rows: Numbers
    present: NDArray[np.bool_]
    last: np.uint64
    cells: np.uint64
    width: np.uint64


class Restriction(NamedTuple):
    """The coarse cells to which numbers of a grid's states are summed.

    Attributes
    ----------
    children
        The rows that make up each coarse row.
    grid, frequent
        The grid, and its unrolled patterns.
    target
        The aggregates of its states, and the arrays that are written.
    """

    children: Children
    grid: Cells
    frequent: Frequent
    target: Any


class PartTable(NamedTuple):
    """The flows of a grid that are summed to each flow of the next coarser grid.

    Attributes
    ----------
    special
        As in `Frequent`.
    begins, part_begin
        Coarse cells of kind k have the entries from ``begins[k]`` on, entry e the parts from ``part_begin[e]`` on.
    source
        The state of each part, counted from the first state of the coarse cell.
    flow, line
        Its number among the flows in one row of the coarse cell's children, and that row.
    spans
        Number of flows in each row of the children of a coarse cell, for each kind.
    """

    special: Numbers
    begins: Numbers
    part_begin: Numbers
    source: Numbers
    flow: Numbers
    line: Numbers
    spans: Numbers


class Marked(NamedTuple):
    """Marks of states, and the bit that selected states have in them."""

    bit: int
    marks: NDArray[np.uint8]
