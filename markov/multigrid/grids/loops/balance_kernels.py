"""The loops that compare what flows in with what flows out on the finest grid, as templates of kernels.

Tables, and the rows that a call does, as in `markov.multigrid.grids.loops.flow_kernels`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from markov.multigrid.grids.loops.rate_kernels import at_cell, at_row

__all__ = ["balance", "compare", "imbalance"]

TINY = 1e-300


def balance(
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
    special,
    one,
    x,
):
    """Return |what flows in less what flows out|, what flows out, and x, each summed."""
    off = 0.0
    flow = 0.0
    mass = 0.0
    zero = one - one
    for row in range(top, bottom):
        kind = row_kind[row]
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            s = (row * cells + starts[k]) * width
            if special[numbers[k]] > zero:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(counts, numbers[k], row, one)
            for cell in range(starts[k], ends[k]):
                at_cell(counts, numbers[k], cell, one)
                for r in range(base, base + width):
                    total = 0.0
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                    out = x[s] * exit_rate[r]
                    flow += out
                    mass += x[s]
                    off += abs(total - out)
                    s += one
    return off, flow, mass


def imbalance(
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
    one,
    bit,
    marks,
    x,
):
    """Return the largest quotient of what flows into a marked state and what flows out of it."""
    worst = 0.0
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
                    for e in range(begin[r], begin[r + one]):
                        total += x[s + step[e]] * rate[e]
                    if marks[s] & bit and total > worst * x[s] * exit_rate[r]:
                        worst = total / (x[s] * exit_rate[r])
                    s += one
    return worst


def compare(
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
    one,
    x,
    y,
    z,
):
    """Multiply residuals: of x, and of the differences of y and z to it, weighted by 1 / flow."""
    g11 = g12 = g22 = b1 = b2 = 0.0
    for row in range(top, bottom):
        kind = row_kind[row]
        s = row * cells * width
        for k in range(first[kind], first[kind + one]):
            base = numbers[k] * width
            at_row(counts, numbers[k], row, one)
            for cell in range(starts[k], ends[k]):
                at_cell(counts, numbers[k], cell, one)
                for r in range(base, base + width):
                    out = exit_rate[r]
                    rest = -x[s] * out
                    p = (x[s] - y[s]) * out
                    q = (x[s] - z[s]) * out
                    for e in range(begin[r], begin[r + one]):
                        t = s + step[e]
                        rest += x[t] * rate[e]
                        p += (y[t] - x[t]) * rate[e]
                        q += (z[t] - x[t]) * rate[e]
                    if x[s] > TINY and out > 0.0:
                        weight = 1.0 / (x[s] * out)
                        g11 += p * p * weight
                        g12 += p * q * weight
                        g22 += q * q * weight
                        b1 -= p * rest * weight
                        b2 -= q * rest * weight
                    s += one
    return g11, g12, g22, b1, b2
