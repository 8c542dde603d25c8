"""Checks of the arguments of responses: loss event rates, round-trip times, rates and capacities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import flag, number, one_number
from hopflow.units import WithUnit, in_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Bandwidth = WithUnit | None
    """Capacity in packets/s, or a string such as ``"100Mbps"``; None: a path that never queues."""
    Rates = float | NDArray[np.float64]
    """A float for numbers, otherwise an array of the shape in which the arguments broadcast."""

__all__ = [
    "LARGEST_RATE",
    "LONGEST_RTT",
    "PIECE",
    "LossRates",
    "capacity",
    "extremes",
    "loss_range",
    "loss_rate",
    "packet_rate",
    "plain",
    "round_trip",
    "same_shape",
    "spread",
]  # fmt: skip

LONGEST_RTT = 5.0
"""Round-trip times from here on, in s, are taken for milliseconds."""
SHORTEST_RTT = 1e-30
"""The powers of shorter ones, in s, are no numbers in double precision."""
LARGEST_RATE = 1e7
"""Larger rates, in packets/s, are taken for bit/s: 120 Gb/s in packets of 1500 bytes."""
PIECE = 131072
"""Entries of an array that are worked on at once, 1 MiB: they stay in the processor's cache, and the calls of NumPy cost little."""
IN_SECONDS = "in seconds: ms(48) is 0.048"
IN_PACKETS = "in packets/s: mbps(100) is 8333"


def loss_rate(p: ArrayLike) -> NDArray[np.float64]:
    """Check a loss event rate, 0 < p <= 1; an array of float64 is returned as it is."""
    return loss_range(p)[0]


class LossRates:
    """Loss event rates, 0 < p <= 1; a long array is checked piece by piece, as it is used.

    So it is read from memory once.

    Attributes
    ----------
    values
        The array.
    ends
        Its smallest and largest entry, of those that were checked.
    checked
        Whether all were.
    """

    def __init__(self, p: ArrayLike) -> None:
        self.checked = not (
            type(p) is np.ndarray
            and p.dtype == np.float64
            and p.flags.c_contiguous
            and p.size > PIECE
        )
        self.values: NDArray[np.float64]
        self.values, self.ends = loss_range(p) if self.checked else (np.asarray(p), (1.0, 0.0))

    def check(self, piece: NDArray[np.float64]) -> None:
        """Check a piece, one-dimensional."""
        low, high = np.minimum.reduce(piece), np.maximum.reduce(piece)
        if not (low > 0.0 and high <= 1.0):
            number("p", piece, above=0.0, at_most=1.0)
        self.ends = min(self.ends[0], float(low)), max(self.ends[1], float(high))

    def check_all(self) -> None:
        """Check what was not checked."""
        if not self.checked:
            self.values, self.ends = loss_range(self.values)
            self.checked = True


def loss_range(p: ArrayLike) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Check a loss event rate as `loss_rate` does; return it with its smallest and largest entry."""
    if type(p) is np.ndarray and p.dtype == np.float64 and p.size:
        low, high = extremes(p)
        if low > 0.0 and high <= 1.0:
            return p, (low, high)
    p = number("p", p, above=0.0, at_most=1.0)
    return p, (extremes(p) if p.size else (1.0, 1.0))


def extremes(array: NDArray[np.float64]) -> tuple[float, float]:
    """Return the smallest and the largest entry, in one pass through memory; NaN if one is NaN."""
    if array.size <= PIECE or not array.flags.c_contiguous:
        return float(array.min()), float(array.max())
    flat = array.reshape(-1)
    lows, highs = [], []
    for at in range(0, flat.size, PIECE):
        part = flat[at : at + PIECE]
        lows.append(np.minimum.reduce(part))
        highs.append(np.maximum.reduce(part))
    return float(np.min(lows)), float(np.max(highs))


def round_trip(rtt: ArrayLike, unit_check: bool = True) -> NDArray[np.float64]:
    """Check a round-trip time in s, or a text such as ``"40ms"``.

    5 s or more are refused unless ``unit_check`` is False, less than 1e-30 s always.
    """
    rtt = in_units("rtt", rtt, "time")
    if flag("unit_check", unit_check):
        hint = f"{IN_SECONDS}; unit_check=False allows long ones"
        found = number("rtt", rtt, above=0.0, below=LONGEST_RTT, hint=hint)
    else:
        found = number("rtt", rtt, above=0.0, hint=IN_SECONDS)
    if np.any(found < SHORTEST_RTT):  # whose powers are no numbers
        number("rtt", found, at_least=SHORTEST_RTT, hint=IN_SECONDS)
    return found


def packet_rate(name: str, rate: ArrayLike, unit_check: bool = True) -> NDArray[np.float64]:
    """Check a rate in packets/s, or a text such as ``"1Mbps"`` (in packets of 1500 bytes).

    More than 1e7 packets/s is refused unless ``unit_check`` is False.
    """
    rate = in_units(name, rate, "rate")
    if flag("unit_check", unit_check):
        hint = f"{IN_PACKETS}; unit_check=False allows large ones"
        return number(name, rate, above=0.0, at_most=LARGEST_RATE, hint=hint)
    return number(name, rate, above=0.0, hint=IN_PACKETS)


def capacity(bandwidth: Any, unit_check: bool = True) -> float:
    """Check a capacity in packets/s, one number, as `packet_rate` does."""
    return one_number("bandwidth", packet_rate("bandwidth", bandwidth, unit_check))


def same_shape(**arrays: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the common shape of arrays that broadcast, or raise ValueError with their names."""
    first, *others = arrays.values()
    if not any(each.ndim for each in others):
        return first.shape
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{shapes}: must broadcast to one shape") from None


def plain(array: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return an array as it is, or the Python float that it holds when it has no dimension."""
    return array if array.ndim else float(array)


def spread(array: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an array in a shape to which it broadcasts, one that can be written to."""
    return array if array.shape == shape else np.broadcast_to(array, shape).copy()
