"""Kernels over the states of a grid: which are reached and recurrent, and the order of states in the space."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markov.multigrid.kernels.tables import ONE, ZERO
from markov.multigrid.kernels.traversals import slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Signed = NDArray[np.int64]

__all__ = ["Digits", "SlotIndex", "clear_unmarked", "count_entries", "fill", "follow", "spread", "survey"]


class Digits(NamedTuple):
    """The component values of the current state, each minus its minimum.

    Attributes
    ----------
    values
        They increase in the order of states.
    size
        Number of values of each component.
    weight, ahead
        Increase of the combination's number, and of the row's number, per unit of each value.
    """

    values: Signed
    size: Signed
    weight: Signed
    ahead: Signed


class SlotIndex(NamedTuple):
    """Positions of the combinations of other components in the rows, cells and slots of a grid.

    Attributes
    ----------
    along
        The component along which rows lie.
    lead, shift
        Number of rows, and of cells of a row, by which states of each combination are shifted.
    cells, width
        Cells of a row, slots of a cell.
    row_kind, rows
        As in `markov.multigrid.kernels.tables.Cells`, but signed.
    slot
        Of each combination in each kind of cell, -1: none.
    """

    along: int
    lead: Signed
    shift: Signed
    cells: int
    width: int
    row_kind: Signed
    rows: Signed
    slot: Signed


def spread(span, grid, backward, old, new, marks):
    """Add the bit ``new`` to states with ``old`` and a transition from a state with ``new``; return their number."""
    n_marked = 0
    for n in range(span[0], span[1]):
        row = span[1] - ONE - n if backward else n
        kind = grid.row_kind[row]
        first = grid.first[kind]
        last = grid.first[kind + ONE] - ONE
        for i in range(first, last + ONE):
            k = last - (i - first) if backward else i
            base = grid.numbers[k] * grid.width
            cell = grid.stops[k] - ONE if backward else grid.starts[k]
            s = (row * grid.cells + cell) * grid.width
            for _ in range(grid.starts[k], grid.stops[k]):
                for m in range(ZERO, grid.width):
                    r = grid.width - ONE - m if backward else m
                    if marks[s + r] & new:
                        for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                            mark = marks[s + r + grid.step[e]]
                            if mark & old and not mark & new:
                                marks[s + r + grid.step[e]] = mark | new
                                n_marked += 1
                if backward:
                    s -= grid.width
                else:
                    s += grid.width
    return n_marked


def follow(grid, stack, old, new, marks):
    """Mark states as `spread` does, but one by one along all paths from marked states; return their number.

    ``stack`` is a buffer for the states to follow. States that do not fit are left to the next pass.
    """
    n_marked = 0
    for s in range(ZERO, ZERO + len(marks)):
        if not marks[s] & new:
            continue
        stack[ZERO] = s
        count = ONE
        while count > ZERO:
            count -= ONE
            state = stack[count]
            cell = state // grid.width
            row = cell // grid.cells
            kind = grid.rows[grid.row_kind[row], cell - row * grid.cells]
            r = kind * grid.width + (state - cell * grid.width)
            for e in range(grid.begin[r], grid.begin[r + ONE]):
                target = state + grid.step[e]
                if marks[target] & old and not marks[target] & new:
                    marks[target] |= new
                    n_marked += 1
                    if count < len(stack):
                        stack[count] = target
                        count += ONE
    return n_marked


def fill(span, grid, present, bit, marks):
    """Set the marks of occupied slots of each kind of cell to ``bit``, and all other marks to zero."""
    counts = ()
    for s, r in slots(span, grid, counts):
        marks[s] = bit if present[r] else 0


def count_entries(span, grid, bit, marks):
    """Return the number of states whose marks have ``bit``, and of the transitions out of them."""
    counts = ()
    states = 0
    n_entries = ZERO
    for s, r in slots(span, grid, counts):
        if marks[s] & bit:
            states += 1
            n_entries += grid.begin[r + ONE] - grid.begin[r]
    return states, n_entries


def clear_unmarked(span, row_states, bit, marks, x):
    """Set x to zero in the states of a span of rows whose marks lack ``bit``."""
    for s in range(span[0] * row_states, span[1] * row_states):
        if not marks[s] & bit:
            x[s] = 0.0


def survey(begin, count, digits, index, marked, results):
    """Write the marked states among ``count`` numbers of the space into ``results``; return how many there are.

    ``results`` gets their numbers in the space, and their indices in the grid.
    """
    numbers, indices = results
    values = digits.values
    number = 0
    combination = 0
    first_row = 0
    for c in range(len(values)):
        combination += values[c] * digits.weight[c]
        first_row += values[c] * digits.ahead[c]
    for n in range(count):
        row = first_row + index.lead[combination]
        last = values[index.along] + index.shift[combination]
        r = index.slot[index.rows[index.row_kind[row], last], combination]
        if r >= 0:
            s = (row * index.cells + last) * index.width + r
            if marked.marks[s] & marked.bit:
                numbers[number] = begin + n
                indices[number] = s
                number += 1
        c = len(values) - 1
        while c >= 0:
            values[c] += 1
            combination += digits.weight[c]
            first_row += digits.ahead[c]
            if values[c] < digits.size[c]:
                break
            combination -= values[c] * digits.weight[c]
            first_row -= values[c] * digits.ahead[c]
            values[c] = 0
            c -= 1
    return number
