"""Gauss-Seidel sweeps over the cells of a grid.

A call sweeps the rows of a span. The finest and the coarse grids share the order of a sweep, and differ in
``equations``. On the finest grid these are rates of the entries of a kind, and the source of each slot. On a coarse
grid they are the number of flows before each segment, the first flow of each row, the flows, the scale of each state,
and the source of each slot.

How this differs from a sweep of one row after another:

1. Where statements are spliced in, ``together`` rows of one kind are swept side by side, so that no sum waits for the
   previous one.
2. Each row is ``lag`` cells ahead of the next: the next row reads the same values as if rows were swept one after
   another.
3. Before and after the middle of a segment, rows are swept one by one.
4. Only transitions that are not unrolled, and lead to a near row by more cells (after a shift along an axis), may read
   a neighbour that was swept earlier or later.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markov.multigrid.kernels.tables import ONE, ZERO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["SweepPlan", "cells_by_flows", "cells_by_rates", "sweep"]


class SweepPlan(NamedTuple):
    """Number of sweeps of each kind of cell, unrolled patterns, and the rows that are swept side by side.

    Attributes
    ----------
    repeats
        Sweeps of a cell of each kind.
    special, excluded_row
        As in `markov.multigrid.kernels.tables.Frequent`.
    together, lag
        Rows that are swept side by side, and the number of cells by which each precedes the next.
    """

    repeats: NDArray[np.uint64]
    special: NDArray[np.uint64]
    excluded_row: np.uint64
    together: np.uint64
    lag: np.uint64


def identical_rows(grid, plan, remaining, row, backward):
    """Return the number of rows to sweep side by side from ``row`` on: ``together`` if all are of one kind, or 1."""
    group = ONE
    while group < plan.together and group < remaining:
        other = row - group if backward else row + group
        same = grid.row_kind[other] == grid.row_kind[row]
        if not same or other == plan.excluded_row or row == plan.excluded_row:
            return ONE
        group += ONE
    return group if group == plan.together else ONE


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
                long = grid.stops[k] - grid.starts[k] > plan.lag * group
                if group > ONE and plan.special[grid.numbers[k]] > ZERO and long:
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
                side_by_side(base)  # type: ignore[name-defined]  # noqa: F821
            begun = until
            middle = True
