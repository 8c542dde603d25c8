"""Arithmetic with numbers over the states of a grid, as templates of kernels.

A call does the rows of a span, which have ``row_states`` states apiece.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Shares", "blend", "invert", "multiply", "overcorrect", "reset"]

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
