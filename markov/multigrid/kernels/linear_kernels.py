"""Kernels of multigrid for linear equations of a chain, for the cycle of `markov.multigrid.cycle`.

How a cycle differs from the textbook's:

1. The first level has rows of its own, and one additional number on the diagonal.
2. If x is zero, a first Gauss-Seidel sweep reads only the entries below the diagonal, and its residual has only the
   entries above it: half of the entries each, if rows are ordered.
3. On the other levels the unknown is the amount added to each aggregate, divided by the flow out of it.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Index = NDArray[Any]

__all__ = [
    "HELPERS",
    "Coarser",
    "Finest",
    "advance",
    "ascend",
    "descend",
    "find_upper_entries",
    "multiply",
    "restrict",
    "restrict_after_zero",
    "restrict_first",
    "restrict_first_after_zero",
    "solve_coarsest",
    "step_products",
    "sweep",
    "sweep_first",
    "sweep_first_from_zero",
    "sweep_from_zero",
    "transpose",
]


class Finest(NamedTuple):
    """The equations ``A x = -right`` of the first level, and the weights of restriction and prolongation.

    Attributes
    ----------
    rows, columns, entries
        Of A in CSR.
    diagonal_offset
        Additional number on the diagonal of A.
    middle
        The first entry above the diagonal of each row.
    damping
        Minus one over the diagonal of A, which is negative.
    restriction, prolongation
        Weight of a state's residual in its aggregate, and of the aggregate's x in the correction of the state.
    """

    rows: Index
    columns: Index
    entries: Vector
    diagonal_offset: float
    middle: Index
    damping: Vector
    restriction: Vector
    prolongation: Vector


class Coarser(NamedTuple):
    """The equations x / scale = right + values x of all other levels, and the vectors x and right of all levels.

    Attributes
    ----------
    indptr, indices, values
        In CSR.
    middles
        The first entry above the diagonal of each row.
    parent
        Aggregate of each state, of the first level as well.
    scale
        One over the flow out of each state.
    inverse
        Of the equations of the last level.
    ordered
        Whether the entries of all rows ascend.
    x, right
        Of all levels.
    """

    indptr: Index
    middles: Index
    indices: Index
    values: Vector
    parent: Index
    scale: Vector
    inverse: Vector
    ordered: bool
    x: Vector
    right: Vector


def descend(level, schedule, levels):
    """Sweep a level, from x = 0 on all but the first, and restrict its residual to the next level."""
    finest, coarse = levels
    low, high, end = schedule.first[level], schedule.first[level + 1], schedule.first[level + 2]
    for s in range(high, end):
        coarse.x[s] = 0.0
        coarse.right[s] = 0.0
    fresh = schedule.remaining[level] == schedule.repeats[level]
    halves = coarse.ordered and schedule.sweeps == 1 and fresh
    if level == 0 and halves:
        sweep_first_from_zero(high, finest, coarse)
        restrict_first_after_zero(high, finest, coarse)
    elif level == 0:
        for _ in range(schedule.sweeps):
            sweep_first(high, False, finest, coarse)
        restrict_first(high, finest, coarse)
    elif halves:
        sweep_from_zero(low, high, coarse)
        restrict_after_zero(low, high, coarse)
    else:
        for _ in range(schedule.sweeps):
            sweep(low, high, False, coarse)
        restrict(low, high, coarse)


def solve_coarsest(schedule, levels):
    """Solve the equations of the last level by its inverse matrix."""
    _, coarse = levels
    last = len(schedule.first) - 2
    low, high = schedule.first[last], schedule.first[last + 1]
    for i in range(high - low):
        total = 0.0
        for j in range(high - low):
            total += coarse.inverse[i, j] * coarse.right[low + j]
        coarse.x[low + i] = total


def ascend(level, schedule, levels):
    """Add to x of a level the amounts of its aggregates, and sweep it backward."""
    finest, coarse = levels
    low, high = schedule.first[level], schedule.first[level + 1]
    if level == 0:
        for s in range(high):
            coarse.x[s] += finest.prolongation[s] * coarse.x[coarse.parent[s]]
        for _ in range(schedule.sweeps):
            sweep_first(high, True, finest, coarse)
    else:
        for s in range(low, high):
            coarse.x[s] += coarse.x[coarse.parent[s]]
        for _ in range(schedule.sweeps):
            sweep(low, high, True, coarse)


def sweep_first(n, backward, finest, coarse):
    """Solve the equations of the first level in turn, state by state (Gauss-Seidel)."""
    x = coarse.x
    for position in range(n):
        s = n - 1 - position if backward else position
        total = coarse.right[s] + finest.diagonal_offset * x[s]
        for k in range(finest.rows[s], finest.rows[s + 1]):
            total += finest.entries[k] * x[finest.columns[k]]
        x[s] += total * finest.damping[s]


def restrict_first(high, finest, coarse):
    """Add the residuals of the first level, with weights, to the right-hand sides of their aggregates."""
    x, right = coarse.x, coarse.right
    for s in range(high):
        residual = right[s] + finest.diagonal_offset * x[s]
        for k in range(finest.rows[s], finest.rows[s + 1]):
            residual += finest.entries[k] * x[finest.columns[k]]
        right[coarse.parent[s]] += residual * finest.restriction[s]


def sweep(low, high, backward, coarse):
    """Solve the equations of the states low .. high - 1 in turn (Gauss-Seidel)."""
    x = coarse.x
    for n in range(high - low):
        s = high - 1 - n if backward else low + n
        total = coarse.right[s]
        for k in range(coarse.indptr[s], coarse.indptr[s + 1]):
            total += x[coarse.indices[k]] * coarse.values[k]
        x[s] = total * coarse.scale[s]


def restrict(low, high, coarse):
    """Add the residuals of the states low .. high - 1 to the right-hand sides of their aggregates."""
    x, right = coarse.x, coarse.right
    for s in range(low, high):
        residual = right[s] - x[s] / coarse.scale[s]
        for k in range(coarse.indptr[s], coarse.indptr[s + 1]):
            residual += x[coarse.indices[k]] * coarse.values[k]
        right[coarse.parent[s]] += residual


def sweep_first_from_zero(n, finest, coarse):
    """Solve the equations of the first level in turn, from x = 0: entries below the diagonal suffice."""
    x = coarse.x
    for s in range(n):
        total = coarse.right[s]
        for k in range(finest.rows[s], finest.middle[s]):
            total += finest.entries[k] * x[finest.columns[k]]
        x[s] = total * finest.damping[s]


def restrict_first_after_zero(n, finest, coarse):
    """Add the residuals after `sweep_first_from_zero` to the right-hand sides of the aggregates."""
    for s in range(n):
        residual = 0.0
        for k in range(finest.middle[s], finest.rows[s + 1]):
            residual += finest.entries[k] * coarse.x[finest.columns[k]]
        coarse.right[coarse.parent[s]] += residual * finest.restriction[s]


def sweep_from_zero(low, high, coarse):
    """Solve the equations of the states low .. high - 1 in turn, from x = 0: entries below the diagonal suffice."""
    x = coarse.x
    for s in range(low, high):
        total = coarse.right[s]
        for k in range(coarse.indptr[s], coarse.middles[s]):
            total += x[coarse.indices[k]] * coarse.values[k]
        x[s] = total * coarse.scale[s]


def restrict_after_zero(low, high, coarse):
    """Add the residuals after `sweep_from_zero` to the right-hand sides of the aggregates."""
    for s in range(low, high):
        residual = 0.0
        for k in range(coarse.middles[s], coarse.indptr[s + 1]):
            residual += coarse.x[coarse.indices[k]] * coarse.values[k]
        coarse.right[coarse.parent[s]] += residual


FIRST_LEVEL = sweep_first_from_zero, restrict_first_after_zero, sweep_first, restrict_first
HELPERS = *FIRST_LEVEL, sweep_from_zero, restrict_after_zero, sweep, restrict, descend, solve_coarsest, ascend
"""Functions of `markov.multigrid.cycle.w_cycle`, in the order of their definition."""


def find_upper_entries(low, high, indptr, indices, middles):
    """Write the first entry above the diagonal of each row; return whether the columns of all rows ascend."""
    ordered = True
    for s in range(low, high):
        before, place = -1, indptr[s + 1]
        for k in range(indptr[s], indptr[s + 1]):
            column = int(indices[k])
            if column <= before:
                ordered = False
            if column > s and k < place:
                place = k
            before = column
        middles[s] = place
    return ordered


def multiply(rows, columns, entries, diagonal_offset, x, product):
    """Write A x into ``product``, for A with an additional number on the diagonal."""
    for s in range(len(x)):
        total = diagonal_offset * x[s]
        for k in range(rows[s], rows[s + 1]):
            total += entries[k] * x[columns[k]]
        product[s] = total


def transpose(low, high, source, target):
    """Write the transposed entries of the states low .. high - 1 into ``target``, in rows from ``rows[low]`` on.

    ``source`` and ``target`` are rows, columns and entries; the target's rows behind the entry ``low`` are zero before.
    """
    indptr, indices, values = source
    rows, columns, entries = target
    begin = rows[low]
    for k in range(indptr[low], indptr[high]):
        rows[indices[k] + 1] += 1
    for s in range(low, high):
        rows[s + 1] += rows[s]
    for s in range(low, high):
        for k in range(indptr[s], indptr[s + 1]):
            entry = rows[indices[k]]
            rows[indices[k]] = entry + 1
            columns[entry] = s
            entries[entry] = values[k]
    for n in range(high - low):
        rows[high - n] = rows[high - n - 1]
    rows[low] = begin


def step_products(residual, change, former, weights, products):
    """Write weighted inner products of the residual, its change by a step, and its changes by former steps.

    ``products`` gets residual residual, residual change, change change, and change former for each former step.
    """
    size, along, length = 0.0, 0.0, 0.0
    for s in range(len(residual)):
        weighted = change[s] * weights[s]
        size += residual[s] * residual[s] * weights[s]
        along += residual[s] * weighted
        length += change[s] * weighted
    products[0], products[1], products[2] = size, along, length
    for i in range(len(former)):
        share, moved = 0.0, former[i]
        for s in range(len(residual)):
            share += moved[s] * change[s] * weights[s]
        products[3 + i] = share


def advance(solution, step_and_change, former, shares, length):
    """Subtract shares of former steps from a step, and add ``length`` times the step to the solution, in place.

    The solution is x and its residual; ``former`` are steps and their changes of the residual.
    """
    x, residual = solution
    step, change = step_and_change
    steps, changes = former
    for i in range(len(steps)):
        share, former, moved = shares[i], steps[i], changes[i]
        if share != 0.0:
            for s in range(len(x)):
                step[s] -= share * former[s]
                change[s] -= share * moved[s]
    for s in range(len(x)):
        x[s] += length * step[s]
        residual[s] += length * change[s]
