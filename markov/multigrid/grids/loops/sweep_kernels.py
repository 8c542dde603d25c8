"""Gauss-Seidel sweeps over the cells of a grid, as templates of kernels.

Tables as in `markov.multigrid.grids.loops.flow_kernels`; a call sweeps the rows from ``top`` up to ``bottom``. The finest grid and coarse ones share the order of a sweep; what
differs is where rates come from. ``own`` is what a grid has for that: rates of the entries of a kind, and
what always flows into its slots, on the finest; on a coarse one how many flows a row has before each segment,
where the flows of each row begin, the flows, the scale of each state, and what always flows into the slots.

Where statements are spliced in, ``together`` rows of one kind are swept side by side, so that no sum
waits for the one before it. Each row is ``lag`` cells ahead of the next, so far that what those cells
read is what it would be if one row were swept after another; before and after the middle of a segment
each row goes as far as its turn is. Only transitions that are not written out, and lead to a near row
by more cells (where states are moved along an axis), may find a neighbour swept earlier or later.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["cells_by_flows", "cells_by_rates", "sweep"]


def rows_alike(rows, row_kind, alone, together, n, row, one, backward):
    """Return how many rows from the one of number n on are swept side by side: ``together``, or one."""
    group = one
    while group < together and n + group < rows:
        other = row - group if backward else row + group
        if row_kind[other] != row_kind[row] or other == alone or row == alone:
            return one
        group += one
    return group if group == together else one


def cells_by_rates(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, x
):
    """Sweep the cells ``low`` up to ``high`` of a row and segment.

    Rates, and what always flows in, are those into a state over the rate out of it.
    """
    rate, source = own
    zero = one - one
    base = numbers[k] * width
    s = (here * cells + (high - one if backward else low)) * width
    for _ in range(low, high):
        for turn in range(zero, repeats[numbers[k]]):
            for m in range(zero, width):
                r = width - one - m if backward and turn == zero else m
                total = 0.0
                for e in range(begin[base + r], begin[base + r + one]):
                    total += x[s + r + step[e]] * rate[e]
                x[s + r] = total + source[base + r]
        s = s - width if backward else s + width


def cells_by_flows(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, x
):
    """Sweep the cells ``low`` up to ``high`` of a row and segment, which have flows of their own."""
    before, value_begin, values, scale, source = own
    zero = one - one
    base = numbers[k] * width
    each = begin[base + width] - begin[base]
    s = (here * cells + (high - one if backward else low)) * width
    v = value_begin[here] + before[k] + ((high - one if backward else low) - starts[k]) * each
    v -= begin[base]
    for _ in range(low, high):
        for turn in range(zero, repeats[numbers[k]]):
            for m in range(zero, width):
                r = width - one - m if backward and turn == zero else m
                total = 0.0
                for e in range(begin[base + r], begin[base + r + one]):
                    total += x[s + r + step[e]] * values[v + e]
                x[s + r] = (total + source[base + r]) * scale[s + r]
        s = s - width if backward else s + width
        v = v - each if backward else v + each


def sweep(
    top,
    bottom,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    repeats,
    special,
    alone,
    own,
    together,
    lag,
    one,
    backward,
    x,
):
    """Solve the equation of each state of some rows in turn; ``special`` cells as spliced in.

    But for those of the row ``alone``.
    """
    zero = one - one
    rows = bottom - top
    n = zero
    while n < rows:
        row = bottom - one - n if backward else top + n
        kind = row_kind[row]
        group = rows_alike(rows, row_kind, alone, together, n, row, one, backward)
        n += group
        count = first[kind + one] - first[kind]
        begun = zero
        middle = False
        while begun < count:
            until = begun + one if middle else begun
            while until < count:  # on to a segment that has a middle
                k = first[kind] + (count - one - until if backward else until)
                if group > one and special[numbers[k]] > zero and ends[k] - starts[k] > lag * group:
                    break
                until += one
            for g in range(zero, group):
                here = row - g if backward else row + g
                for i in range(begun, min(until + one, count)):
                    k = first[kind] + (count - one - i if backward else i)
                    low = starts[k]
                    high = ends[k]
                    if middle and i == begun:
                        low, high = (low, low + lag * g) if backward else (high - lag * g, high)
                    if i == until:
                        m = lag * (group - one - g)
                        low, high = (high - m, high) if backward else (low, low + m)
                    base = numbers[k] * width
                    if special[numbers[k]] > zero and row != alone:
                        unrolled(here, base)  # type: ignore[name-defined]  # noqa: F821
                    else:
                        one_by_one(here, low, high)  # type: ignore[name-defined]  # noqa: F821
            if until < count:
                k = first[kind] + (count - one - until if backward else until)
                base = numbers[k] * width
                side_by_side(base)  # type: ignore[name-defined]  # noqa: F821
            begun = until
            middle = True
