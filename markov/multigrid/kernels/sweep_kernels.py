"""Gauss-Seidel sweeps over the cells of a grid.

A call sweeps the rows of a span. The finest and the coarse grids share the order of a sweep, and differ in
``equations``. On the finest grid these are rates of the entries of a kind, and the source of each slot. On a coarse
grid they are the number of flows before each segment, the first flow of each row, the flows, the scale of each state,
and the source of each slot.

How this differs from a sweep of one row after another:

1. Four rows of one kind are swept side by side in the middle of their long segments: they share the loads of steps and
   rates, and no sum waits for the previous one.
2. Each row is ``lag`` cells ahead of the next: states read the same values as if rows were swept one after another, so
   that they have the same bits. Only transitions of other kinds of cells that lead to a near row by more cells (after a
   shift along an axis) may read a neighbour that was swept earlier or later.
3. Before and after the middle of a segment, rows are swept one by one.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.kernels.tables import ONE, ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = [
    "ROWS",
    "SweepPlan",
    "cells_by_flows",
    "cells_by_rates",
    "rows_by_flows",
    "rows_by_rates",
    "sweep",
]

ROWS = np.uint64(4)
"""Rows that are swept side by side."""


class SweepPlan(NamedTuple):
    """Number of sweeps of each kind of cell, unrolled patterns, and where rows are swept side by side.

    Attributes
    ----------
    repeats
        Sweeps of a cell of each kind.
    special, excluded_row
        As in `markov.multigrid.kernels.tables.Frequent`; the excluded row is swept by itself.
    parallel
        Whether segments of each kind are swept side by side.
    lag
        Number of cells by which each row precedes the next: more than parallel kinds' transitions to other rows lead
        along the last axis, or as many if statements are spliced in, which sweep the cell of one row after another.
    """

    repeats: NDArray[np.uint64]
    special: NDArray[np.uint64]
    excluded_row: np.uint64
    parallel: NDArray[np.bool_]
    lag: np.uint64


def identical_rows(grid, plan, remaining, row, backward):
    """Return the number of rows to sweep side by side from ``row`` on: ``ROWS`` if all are of one kind, or 1."""
    if remaining < ROWS:
        return ONE
    for g in range(ZERO, ROWS):
        other = row - g if backward else row + g
        if grid.row_kind[other] != grid.row_kind[row] or other == plan.excluded_row:
            return ONE
    return ROWS


def cells_by_rates(run, grid, plan, equations, backward, x):
    """Set each state in the cells low .. high - 1 of a segment to its inflow by rates, in turn.

    Rates and sources are divided by the rate out of the state.
    """
    row, k, low, high = run
    rate, source = equations
    number = grid.numbers[k]
    base = number * grid.width
    s = (row * grid.cells + (high - ONE if backward else low)) * grid.width
    for _ in range(low, high):
        for turn in range(ZERO, plan.repeats[number]):
            for m in range(ZERO, grid.width):
                r = grid.width - ONE - m if backward and turn == ZERO else m
                total = 0.0
                for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                    total += x[s + r + grid.step[e]] * rate[e]
                x[s + r] = total + source[base + r]
        s = s - grid.width if backward else s + grid.width


def rows_by_rates(run, grid, plan, equations, backward, x):
    """Do the same as `cells_by_rates` in the middle of a segment, from ``cell`` on, in four rows side by side."""
    row, k, cell = run
    rate, source = equations
    base = grid.numbers[k] * grid.width
    ahead = (grid.cells - plan.lag) * grid.width
    ahead = ZERO - ahead if backward else ahead
    s = (row * grid.cells + cell) * grid.width
    for _ in range(grid.starts[k] + plan.lag * (ROWS - ONE), grid.stops[k]):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            s0 = s + r
            s1 = s0 + ahead
            s2 = s1 + ahead
            s3 = s2 + ahead
            t0 = t1 = t2 = t3 = 0.0
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                step = grid.step[e]
                factor = rate[e]
                t0 += x[s0 + step] * factor
                t1 += x[s1 + step] * factor
                t2 += x[s2 + step] * factor
                t3 += x[s3 + step] * factor
            first = source[base + r]
            x[s0] = t0 + first
            x[s1] = t1 + first
            x[s2] = t2 + first
            x[s3] = t3 + first
        s = s - grid.width if backward else s + grid.width


def cells_by_flows(run, grid, plan, equations, backward, x):
    """Set each state in the cells low .. high - 1 of a segment to its inflow by flows, in turn."""
    row, k, low, high = run
    before, value_begin, values, scale, source = equations
    number = grid.numbers[k]
    base = number * grid.width
    n_entries = grid.begin[base + grid.width] - grid.begin[base]
    s = (row * grid.cells + (high - ONE if backward else low)) * grid.width
    ahead = (high - ONE if backward else low) - grid.starts[k]
    v = value_begin[row] + before[k] + ahead * n_entries - grid.begin[base]
    for _ in range(low, high):
        for turn in range(ZERO, plan.repeats[number]):
            for m in range(ZERO, grid.width):
                r = grid.width - ONE - m if backward and turn == ZERO else m
                total = 0.0
                for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                    total += x[s + r + grid.step[e]] * values[v + e]
                x[s + r] = (total + source[base + r]) * scale[s + r]
        s = s - grid.width if backward else s + grid.width
        v = v - n_entries if backward else v + n_entries


def rows_by_flows(run, grid, plan, equations, backward, x):
    """Do the same as `cells_by_flows` in the middle of a segment, from ``cell`` on, in four rows side by side."""
    row, k, cell = run
    before, value_begin, values, scale, source = equations
    base = grid.numbers[k] * grid.width
    n_entries = grid.begin[base + grid.width] - grid.begin[base]
    ahead = (grid.cells - plan.lag) * grid.width
    ahead = ZERO - ahead if backward else ahead
    next_row = row - ONE if backward else row + ONE
    behind = plan.lag * n_entries
    values_ahead = value_begin[next_row] - value_begin[row] + (behind if backward else ZERO - behind)
    s = (row * grid.cells + cell) * grid.width
    v = value_begin[row] + before[k] + (cell - grid.starts[k]) * n_entries - grid.begin[base]
    for _ in range(grid.starts[k] + plan.lag * (ROWS - ONE), grid.stops[k]):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            s0 = s + r
            s1 = s0 + ahead
            s2 = s1 + ahead
            s3 = s2 + ahead
            t0 = t1 = t2 = t3 = 0.0
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                step = grid.step[e]
                f = v + e
                t0 += x[s0 + step] * values[f]
                f += values_ahead
                t1 += x[s1 + step] * values[f]
                f += values_ahead
                t2 += x[s2 + step] * values[f]
                f += values_ahead
                t3 += x[s3 + step] * values[f]
            first = source[base + r]
            x[s0] = (t0 + first) * scale[s0]
            x[s1] = (t1 + first) * scale[s1]
            x[s2] = (t2 + first) * scale[s2]
            x[s3] = (t3 + first) * scale[s3]
        s = s - grid.width if backward else s + grid.width
        v = v - n_entries if backward else v + n_entries


def sweep(span, grid, plan, equations, backward, x):
    """Solve the equation of each state in a span of rows, in turn; unrolled cells by spliced statements."""
    top, bottom = span
    rows = bottom - top
    n = ZERO
    while n < rows:
        row = bottom - ONE - n if backward else top + n
        kind = grid.row_kind[row]
        group = identical_rows(grid, plan, rows - n, row, backward)
        n += group
        count = grid.first[kind + ONE] - grid.first[kind]
        begun = ZERO
        middle = False
        while begun < count:
            until = begun + ONE if middle else begun
            while until < count:  # on to a segment that has a middle
                k = grid.first[kind] + (count - ONE - until if backward else until)
                if group > ONE and plan.parallel[grid.numbers[k]] and grid.stops[k] - grid.starts[k] > plan.lag * group:
                    break
                until += ONE
            for g in range(ZERO, group):
                group_row = row - g if backward else row + g
                for i in range(begun, min(until + ONE, count)):
                    k = grid.first[kind] + (count - ONE - i if backward else i)
                    low = grid.starts[k]
                    high = grid.stops[k]
                    if middle and i == begun:
                        ahead = plan.lag * g
                        low, high = (low, low + ahead) if backward else (high - ahead, high)
                    if i == until:
                        m = plan.lag * (group - ONE - g)
                        low, high = (high - m, high) if backward else (low, low + m)
                    base = grid.numbers[k] * grid.width
                    if plan.special[grid.numbers[k]] > ZERO and row != plan.excluded_row:
                        unrolled(group_row, base)  # type: ignore[name-defined]  # noqa: F821
                    else:
                        one_by_one(group_row, low, high)  # type: ignore[name-defined]  # noqa: F821
            if until < count:
                k = grid.first[kind] + (count - ONE - until if backward else until)
                base = grid.numbers[k] * grid.width
                ahead = plan.lag * (group - ONE)
                cell = grid.stops[k] - ONE - ahead if backward else grid.starts[k] + ahead
                side_by_side(base, cell)  # type: ignore[name-defined]  # noqa: F821
            begun = until
            middle = True
