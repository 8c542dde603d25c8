"""Kernels for vectors over the states of a grid: arithmetic, and the balance of flows on the finest grid.

A call processes the rows of a span, with ``row_states`` states each.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

from markov.multigrid.kernels.tables import ONE
from markov.multigrid.kernels.traversals import other_slots, slots

__all__ = [
    "Shares",
    "balance",
    "blend",
    "compare",
    "imbalance",
    "invert_scale",
    "multiply",
    "overcorrect",
    "reset_factors",
]

TINY = 1e-300


def reset_factors(span, row_states, scale, x):
    """Set ``scale`` to zero and x to one in the states of a span of rows."""
    for s in range(span[0] * row_states, span[1] * row_states):
        scale[s] = 0.0
        x[s] = 1.0


def invert_scale(span, row_states, scale):
    """Replace each number of ``scale`` by one over it, in the states of a span of rows."""
    for s in range(span[0] * row_states, span[1] * row_states):
        scale[s] = 1.0 / max(scale[s], TINY)


def overcorrect(span, row_states, x):
    """Raise x to the power 1.25 in the states of a span of rows."""
    for s in range(span[0] * row_states, span[1] * row_states):
        x[s] *= math.sqrt(math.sqrt(x[s]))


class Shares(NamedTuple):
    """Shares of the differences to two other vectors in a combination, and the minimum of an entry."""

    a: float
    b: float
    minimum: float


def blend(span, row_states, shares, x, y, z):
    """Set x to x + a (y - x) + b (z - x), at least ``minimum`` times its old value, and z to the old x."""
    a, b, minimum = shares
    for s in range(span[0] * row_states, span[1] * row_states):
        before = x[s]
        better = before + a * (y[s] - before) + b * (z[s] - before)
        x[s] = max(better, minimum * before)
        z[s] = before


def multiply(span, row_states, factor, x):
    """Multiply x by a factor in the states of a span of rows."""
    for s in range(span[0] * row_states, span[1] * row_states):
        x[s] *= factor


UNDERFLOW_GUARD = 1e-300


def balance(span, grid, frequent, rates, x):
    """Return the sums of |inflow - outflow|, of outflow and of x over the states of a span of rows."""
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
    """Return the maximum of inflow / outflow over the marked states of a span of rows."""
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
    """Return the scalar products of the residuals of x, y - x and z - x, weighted by 1 / outflow."""
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
