"""Arithmetic with numbers over the states of a grid, as templates of kernels.

A call does the rows of a span, which have ``row_states`` states apiece.

@@ The loops that compare what flows in with what flows out on the finest grid, as templates of kernels.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

from markov.multigrid.kernels.tables import ONE
from markov.multigrid.kernels.traversals import other_slots, slots

__all__ = ["Shares", "balance", "blend", "compare", "imbalance", "invert", "multiply", "overcorrect", "reset"]

TINY = 1e-300


def reset(span, row_states, scale, x):
    """Set ``scale`` to zero and x to one."""
    for s in range(span[0] * row_states, span[1] * row_states):
        scale[s] = 0.0
        x[s] = 1.0


def invert(span, row_states, scale):
    """Set ``scale`` to one over what it is."""
    for s in range(span[0] * row_states, span[1] * row_states):
        scale[s] = 1.0 / max(scale[s], TINY)


def overcorrect(span, row_states, x):
    """Raise x to the power 1.25."""
    for s in range(span[0] * row_states, span[1] * row_states):
        x[s] *= math.sqrt(math.sqrt(x[s]))


class Shares(NamedTuple):
    """What parts of the differences to two other vectors are added, and the least part of an entry that stays."""

    a: float
    b: float
    minimum: float


def blend(span, row_states, shares, x, y, z):
    """Set x to x + a (y - x) + b (z - x), at least ``minimum`` times what it was; z to x, as it was."""
    a, b, minimum = shares
    for s in range(span[0] * row_states, span[1] * row_states):
        before = x[s]
        better = before + a * (y[s] - before) + b * (z[s] - before)
        x[s] = max(better, minimum * before)
        z[s] = before


def multiply(span, row_states, factor, x):
    """Multiply x by a number."""
    for s in range(span[0] * row_states, span[1] * row_states):
        x[s] *= factor


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
