"""The loops over the finest grid of hitting times, as templates of kernels.

Tables as in `markov.stencils.kernels`, of transitions by source. ``reference`` is the state out of which a
flow ``leak`` ends. Hitting times may be in float32: what is computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

__all__ = ["cost_levels", "leave_rates", "relax_rates", "weigh_rates"]


def cost_levels(least, largest, pi, levels):
    """Set levels of costs: how often a weight, over the largest, is divided by 256, and at most 255.

    The weight of a state is its probability, and not less than ``least``.
    """
    for s in range(len(levels)):
        _, exponent = math.frexp(max(pi[s], least) / largest)
        levels[s] = min(max(-exponent, 0) // 8, 255)


def weigh_rates(
    child,
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
                        q = child[row, line[p]] * fine_cells + cell * last + place[p]
                        q = q * width + slot[p]
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
                for m in range(zero, width):
                    r = base + m
                    own = 1.0 * h[s]  # float64
                    total = costs[levels[s]]
                    for e in range(begin[r], begin[r + one]):
                        total += (h[s + step[e]] - own) * rate[e]
                    if s == reference:
                        total -= leak * own
                    if pi[s] > 0.0 and below[t + m] > 0.0:
                        right[t + m] += max(pi[s], least) / below[t + m] * total
                    s += one
