"""The loops that compare what flows in with what flows out on the finest grid, as templates of kernels."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from markov.multigrid.grids.loops.tables import ONE
from markov.multigrid.grids.loops.traversals import other_slots, slots

__all__ = ["balance", "compare", "imbalance"]

UNDERFLOW_GUARD = 1e-300


def balance(span, grid, frequent, rates, x):
    """Return |what flows in less what flows out|, what flows out, and x, each summed."""
    counts = rates.counts
    off = 0.0
    flow = 0.0
    mass = 0.0
    for s, r in other_slots(span, grid, frequent, counts):
        total = 0.0
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            total += x[s + grid.step[e]] * rates.rate[e]
        out = x[s] * rates.exit_rate[r]
        flow += out
        mass += x[s]
        off += abs(total - out)
    return off, flow, mass


def imbalance(span, grid, rates, marked, x):
    """Return the largest quotient of what flows into a marked state and what flows out of it."""
    counts = rates.counts
    largest = 0.0
    for s, r in slots(span, grid, counts):
        total = 0.0
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            total += x[s + grid.step[e]] * rates.rate[e]
        if marked.marks[s] & marked.bit and total > largest * x[s] * rates.exit_rate[r]:
            largest = total / (x[s] * rates.exit_rate[r])
    return largest


def compare(span, grid, rates, x, y, z):
    """Multiply residuals: of x, and of the differences of y and z to it, weighted by 1 / flow."""
    counts = rates.counts
    g11 = g12 = g22 = b1 = b2 = 0.0
    for s, r in slots(span, grid, counts):
        out = rates.exit_rate[r]
        residual = -x[s] * out
        p = (x[s] - y[s]) * out
        q = (x[s] - z[s]) * out
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            t = s + grid.step[e]
            residual += x[t] * rates.rate[e]
            p += (y[t] - x[t]) * rates.rate[e]
            q += (z[t] - x[t]) * rates.rate[e]
        if x[s] > UNDERFLOW_GUARD and out > 0.0:
            weight = 1.0 / (x[s] * out)
            g11 += p * p * weight
            g12 += p * q * weight
            g22 += q * q * weight
            b1 -= p * residual * weight
            b2 -= q * residual * weight
    return g11, g12, g22, b1, b2
