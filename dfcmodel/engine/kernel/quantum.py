"""Rounding to multiples of a quantum, a power of two, so that every sum of amounts is exact."""

from __future__ import annotations

from hopflow.kernels.marks import inlined

__all__ = ["TINY", "quantize"]

TINY = 1e-9
"""Packets; smaller differences are rounding errors."""


@inlined
def quantize(amount: float, quantum: float) -> float:
    """Round packets down to a multiple of ``quantum``, the smallest amount, a power of 2 in packets."""
    large = 6755399441055744.0 * quantum  # 1.5 * 2^52: the sum rounds to multiples of the quantum
    rounded = (amount + large) - large
    return rounded - quantum if rounded > amount else rounded
