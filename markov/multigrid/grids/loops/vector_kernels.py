"""Arithmetic with numbers over the states of a grid, as templates of kernels.

A call does the rows from ``top`` up to ``bottom``, which have ``each`` states apiece.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

__all__ = ["begin_anew", "blend", "invert", "multiply", "overcorrect"]

TINY = 1e-300


def begin_anew(top, bottom, each, scale, x):
    """Set ``scale`` to zero and x to one."""
    for s in range(top * each, bottom * each):
        scale[s] = 0.0
        x[s] = 1.0


def invert(top, bottom, each, scale):
    """Set ``scale`` to one over what it is."""
    for s in range(top * each, bottom * each):
        scale[s] = 1.0 / max(scale[s], TINY)


def overcorrect(top, bottom, each, x):
    """Raise x to the power 1.25."""
    for s in range(top * each, bottom * each):
        x[s] *= math.sqrt(math.sqrt(x[s]))


def blend(top, bottom, each, a, b, least, x, y, z):
    """Set x to x + a (y - x) + b (z - x), at least ``least`` times what it was; z to x, as it was."""
    for s in range(top * each, bottom * each):
        before = x[s]
        better = before + a * (y[s] - before) + b * (z[s] - before)
        x[s] = max(better, least * before)
        z[s] = before


def multiply(top, bottom, each, factor, x):
    """Multiply x by a number."""
    for s in range(top * each, bottom * each):
        x[s] *= factor
