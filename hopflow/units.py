"""Units at the edge: inside hopflow everything is in seconds, packets and packets per second."""

from __future__ import annotations

from hopflow.checks import number

__all__ = ["gbps", "mbps", "ms", "to_mbps", "us"]

PACKET_SIZE = 1500
"""Bytes of a packet on the wire where nothing else is said."""


def mbps(rate: float, packet_size: float = PACKET_SIZE) -> float:
    """Convert Mb/s (10^6 bits per second) to packets/s for packets of ``packet_size`` bytes.

    >>> mbps(370)
    30833.333333333332
    """
    number("rate", rate, at_least=0.0)
    number("packet_size", packet_size, above=0.0)
    return rate * 1e6 / (8.0 * packet_size)


def gbps(rate: float, packet_size: float = PACKET_SIZE) -> float:
    """Convert Gb/s to packets/s; see `mbps`."""
    return mbps(1000.0 * rate, packet_size)


def to_mbps(rate: float, packet_size: float = PACKET_SIZE) -> float:
    """Convert packets/s to Mb/s; the inverse of `mbps`."""
    return rate * 8.0 * packet_size / 1e6


def ms(time: float) -> float:
    """Convert milliseconds to seconds."""
    return time * 1e-3


def us(time: float) -> float:
    """Convert microseconds to seconds."""
    return time * 1e-6
