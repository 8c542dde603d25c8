"""The loops over the finest grid of hitting times, as templates of kernels.

Tables as in `markov.multigrid.grids.loops.flow_kernels`, of transitions by source. ``reference`` is the state
out of which a flow ``leak`` ends. Hitting times may be in float32: what is computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from markov.multigrid.grids.loops.rate_kernels import at_cell, at_row

__all__ = ["cells_by_costs", "cost_levels", "leave_rates", "weight"]


def cost_levels(least, largest, pi, levels):
    """Set levels of costs: how often a weight, over the largest, is divided by 256, and at most 255.

    The weight of a state is its probability, and not less than ``least``.
    """
    for s in range(len(levels)):
        _, exponent = math.frexp(max(pi[s], least) / largest)
        levels[s] = min(max(-exponent, 0) // 8, 255)


def weight(x, least):
    """Return what a flow out of a state of probability x is weighted by: x, and not less than ``least``."""
    return max(x, least) if x > 0.0 else 0.0


def cells_by_costs(
    here, k, low, high, starts, numbers, cells, width, begin, step, repeats, own, one, backward, h
):
    """Solve the equations of the cells ``low`` up to ``high`` of a row and segment.

    Rates are those out of a state over their sum, ``scale`` is one over that. As much as flows out of
    the state ``reference`` to others ends there.
    """
    rate, scale, costs, levels, reference = own
    zero = one - one
    base = numbers[k] * width
    s = (here * cells + (high - one if backward else low)) * width
    for _ in range(low, high):
        for m in range(zero, width):
            r = width - one - m if backward else m
            total = costs[levels[s + r]] * scale[base + r]
            for e in range(begin[base + r], begin[base + r + one]):
                total += h[s + r + step[e]] * rate[e]
            h[s + r] = 0.5 * total if s + r == reference else total
        s = s - width if backward else s + width


def leave_rates(
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
    rate,
    counts,
    special,
    alone,
    under,
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

    They are divided by the flows out of the cells, ``below``. ``room`` is for the sums of one coarse row,
    in which a cell belongs to those from ``under`` on.
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
            for k in range(first[kind], first[kind + one]):
                base = numbers[k] * width
                s = (row * cells + starts[k]) * width
                if special[numbers[k]] > zero and row != alone:
                    unrolled()  # type: ignore[name-defined]  # noqa: F821
                    continue
                at_row(counts, numbers[k], row, one)
                for cell in range(starts[k], ends[k]):
                    at_cell(counts, numbers[k], cell, one)
                    t = under[cell]
                    for m in range(zero, width):
                        own = 1.0 * h[s]  # float64
                        total = costs[levels[s]]
                        for e in range(begin[base + m], begin[base + m + one]):
                            total += (h[s + step[e]] - own) * rate[e]
                        if s == reference:
                            total -= leak * own
                        room[t + m] += weight(pi[s], least) * total
                        s += one
        t = coarse * coarse_cells * width
        for m in range(zero, coarse_cells * width):
            right[t + m] = room[m] / below[t + m] if below[t + m] > 0.0 else 0.0
