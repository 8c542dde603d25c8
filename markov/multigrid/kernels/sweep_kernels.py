"""Gauss-Seidel sweeps over the cells of a grid, as templates of kernels.

A call sweeps the rows of a span. The finest grid and coarse ones share the order of a sweep; what
differs is where rates come from. ``own`` is what a grid has for that: rates of the entries of a kind, and
what always flows into its slots, on the finest; on a coarse one how many flows a row has before each segment,
where the flows of each row begin, the flows, the scale of each state, and what always flows into the slots.

How this differs from a sweep of one row after another:

1. Where statements are spliced in, ``together`` rows of one kind are swept side by side, so that no sum waits for the
   one before it.
2. Each row is ``lag`` cells ahead of the next, so far that what those cells read is what it would be if one row were
   swept after another.
3. Before and after the middle of a segment each row goes as far as its turn is.
4. Only transitions that are not written out, and lead to a near row by more cells (where states are moved along an
   axis), may find a neighbour swept earlier or later.
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
    """How often, and in which groups, the cells of a grid are swept.

    Attributes
    ----------
    repeats
        Sweeps of a cell of each kind.
    special, alone
        As in `markov.multigrid.kernels.tables.Frequent`.
    together, lag
        Rows that are swept side by side, and by how many cells each is ahead of the next.
    """

    repeats: NDArray[np.uint64]
    special: NDArray[np.uint64]
    excluded_row: np.uint64
    together: np.uint64
    lag: np.uint64


def identical_rows(grid, plan, remaining, row, backward):
    """Return how many of the rows ``remaining``, from one on, are swept side by side: ``together``, or one."""
    group = ONE
    while group < plan.together and group < remaining:
        other = row - group if backward else row + group
        same = grid.row_kind[other] == grid.row_kind[row]
        if not same or other == plan.excluded_row or row == plan.excluded_row:
            return ONE
        group += ONE
    return group if group == plan.together else ONE


def cells_by_rates(run, grid, plan, equations, backward, x):
    """Sweep some cells of a row and segment: those from ``low`` up to ``high``.

    Rates, and what always flows in, are those into a state over the rate out of it.
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
    """Sweep some cells of a row and segment, which have flows of their own."""
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
    """Solve the equation of each state of some rows in turn; cells of frequent kinds as spliced in."""
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
                long = grid.ends[k] - grid.starts[k] > plan.lag * group
                if group > ONE and plan.special[grid.numbers[k]] > ZERO and long:
                    break
                until += ONE
            for g in range(ZERO, group):
                group_row = row - g if backward else row + g
                for i in range(begun, min(until + ONE, count)):
                    k = grid.first[kind] + (count - ONE - i if backward else i)
                    low = grid.starts[k]
                    high = grid.ends[k]
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
