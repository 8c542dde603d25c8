"""Units at the edge: inside hopflow everything is in seconds, packets and packets per second.

Each function takes a number or an array and returns the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hopflow.checks import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])

__all__ = ["gbps", "mbps", "ms", "to_mbps", "us"]

PACKET_SIZE = 1500
"""Bytes of a packet on the wire where nothing else is said."""


def mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Mb/s (10^6 bits per second) to packets/s for packets of ``packet_size`` bytes.

    >>> mbps(370)
    30833.333333333332
    """
    number("rate", rate, at_least=0.0)
    number("packet_size", packet_size, above=0.0)
    return rate * 1e6 / (8.0 * packet_size)


def gbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert Gb/s to packets/s; see `mbps`."""
    number("rate", rate, at_least=0.0)
    return mbps(1000.0 * rate, packet_size)


def to_mbps(rate: Number, packet_size: float = PACKET_SIZE) -> Number:
    """Convert packets/s to Mb/s; the inverse of `mbps`."""
    number("rate", rate, at_least=0.0)
    number("packet_size", packet_size, above=0.0)
    return rate * 8.0 * packet_size / 1e6


def ms(time: Number) -> Number:
    """Convert milliseconds to seconds."""
    number("time", time, at_least=0.0)
    return time * 1e-3


def us(time: Number) -> Number:
    """Convert microseconds to seconds."""
    number("time", time, at_least=0.0)
    return time * 1e-6
