"""The loops that check hitting times on a grid, and weigh a residual by them, as templates of kernels.

Tables as in `markov.multigrid.grids.loops.flow_kernels`, of transitions by source for the drift, by target for the misfit.
Hitting times may be in float32: what is computed from them is in float64, with its rounding errors.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from markov.computing.double_double_kernels import two_product, two_sum
from markov.multigrid.grids.loops.rate_kernels import at_cell, at_row

__all__ = ["ROUNDINGS", "U", "drift", "misfit", "misfit_exactly", "raise_failing"]

ROUNDINGS = 4  # of a drift, beside one for each transition

U = 1.1102230246251565e-16

TINY = 1e-300
"""More than rounding takes from products that underflow: of numbers from 1e-280 on, in their last digits only."""


def drift(
    top,
    bottom,
    failing,
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
    reference,
    limit,
    one,
    bit,
    marks,
    h,
):
    """Return the largest (Q h)(s), rounded up, of the marked states but the reference.

    It is not a number where one of them is not. Also returned is in how many of them it is above ``limit``;
    ``failing`` are the first of these, as many as it has room for.
    """
    worst = -1e308
    found = one - one
    check = 0.0
    zero = one - one
    for row in range(top, bottom):
        kind = row_kind[row]
        s = row * cells * width
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            if special[numbers[k]] > zero and row != alone:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(counts, numbers[k], row, one)
            for cell in range(starts[k], ends[k]):
                at_cell(counts, numbers[k], cell, one)
                for r in range(base, base + width):
                    total = 0.0
                    size = 0.0
                    count = 1.0 * ROUNDINGS
                    own = 1.0 * h[s]  # float64: a difference of float32 would be rounded to it
                    for e in range(begin[r], begin[r + one]):
                        term = (h[s + step[e]] - own) * rate[e]
                        total += term
                        size += abs(term)
                        count += 1.0
                    if marks[s] & bit and s != reference:
                        upper = total + 1.1 * count * U * size
                        check += upper
                        worst = max(worst, upper)
                        if not upper <= limit:
                            if found < len(failing):
                                failing[found] = s
                            found += one
                    s += one
    return check if math.isnan(check) else worst, found


def misfit(
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
    rate,
    exit_rate,
    counts,
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
    for row in range(top, bottom):
        kind = row_kind[row]
        s = row * cells * width
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            at_row(counts, numbers[k], row, one)
            for cell in range(starts[k], ends[k]):
                at_cell(counts, numbers[k], cell, one)
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


def misfit_exactly(
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
    rate,
    exit_rate,
    exit_rest,
    least,
    one,
    bit,
    marks,
    h,
    x,
):
    """Return the first sum of `misfit` with each (x Q)(s) in double-double.

    What rounding takes from products and sums is added up beside them; what it takes from that is in the bound.
    """
    off = 0.0
    for row in range(top, bottom):
        kind = row_kind[row]
        s = row * cells * width
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            for _ in range(ends[k] - starts[k]):
                for r in range(base, base + width):
                    total = -x[s] * exit_rate[r]
                    lost = two_product(-x[s], exit_rate[r])
                    more = x[s] * exit_rest[r]
                    rest = lost - more
                    size = abs(lost) + abs(more)
                    count = 6.0
                    for e in range(begin[r], begin[r + one]):
                        flow = x[s + step[e]] * rate[e]
                        lost = two_product(x[s + step[e]], rate[e])
                        more = two_sum(total, flow)
                        total += flow
                        rest += lost + more
                        size += abs(lost) + abs(more)
                        count += 2.0
                    if marks[s] & bit:
                        own = abs(total + rest)
                        error = 1.1 * U * (own + count * size) + TINY
                        off += (own + error) * max(h[s] - least, 0.0)
                    s += one
    return off


def raise_failing(
    queue,
    count,
    size,
    full,
    most,
    row_kind,
    rows,
    cells,
    width,
    begin,
    step,
    rate,
    exit_rate,
    counts,
    row_kind_into,
    rows_into,
    begin_into,
    step_into,
    limit,
    aim,
    reference,
    one,
    bit,
    queued,
    costs,
    levels,
    marks,
    h,
):
    """Raise h until (Q h)(s) <= ``limit`` in the states that are queued, and in those that lead to raised ones.

    Return how many states were left in the queue.

    Raising h in a state lowers Q h there and raises it only in states with a transition into it: these are
    queued then. It stops after ``most`` states, or where
    the queue, a ring of the size ``size``, has ``full`` states or more. States are raised to a
    drift of ``aim`` times their costs.
    """
    zero = one - one
    head = zero
    done = zero
    for n in range(zero, count):
        marks[queue[n]] |= queued
    while count > zero and done < most and count < full:
        s = queue[head]
        head = head + one if head + one < size else zero
        count -= one
        done += one
        marks[s] ^= queued
        cell = s // width
        row = cell // cells
        slot = s - cell * width
        cell -= row * cells
        kind = rows[row_kind[row], cell]
        at_row(counts, kind, row, one)
        at_cell(counts, kind, cell, one)
        r = kind * width + slot
        own = 1.0 * h[s]  # float64
        total = 0.0
        above = 1.0 * ROUNDINGS
        amount = 0.0
        for e in range(begin[r], begin[r + one]):
            term = (h[s + step[e]] - own) * rate[e]
            total += term
            amount += abs(term)
            above += 1.0
        total += 1.1 * above * U * amount
        if total <= limit:
            continue
        # more than the rounding of float32, so that no state is raised for ever by nothing
        h[s] = max(own + (total + aim * costs[levels[s]]) / exit_rate[r], own * (1.0 + 2e-7))
        r = rows_into[row_kind_into[row], cell] * width + slot
        for e in range(begin_into[r], begin_into[r + one]):
            t = s + step_into[e]
            if marks[t] & bit and t != reference and not marks[t] & queued:
                marks[t] |= queued
                last = head + count
                queue[last if last < size else last - size] = t
                count += one
    for n in range(zero, count):
        last = head + n
        marks[queue[last if last < size else last - size]] ^= queued
    return count
