"""The loops over the coarse grids of hitting times, as templates of kernels.

Tables as in `markov.multigrid.grids.loops.flow_kernels`, of transitions by source. ``reference`` is the cell that has the
state out of which a flow ``leak`` ends. Shares of flows, corrections and right-hand sides may be in
float32: what is computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["add", "cells_by_shares", "leave", "row_sums"]

TINY = 1e-300


def add(top, bottom, child, present, under, fine_cells, cells, width, one, coarse, h):
    """Add to each state the amount of its cell."""
    zero = one - one
    for row in range(top, bottom):
        for c in range(zero, zero + child.shape[1]):
            if not present[row, c]:
                continue
            s = child[row, c] * fine_cells * width
            for cell in range(zero, fine_cells):
                t = row * cells * width + under[cell]
                for m in range(zero, width):
                    h[s] += coarse[t + m]
                    s += one


def cells_by_shares(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, h
):
    """Solve the equations of the cells ``low`` up to ``high`` of a row and segment of a coarse grid.

    By differences: shares in float32 need not sum to one.
    """
    before, value_begin, values, right, out, reference, leak = own
    zero = one - one
    base = numbers[k] * width
    each = begin[base + width] - begin[base]
    s = (here * cells + (high - one if backward else low)) * width
    v = value_begin[here] + before[k] + ((high - one if backward else low) - starts[k]) * each
    v -= begin[base]
    for _ in range(low, high):
        for m in range(zero, width):
            r = width - one - m if backward else m
            mine = 1.0 * h[s + r]  # float64
            total = 1.0 * right[s + r]
            for e in range(begin[base + r], begin[base + r + one]):
                total += (h[s + r + step[e]] - mine) * values[v + e]
            if s + r == reference:
                total -= leak / out[s + r] * mine
            h[s + r] = mine + total
        s = s - width if backward else s + width
        v = v - each if backward else v + each


def leave(
    top,
    bottom,
    room,
    child,
    present,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    value_begin,
    values,
    under,
    coarse_cells,
    reference,
    leak,
    out,
    one,
    right,
    h,
    below,
    coarse_right,
):
    """Sum what is left of the equations over the cells of the next coarse grid, over its flows out.

    ``room`` is for the sums of one coarse row, in which a cell belongs to those from ``under`` on.
    """
    zero = one - one
    for coarse in range(top, bottom):
        for t in range(len(room)):
            room[t] = 0.0
        for c in range(zero, zero + child.shape[1]):
            if not present[coarse, c]:
                continue
            row = child[coarse, c]
            kind = row_kind[row]
            v = value_begin[row]
            s = row * cells * width
            for k in range(first[kind], first[kind + one]):
                base = numbers[k] * width
                for cell in range(starts[k], ends[k]):
                    t = under[cell]
                    for m in range(zero, width):
                        own = 1.0 * h[s]  # float64
                        total = 1.0 * right[s]
                        for e in range(begin[base + m], begin[base + m + one]):
                            total += (h[s + step[e]] - own) * values[v]
                            v += one
                        if s == reference:
                            total -= leak / out[s] * own
                        room[t + m] += out[s] * total
                        s += one
        t = coarse * coarse_cells * width
        for m in range(zero, coarse_cells * width):
            coarse_right[t + m] = room[m] / below[t + m] if below[t + m] > 0.0 else 0.0


def row_sums(
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
    value_begin,
    reference,
    leak,
    one,
    flows,
    values,
    out,
):
    """Set ``out`` to the flow out of each state, the leak included, and ``values`` to shares of it."""
    for row in range(top, bottom):
        kind = row_kind[row]
        v = value_begin[row]
        s = row * cells * width
        for k in range(first[kind], first[kind + one]):
            for _ in range(ends[k] - starts[k]):
                for r in range(numbers[k] * width, numbers[k] * width + width):
                    total = leak if s == reference else 0.0
                    for e in range(begin[r], begin[r + one]):
                        total += flows[v + e - begin[r]]
                    out[s] = total if total > TINY else 0.0
                    for _ in range(begin[r], begin[r + one]):
                        values[v] = flows[v] / total if total > TINY else 0.0
                        v += one
                    s += one
