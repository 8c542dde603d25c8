"""The loops over the coarse grids of hitting times, as templates of kernels.

Tables as in `markov.stencils.kernels`, of transitions by source. ``reference`` is the cell that has the
state out of which a flow ``leak`` ends. Shares of flows, corrections and right-hand sides may be in
float32: what is computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["add", "leave", "relax", "row_sums"]

TINY = 1e-300


def add(rows, cells, width, parent, parent_cell, coarse_cells, one, coarse, h):
    """Add to each state the amount of its cell."""
    zero = one - one
    s = zero
    for row in range(zero, zero + rows):
        for cell in range(zero, cells):
            t = (parent[row] * coarse_cells + parent_cell[cell]) * width
            for m in range(zero, width):
                h[s] += coarse[t + m]
                s += one


def relax(
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
    reference,
    leak,
    out,
    one,
    backward,
    right,
    h,
):
    """Solve the equation of each state of a coarse grid in turn.

    By differences: shares in float32 need not sum to one.
    """
    zero = one - one
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
        v = value_begin[row + one] if backward else value_begin[row]
        for i in range(first[kind], first[kind + one]):
            k = first[kind + one] - one - (i - first[kind]) if backward else i
            base = numbers[k] * width
            s = (row * cells + (ends[k] if backward else starts[k])) * width
            for _ in range(ends[k] - starts[k]):
                for m in range(zero, width):
                    r = base + m
                    if backward:
                        r = base + width - one - m
                        s -= one
                        v -= begin[r + one] - begin[r]
                    own = 1.0 * h[s]  # float64
                    total = 1.0 * right[s]
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - own) * values[v + e - begin[r]]
                    if s == reference:
                        total -= leak / out[s] * own
                    h[s] = own + total
                    if not backward:
                        v += begin[r + one] - begin[r]
                        s += one


def leave(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    values,
    parent,
    parent_cell,
    coarse_cells,
    reference,
    leak,
    out,
    one,
    right,
    h,
    below,
    coarse,
):
    """Sum what is left of the equations over the cells of the next coarse grid, over its flows out."""
    for t in range(len(coarse)):
        coarse[t] = 0.0
    zero = one - one
    s = zero
    v = zero
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for cell in range(starts[k], ends[k]):
                t = (parent[row] * coarse_cells + parent_cell[cell]) * width
                for m in range(zero, width):
                    r = base + m
                    own = 1.0 * h[s]  # float64
                    total = 1.0 * right[s]
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - own) * values[v]
                        v += one
                    if s == reference:
                        total -= leak / out[s] * own
                    if below[t + m] > 0.0:
                        coarse[t + m] += out[s] / below[t + m] * total
                    s += one


def row_sums(
    row_kind, first, starts, ends, numbers, width, begin, reference, leak, one, flows, values, out
):
    """Set ``out`` to the flow out of each state, the leak included, and ``values`` to shares of it."""
    s = one - one
    v = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
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
