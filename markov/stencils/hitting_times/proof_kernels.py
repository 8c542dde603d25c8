"""The loops that check hitting times on a grid, and weigh a residual by them, as templates of kernels.

Tables as in `markov.stencils.loops.flow_kernels`, of transitions by source for the drift, by target for the misfit.
Hitting times may be in float32: what is computed from them is in float64, with its rounding errors.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

__all__ = ["ROUNDINGS", "U", "drift", "misfit"]

ROUNDINGS = 4  # of a drift, beside one for each transition

U = 1.1102230246251565e-16


def drift(
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
    special,
    alone,
    reference,
    one,
    bit,
    marks,
    h,
):
    """Return the largest (Q h)(s), rounded up, of the marked states but the reference.

    It is not a number where one of them is not.
    """
    worst = -1e308
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
            for _ in range(zero, ends[k] - starts[k]):
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
                    s += one
    return check if math.isnan(check) else worst


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
