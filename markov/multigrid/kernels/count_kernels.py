"""Kernels for rates that depend on counts: the rates of a cell are written before they are read.

`at_row` and `at_cell` have the names of the functions in `markov.multigrid.kernels.rate_kernels`, and replace them.
A row adds its terms to the constants, and a cell adds the terms along the last axis, in this fixed order: all kernels
read the same float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markov.multigrid.kernels.tables import ONE, ZERO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]
    Vector = NDArray[np.float64]

__all__ = [
    "CountTable",
    "VaryingNumbers",
    "at_cell",
    "at_row",
    "cell_terms",
    "cells_by_counted_costs",
    "cells_by_counts",
    "row_terms",
]


class VaryingNumbers(NamedTuple):
    """Rates of entries, or out of slots, some of which depend on the coordinates of the cell.

    Attributes
    ----------
    values
        All numbers; varying numbers are overwritten.
    row_values
        The numbers with cell terms, without these terms.
    varied_first, row_first, cell_first
        First index of each kind, and the total: of varying numbers, of row terms by axis, and of cell terms.
    varied, constant
        Indices of the varying numbers, and their constant parts.
    row_target, row_offset, cell_target, cell_offset
        Index into ``values`` and offset into the curves of each term.
    """

    values: Vector
    row_values: Vector
    varied_first: Numbers
    row_first: Numbers
    cell_first: Numbers
    varied: Numbers
    constant: Vector
    row_target: Numbers
    row_offset: Numbers
    cell_target: Numbers
    cell_offset: Numbers


class CountTable(NamedTuple):
    """The curves of all rates that depend on counts, and the rates to which they are added.

    Attributes
    ----------
    strides, sizes, factors
        Per axis but the last: rows with the same coordinate, number of coordinates, and step of the coordinate.
    factor
        Step of the coordinate along the last axis.
    rates, exits
        Of entries, and out of slots.
    """

    curves: Vector
    strides: Numbers
    sizes: Numbers
    factors: Numbers
    factor: np.uint64
    rates: VaryingNumbers
    exits: VaryingNumbers


def row_terms(table, counts, kind, row):
    """Write the numbers of a kind of cells in a row into a table, without the terms along the last axis."""
    for i in range(table.varied_first[kind], table.varied_first[kind + ONE]):
        table.values[table.varied[i]] = table.constant[i]
    for axis in range(ZERO, ZERO + len(counts.strides)):
        coordinate = row // counts.strides[axis] % counts.sizes[axis] * counts.factors[axis]
        n = kind * len(counts.strides) + axis
        for i in range(table.row_first[n], table.row_first[n + ONE]):
            table.values[table.row_target[i]] += counts.curves[table.row_offset[i] + coordinate]
    for i in range(table.cell_first[kind], table.cell_first[kind + ONE]):
        table.row_values[i] = table.values[table.cell_target[i]]


def cell_terms(table, curves, kind, coordinate):
    """Write the numbers of a kind at a coordinate along the row that was written last into a table."""
    for i in range(table.cell_first[kind], table.cell_first[kind + ONE]):
        offset = table.cell_offset[i] + coordinate
        table.values[table.cell_target[i]] = table.row_values[i] + curves[offset]


def at_row(counts, kind, row):
    """Write the rates of a kind of cells in a row into ``counts``, without the terms along the last axis."""
    row_terms(counts.rates, counts, kind, row)
    row_terms(counts.exits, counts, kind, row)


def at_cell(counts, kind, cell):
    """Write the rates of a cell, of the kind and row that were written last, into ``counts``."""
    cell_terms(counts.rates, counts.curves, kind, cell * counts.factor)
    cell_terms(counts.exits, counts.curves, kind, cell * counts.factor)


def cells_by_counts(run, grid, plan, equations, backward, x):
    """Sweep the cells low .. high - 1 of a segment, with rates that depend on counts.

    As `sweep_kernels.cells_by_rates` does.
    """
    row, k, low, high = run
    rate, exit_rate, source, counts = equations
    kind = grid.numbers[k]
    base = kind * grid.width
    at_row(counts, kind, row)
    for n in range(low, high):
        cell = high - ONE - (n - low) if backward else n
        s = (row * grid.cells + cell) * grid.width
        at_cell(counts, kind, cell)
        for turn in range(ZERO, plan.repeats[kind]):
            for m in range(ZERO, grid.width):
                r = grid.width - ONE - m if backward and turn == ZERO else m
                out = exit_rate[base + r]
                scale = 1.0 / out if out > 0.0 else 0.0  # does not wait for the state before
                total = source[base + r]
                for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                    total += x[s + r + grid.step[e]] * rate[e]
                x[s + r] = total * scale


def cells_by_counted_costs(run, grid, plan, equations, backward, h):
    """Solve the equations of hitting times in the cells of a segment, with rates that depend on counts.

    As `hitting_time_kernels.cells_by_costs` does.
    """
    row, k, low, high = run
    rate, exit_rate, counts, costs, levels, reference = equations
    kind = grid.numbers[k]
    base = kind * grid.width
    at_row(counts, kind, row)
    for n in range(low, high):
        cell = high - ONE - (n - low) if backward else n
        s = (row * grid.cells + cell) * grid.width
        at_cell(counts, kind, cell)
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            out = exit_rate[base + r]
            if s + r == reference:
                out = 2.0 * out
            scale = 1.0 / out if out > 0.0 else 0.0
            total = 1.0 * costs[levels[s + r]]
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                total += h[s + r + grid.step[e]] * rate[e]
            h[s + r] = total * scale
