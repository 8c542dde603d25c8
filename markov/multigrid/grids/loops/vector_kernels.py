"""Arithmetic with numbers over the states of a grid, as templates of kernels.

A call does the rows of a span, which have ``each`` states apiece.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Shares", "begin_anew", "blend", "invert", "multiply", "overcorrect"]

TINY = 1e-300


def begin_anew(span, each, scale, x):
    """Set ``scale`` to zero and x to one."""
    for s in range(span[0] * each, span[1] * each):
        scale[s] = 0.0
        x[s] = 1.0


def invert(span, each, scale):
    """Set ``scale`` to one over what it is."""
    for s in range(span[0] * each, span[1] * each):
        scale[s] = 1.0 / max(scale[s], TINY)


def overcorrect(span, each, x):
    """Raise x to the power 1.25."""
    for s in range(span[0] * each, span[1] * each):
        x[s] *= math.sqrt(math.sqrt(x[s]))


class Shares(NamedTuple):
    """What parts of the differences to two other vectors are added, and the least part of an entry that stays."""

    a: float
    b: float
    least: float


def blend(span, each, shares, x, y, z):
    """Set x to x + a (y - x) + b (z - x), at least ``least`` times what it was; z to x, as it was."""
    a, b, least = shares
    for s in range(span[0] * each, span[1] * each):
        before = x[s]
        better = before + a * (y[s] - before) + b * (z[s] - before)
        x[s] = max(better, least * before)
        z[s] = before


def multiply(span, each, factor, x):
    """Multiply x by a number."""
    for s in range(span[0] * each, span[1] * each):
        x[s] *= factor
