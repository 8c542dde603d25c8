"""Streams of random numbers, one per port and flow."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

__all__ = ["uniform"]


@inlined
def uniform(stream: Any, n: int) -> float:
    """Return the next random number in [0, 1) of stream n, a port's or a flow's (Marsaglia's 64-bit xorshift)."""
    x = stream[n]
    x ^= x << 13
    x ^= (x >> 7) & 0x1FFFFFFFFFFFFFF
    x ^= x << 17
    stream[n] = x
    return float((x >> 11) & 0x1FFFFFFFFFFFFF) * 1.1102230246251565e-16
