"""Rows that contradict others of their table: values that fall where rate or cable grow, and copies; divisors."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable

__all__ = ["copies", "divisor_of", "equal_cables", "falling_pairs", "flat_rates", "grain_of"]

GRAINS = range(1024, 63, -1)
LEAST_WHOLE, LEAST_VALUES = 0.8, 5
"""Fraction of the different values that are multiples of a grain, and number of them, for it to be one."""
MIN_DIVIDED_VALUES = 3
"""Different values of which a common divisor of at least 64 says something: the chance of one is 1 in 8,000."""


def grain_of(table: BufferTable) -> int | None:
    """Return the largest number of bytes, 64 to 1024, of which nearly all values are multiples; None: there is none.

    It is a cell, a multiple of one, or a unit of the vendor's calculator: divisibility alone does not say which.
    """
    values = {row.xoff for row in table if row.xoff}
    if len(values) < LEAST_VALUES:
        return None
    for grain in GRAINS:
        if sum(value % grain == 0 for value in values) >= LEAST_WHOLE * len(values):
            return grain
    return None


def divisor_of(table: BufferTable) -> int | None:
    """Return the largest number of bytes of which all values are multiples; None for fewer than three different values."""
    values = {row.xoff for row in table if row.xoff}
    return math.gcd(*values) if len(values) >= MIN_DIVIDED_VALUES else None


def falling_pairs(table: BufferTable) -> list[tuple[BufferRow, BufferRow]]:
    """Return neighbours of a rate or of a cable of which the one that needs more has less, the smaller need first."""
    found = []
    for rate in table.rates:
        found += [(a, b) for a, b in pairwise(table.of_rate(rate)) if b.xoff < a.xoff]
    for cable in sorted({row.cable for row in table}):
        rows = sorted((row for row in table if row.cable == cable), key=lambda row: row.rate)
        found += [(a, b) for a, b in pairwise(rows) if b.xoff < a.xoff]
    return found


def flat_rates(table: BufferTable) -> list[float]:
    """Return the rates in b/s whose rows are equal at several cables."""
    return [
        rate
        for rate in table.rates
        if len({row.cable for row in table.of_rate(rate)}) > 1 and len({row.xoff for row in table.of_rate(rate)}) == 1
    ]


def copies(table: BufferTable) -> dict[BufferRow, float]:
    """Return rows with the value of a slower rate at the same cable, unless all cables of both rates are equal.

    The value of the dictionary is the slower rate in b/s.
    """
    found: dict[BufferRow, float] = {}
    for slow, fast in pairwise(table.rates):
        values = {row.cable: row.xoff for row in table.of_rate(slow)}
        common = [row for row in table.of_rate(fast) if row.cable in values]
        equal = [row for row in common if values[row.cable] == row.xoff]
        if len(equal) < len(common) or len(common) == 1:
            found |= dict.fromkeys(equal, slow)
    return found


def equal_cables(table: BufferTable) -> dict[BufferRow, list[float]]:
    """Return rows with the value of other cables of their rate, and these cables in m; without rates of `flat_rates`."""
    flat = set(flat_rates(table))
    found: dict[BufferRow, list[float]] = {}
    for rate in table.rates:
        rows = table.of_rate(rate)
        for row in rows if rate not in flat else ():
            others = sorted({o.cable for o in rows if o.xoff == row.xoff and o.cable != row.cable})
            if others:
                found[row] = others
    return found
