"""Rows that contradict others of their table: values that fall with rate or cable, and copies; divisors."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable

__all__ = ["copies", "divisor_of", "equal_cables", "falling_pairs", "flat_rates", "grain_of", "unit_of"]

GRAINS = range(1024, 63, -1)
MIN_MULTIPLE_FRACTION = 0.8
"""Minimum fraction of the values that are multiples of a grain or cell."""
MIN_GRAIN_VALUES = 5
"""Minimum number of distinct values for a grain."""
MIN_DIVIDED_VALUES = 3
"""Minimum number of distinct values for a divisor: by chance a divisor of at least 64 occurs in 1 of 8,000 cases."""


def grain_of(table: BufferTable) -> int | None:
    """Return the largest number of bytes, 64 to 1024, that divides 80 % of the values; None without one.

    It is a cell, a multiple of a cell, or a unit of the vendor's calculator; divisibility does not determine which.
    """
    values = {row.xoff for row in table if row.xoff}
    if len(values) < MIN_GRAIN_VALUES:
        return None
    for grain in GRAINS:
        if sum(value % grain == 0 for value in values) >= MIN_MULTIPLE_FRACTION * len(values):
            return grain
    return None


def divisor_of(table: BufferTable) -> int | None:
    """Return the greatest common divisor of all values in bytes; None for fewer than three distinct values."""
    values = {row.xoff for row in table if row.xoff}
    return math.gcd(*values) if len(values) >= MIN_DIVIDED_VALUES else None


def unit_of(table: BufferTable) -> int | None:
    """Return the bytes to a multiple of which the values of a table are rounded, `grain_of` or more; None if unknown.

    A divisor of all values above 1024 bytes is no cell, but the unit of a calculator, such as 4096.
    """
    grain = grain_of(table)
    return None if grain is None else max(grain, divisor_of(table) or 0)


def falling_pairs(table: BufferTable) -> list[tuple[BufferRow, BufferRow]]:
    """Return pairs (a, b) of neighbouring rows where b has less xoff, although its cable or rate is larger."""
    pairs = []
    for rate in table.rates:
        pairs += [(a, b) for a, b in pairwise(table.of_rate(rate)) if b.xoff < a.xoff]
    for cable in sorted({row.cable for row in table}):
        rows = sorted((row for row in table if row.cable == cable), key=lambda row: row.rate)
        pairs += [(a, b) for a, b in pairwise(rows) if b.xoff < a.xoff]
    return pairs


def flat_rates(table: BufferTable) -> list[float]:
    """Return the rates in b/s that have several cables and the same value at all of them."""
    return [
        rate
        for rate in table.rates
        if len({row.cable for row in table.of_rate(rate)}) > 1 and len({row.xoff for row in table.of_rate(rate)}) == 1
    ]


def copies(table: BufferTable) -> dict[BufferRow, float]:
    """Return {row: next slower rate, b/s} of rows with its value at their cable; none if all cables' values are equal.

    Rates whose values agree at all cables, of which there are at least two, are omitted.
    """
    slower_rates: dict[BufferRow, float] = {}
    for slow, fast in pairwise(table.rates):
        values = {row.cable: row.xoff for row in table.of_rate(slow)}
        common = [row for row in table.of_rate(fast) if row.cable in values]
        equal = [row for row in common if values[row.cable] == row.xoff]
        if len(equal) < len(common) or len(common) == 1:
            slower_rates |= dict.fromkeys(equal, slow)
    return slower_rates


def equal_cables(table: BufferTable) -> dict[BufferRow, list[float]]:
    """Return rows with the value of other cables of their rate, each with these cables in m; no `flat_rates`."""
    flat = set(flat_rates(table))
    cables: dict[BufferRow, list[float]] = {}
    for rate in table.rates:
        rows = table.of_rate(rate)
        for row in rows if rate not in flat else ():
            others = sorted({o.cable for o in rows if o.xoff == row.xoff and o.cable != row.cable})
            if others:
                cables[row] = others
    return cables
