"""The loops over the states of a grid that say which of them count, and where they are, as templates."""

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
    """The values of the components of the state that is looked at, each counted from its least.

    Attributes
    ----------
    values
        They go up as states do.
    size
        How many values each has.
    weight, ahead
        By how much the number of the combination, and that of the row, grows with each value.
    """

    values: Signed
    size: Signed
    weight: Signed
    ahead: Signed


class SlotIndex(NamedTuple):
    """Where the combinations of other components are in the cells of a grid.

    Attributes
    ----------
    along
        The component along which rows lie.
    lead, shift
        By how many rows, and by how many cells of a row, states of each combination are moved.
    ends, width
        Cells of a row, slots of a cell.
    row_kind, rows
        As in `markov.multigrid.kernels.tables.Cells`, with a sign.
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
    """Add the bit ``new`` to states that one with it leads to and that have ``old``; count them."""
    n_marked = 0
    for n in range(span[0], span[1]):
        row = span[1] - ONE - n if backward else n
        kind = grid.row_kind[row]
        first = grid.first[kind]
        last = grid.first[kind + ONE] - ONE
        for i in range(first, last + ONE):
            k = last - (i - first) if backward else i
            base = grid.numbers[k] * grid.width
            cell = grid.ends[k] - ONE if backward else grid.starts[k]
            s = (row * grid.cells + cell) * grid.width
            for _ in range(grid.starts[k], grid.ends[k]):
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
    """Do what `spread` does state by state: from each that has the bit on, as far as transitions lead.

    ``stack`` is room for states that are yet to be followed; where it is full they are left to another run.
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
    """Set the marks of the slots that are occupied in each kind of cell to a bit, others to none."""
    counts = ()
    for s, r in slots(span, grid, counts):
        marks[s] = bit if present[r] else 0


def count_entries(span, grid, bit, marks):
    """Return how many states have a mark, and how many transitions lead out of them."""
    counts = ()
    states = 0
    n_entries = ZERO
    for s, r in slots(span, grid, counts):
        if marks[s] & bit:
            states += 1
            n_entries += grid.begin[r + ONE] - grid.begin[r]
    return states, n_entries


def clear_unmarked(span, row_states, bit, marks, x):
    """Set x to zero in states without a mark."""
    for s in range(span[0] * row_states, span[1] * row_states):
        if not marks[s] & bit:
            x[s] = 0.0


def survey(begin, count, digits, index, marked, results):
    """Find the states with a mark among ``count`` numbers of the space; return how many.

    ``results`` gets their numbers in the space, and their places in the grid.
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
