"""The loops of a bound on a grid, as templates of kernels: hitting times by multigrid, and their check.

Tables as in `markov.stencils.kernels`, of transitions by source. ``reference`` is a state, or the cell
that has it, out of which a flow ``leak`` ends. Hitting times of the states may be in float32: what is
computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

__all__ = [
    "add",
    "cost_levels",
    "drift",
    "leave",
    "leave_rates",
    "misfit",
    "relax",
    "relax_rates",
    "row_sums",
    "weigh_rates",
]

U = 1.1102230246251565e-16
TINY = 1e-300


def cost_levels(row_of, cell_of, cells, width, least, largest, one, pi, levels):
    """Set levels of costs: how often a weight, over the largest, is divided by 256, and at most 255.

    The weight of a state is its probability, or that of a state far out in a tail (`markov.stencils.
    continuation`) in the row and cell that ``row_of`` and ``cell_of`` say; not less than ``least``.
    """
    zero = one - one
    s = zero
    for row in range(zero, zero + len(row_of)):
        for cell in range(zero, cells):
            q = (row_of[row] * cells + cell_of[cell]) * width
            for m in range(zero, width):
                _, exponent = math.frexp(max(pi[q + m], least) / largest)
                levels[s] = min(max(-exponent, 0) // 8, 255)
                s += one


def weigh_rates(
    child,
    row_of,
    cell_of,
    width,
    last,
    fine_cells,
    row_kind,
    first,
    starts,
    ends,
    numbers,
    begins,
    part_begin,
    line,
    place,
    slot,
    rate,
    least,
    one,
    pi,
    values,
):
    """Sum the flows out of the states of the first coarse grid's cells, by their weights.

    Part p is a flow at ``rate`` out of the state ``slot[p]`` of the cell ``place[p]`` of those in the
    row ``line[p]`` that make up the coarse cell.
    """
    zero = one - one
    v = zero
    for row in range(zero, zero + len(row_kind)):
        for i in range(first[row_kind[row]], first[row_kind[row] + one]):
            kind = numbers[i]
            for cell in range(starts[i], ends[i]):
                for e in range(begins[kind], begins[kind + one]):
                    total = 0.0
                    for p in range(part_begin[e], part_begin[e + one]):
                        q = row_of[child[row, line[p]]] * fine_cells
                        q = (q + cell_of[cell * last + place[p]]) * width + slot[p]
                        weight = max(pi[q], least) if pi[q] > 0.0 else 0.0
                        total += weight * rate[p]
                    values[v] = total
                    v += one


def relax_rates(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    rate,
    scale,
    reference,
    leaking,
    one,
    backward,
    costs,
    levels,
    h,
):
    """Solve the equation of each state in turn (Gauss-Seidel); ``leaking`` is the reference's scale."""
    zero = one - one
    for n in range(zero, zero + len(row_kind)):
        row = zero + len(row_kind) - one - n if backward else n
        kind = row_kind[row]
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
                    total = costs[levels[s]]
                    for e in range(begin[r], begin[r + one]):
                        total += h[s + step[e]] * rate[e]
                    h[s] = total * (leaking if s == reference else scale[r])
                    if not backward:
                        s += one


def leave_rates(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    cells,
    width,
    begin,
    step,
    rate,
    parent,
    parent_cell,
    coarse_cells,
    reference,
    leak,
    row_of,
    cell_of,
    least,
    one,
    pi,
    costs,
    levels,
    h,
    below,
    right,
):
    """Sum what is left of the equations over the cells of the first coarse grid, by their weights.

    They are divided by the flows out of the cells, ``below``.
    """
    for t in range(len(right)):
        right[t] = 0.0
    zero = one - one
    for row in range(zero, zero + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            s = (row * cells + starts[k]) * width
            for cell in range(starts[k], ends[k]):
                t = (parent[row] * coarse_cells + parent_cell[cell]) * width
                q = (row_of[row] * cells + cell_of[cell]) * width
                for m in range(zero, width):
                    r = base + m
                    own = 1.0 * h[s]  # float64
                    total = costs[levels[s]]
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - own) * rate[e]
                    if s == reference:
                        total -= leak * own
                    if pi[q + m] > 0.0 and below[t + m] > 0.0:
                        right[t + m] += max(pi[q + m], least) / below[t + m] * total
                    s += one


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


def drift(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    rate,
    reference,
    one,
    bit,
    marks,
    h,
):
    """Return the largest (Q h)(s), rounded up, of the marked states but the reference."""
    worst = -1e308
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    size = 0.0
                    count = 4.0
                    own = 1.0 * h[s]  # float64: a difference of float32 would be rounded to it
                    for e in range(begin[r], begin[r + one]):
                        term = (h[s + step[e]] - own) * rate[e]
                        total += term
                        size += abs(term)
                        count += 1.0
                    if marks[s] & bit and s != reference:
                        upper = total + 1.1 * count * U * size
                        if not upper <= worst:
                            worst = upper
                    s += one
    return worst


def misfit(
    row_kind,
    first,
    starts,
    ends,
    numbers,
    width,
    begin,
    step,
    rate,
    exit_rate,
    least,
    one,
    bit,
    marks,
    h,
    x,
):
    """Return the sum of |(x Q)(s)| (h(s) - least), rounded up, and the sum of x, over marked states.

    Transitions are those into each state. The sum of x is compensated (Neumaier).
    """
    off = 0.0
    mass = 0.0
    low = 0.0
    s = one - one
    for row in range(s, s + len(row_kind)):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = 0.0
                    count = 6.0
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                        count += 1.0
                    out = x[s] * exit_rate[r]
                    error = 1.1 * count * U * (total + out)
                    if marks[s] & bit:
                        off += (abs(total - out) + error) * max(h[s] - least, 0.0)
                        new = mass + x[s]
                        if mass >= x[s]:
                            low += (mass - new) + x[s]
                        else:
                            low += (x[s] - new) + mass
                        mass = new
                    s += one
    return off, mass, low
