"""Rates that depend on counts, as templates: those of a cell are written to their places before they are read.

``counts`` has the curves; per axis but the last how many rows have the same coordinate, the number of
coordinates, and by how much it counts; by how much a cell along the last axis counts; and two tables, of the rates of entries and of those out of
slots. A table has the numbers, which are written to; what those of each kind are without what a cell adds;
which numbers vary, those to which a row adds and those to which a cell adds, each with the first one of each kind;
and what is added, from a place in the curves on.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = [
    "at_cell",
    "at_row",
    "cell_terms",
    "cells_by_counted_costs",
    "cells_by_counts",
    "row_terms",
]


def row_terms(table, curves, strides, ends, factors, kind, row, one):
    """Write what the numbers of a kind are in a row, but for what its cells add."""
    values, held, varied_first, row_first, cell_first, varied, constant = table[:7]
    row_target, row_place, cell_target = table[7:10]
    zero = one - one
    for i in range(varied_first[kind], varied_first[kind + one]):
        values[varied[i]] = constant[i]
    for axis in range(zero, zero + len(strides)):
        coordinate = row // strides[axis] % ends[axis] * factors[axis]
        n = kind * len(strides) + axis
        for i in range(row_first[n], row_first[n + one]):
            values[row_target[i]] += curves[row_place[i] + coordinate]
    for i in range(cell_first[kind], cell_first[kind + one]):
        held[i] = values[cell_target[i]]


def cell_terms(table, curves, kind, coordinate, one):
    """Write what the numbers of a kind are in a cell of the row that was written last."""
    values, held, cell_first = table[0], table[1], table[4]
    cell_target, cell_place = table[9], table[10]
    for i in range(cell_first[kind], cell_first[kind + one]):
        values[cell_target[i]] = held[i] + curves[cell_place[i] + coordinate]


def at_row(counts, kind, row, one):
    """Write the rates of a kind of cells in a row, but for what its cells add."""
    curves, strides, ends, factors, _, rates, exits = counts
    row_terms(rates, curves, strides, ends, factors, kind, row, one)
    row_terms(exits, curves, strides, ends, factors, kind, row, one)


def at_cell(counts, kind, cell, one):
    """Write the rates of a cell of the kind and row that were written last."""
    curves, _, _, _, factor, rates, exits = counts
    cell_terms(rates, curves, kind, cell * factor, one)
    cell_terms(exits, curves, kind, cell * factor, one)


def cells_by_counts(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, x
):
    """Sweep the cells ``low`` up to ``high`` of a row and segment; as `sweep_kernels.cells_by_rates`."""
    rate, exit_rate, source, counts = own
    zero = one - one
    kind = numbers[k]
    base = kind * width
    at_row(counts, kind, here, one)
    for n in range(low, high):
        cell = high - one - (n - low) if backward else n
        s = (here * cells + cell) * width
        at_cell(counts, kind, cell, one)
        for turn in range(zero, repeats[kind]):
            for m in range(zero, width):
                r = width - one - m if backward and turn == zero else m
                out = exit_rate[base + r]
                scale = 1.0 / out if out > 0.0 else 0.0  # does not wait for the state before
                total = source[base + r]
                for e in range(begin[base + r], begin[base + r + one]):
                    total += x[s + r + step[e]] * rate[e]
                x[s + r] = total * scale


def cells_by_counted_costs(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, h
):
    """Solve the equations of cells as `finest_kernels.cells_by_costs` does."""
    rate, exit_rate, counts, costs, levels, reference = own
    zero = one - one
    kind = numbers[k]
    base = kind * width
    at_row(counts, kind, here, one)
    for n in range(low, high):
        cell = high - one - (n - low) if backward else n
        s = (here * cells + cell) * width
        at_cell(counts, kind, cell, one)
        for m in range(zero, width):
            r = width - one - m if backward else m
            out = exit_rate[base + r]
            if s + r == reference:
                out = 2.0 * out
            scale = 1.0 / out if out > 0.0 else 0.0
            total = 1.0 * costs[levels[s + r]]
            for e in range(begin[base + r], begin[base + r + one]):
                total += h[s + r + step[e]] * rate[e]
            h[s + r] = total * scale
