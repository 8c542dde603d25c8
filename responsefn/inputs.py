"""Arguments of responses: checks of loss event rates, round-trip times, rates and capacities, and labelled arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

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
    "keeps_labels",
    "loss_range",
    "loss_rate",
    "packet_rate",
    "plain",
    "round_trip",
    "same_shape",
    "spread",
]

F = TypeVar("F", bound=Callable[..., Any])
UNLABELLED = (int, float, np.ndarray, list, tuple, np.generic, type(None))
"""Types of arguments without labels, except masked arrays."""
LONGEST_RTT = 5.0
"""Round-trip times from this one on, in s, are assumed to be in milliseconds."""
SHORTEST_RTT = 1e-30
"""Shortest round-trip time in s: powers of shorter times underflow in double precision."""
LARGEST_RATE = 1e7
"""Larger rates, in packets/s, are assumed to be in bit/s: this one is 120 Gb/s in packets of 1500 bytes."""
PIECE = 131072
"""Entries of an array that are processed at once: 1 MiB fits the cache, and calls of NumPy cost little."""
IN_SECONDS = "in seconds: ms(48) is 0.048"
IN_PACKETS = "in packets/s: mbps(100) is 8333"


def loss_rate(p: ArrayLike) -> NDArray[np.float64]:
    """Check a loss event rate, 0 < p <= 1; an array of float64 is returned unchanged."""
    return loss_range(p)[0]


class LossRates:
    """Loss event rates, 0 < p <= 1.

    A long array is checked piece by piece during its use, so that it is read from memory once.

    Attributes
    ----------
    values
        The array.
    bounds
        Smallest and largest checked entry.
    checked
        Whether all entries were checked.
    """

    def __init__(self, p: ArrayLike) -> None:
        self.checked = not (type(p) is np.ndarray and p.dtype == np.float64 and p.flags.c_contiguous and p.size > PIECE)
        self.values: NDArray[np.float64]
        self.values, self.bounds = loss_range(p) if self.checked else (np.asarray(p), (1.0, 0.0))

    def check(self, piece: NDArray[np.float64]) -> None:
        """Check a piece, one-dimensional."""
        low, high = np.minimum.reduce(piece), np.maximum.reduce(piece)
        if not (low > 0.0 and high <= 1.0):
            number("p", piece, above=0.0, at_most=1.0)
        self.bounds = min(self.bounds[0], float(low)), max(self.bounds[1], float(high))

    def check_all(self) -> None:
        """Check the remaining entries."""
        if not self.checked:
            self.values, self.bounds = loss_range(self.values)
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
    for start in range(0, flat.size, PIECE):
        part = flat[start : start + PIECE]
        lows.append(np.minimum.reduce(part))
        highs.append(np.maximum.reduce(part))
    return float(np.min(lows)), float(np.max(highs))


def round_trip(rtt: ArrayLike, unit_check: bool = True) -> NDArray[np.float64]:
    """Check a round-trip time in s, or a string such as ``"40ms"``.

    5 s or more are refused unless ``unit_check`` is False. Less than 1e-30 s is always refused.
    """
    rtt = in_units("rtt", rtt, "time")
    if flag("unit_check", unit_check):
        hint = f"{IN_SECONDS}; unit_check=False allows long ones"
        seconds = number("rtt", rtt, above=0.0, below=LONGEST_RTT, hint=hint)
    else:
        seconds = number("rtt", rtt, above=0.0, hint=IN_SECONDS)
    if np.any(seconds < SHORTEST_RTT):
        number("rtt", seconds, at_least=SHORTEST_RTT, hint=IN_SECONDS)
    return seconds


def packet_rate(name: str, rate: ArrayLike, unit_check: bool = True) -> NDArray[np.float64]:
    """Check a rate in packets/s, or a string such as ``"1Mbps"`` (in packets of 1500 bytes).

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
    if not any(array.ndim for array in others):
        return first.shape
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{shapes}: must broadcast to one shape") from None


def plain(array: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return an array, or a Python float for an array without dimensions."""
    return array if array.ndim else float(array)


def spread(array: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a writable array, broadcast to a shape."""
    return array if array.shape == shape else np.broadcast_to(array, shape).copy()


# Labelled arrays


def keeps_labels(function: F) -> F:
    """Return a decorator that preserves the container type of a function's second and third arguments.

    A `xarray.DataArray` gives a DataArray (broadcast by dimension names), a `pandas.Series` or
    DataFrame one with the same labels, a masked array a masked array.
    """
    first, *names = tuple(inspect.signature(function).parameters)[:3]

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            subject, args = args[0], args[1:]
        elif first in kwargs:
            subject = kwargs.pop(first)
        else:
            raise TypeError(f"{function.__name__}: {first} is missing")
        positional = dict(zip(names, args, strict=False))
        arrays = [positional.get(name, kwargs.get(name)) for name in names]
        if all(isinstance(a, UNLABELLED) and not isinstance(a, np.ma.MaskedArray) for a in arrays):
            return function(subject, *args, **kwargs)
        others = {name: value for name, value in kwargs.items() if name not in names}

        def compute(*values: Any) -> Any:
            both = [None if a is None else values[n] for n, a in enumerate(arrays)]
            return function(subject, *both, *args[2:], **others)

        return _compute_labelled(compute, tuple(names), arrays)

    return wrapper  # type: ignore[return-value]


def _compute_labelled(compute: Callable[..., Any], names: tuple[str, ...], arrays: list[Any]) -> Any:
    packages = {type(array).__module__.partition(".")[0] for array in arrays}
    if "xarray" in packages:
        import xarray as xr

        return xr.apply_ufunc(compute, *(0.0 if array is None else array for array in arrays))
    if "pandas" in packages:
        return _compute_pandas(compute, names, arrays)
    if any(isinstance(array, np.ma.MaskedArray) for array in arrays):
        return _compute_masked(compute, arrays)
    return compute(*arrays)


def _compute_pandas(compute: Callable[..., Any], names: tuple[str, ...], arrays: list[Any]) -> Any:
    frames = [array for array in arrays if type(array).__module__.startswith("pandas")]
    first = frames[0]
    for other in frames[1:]:
        same = type(other) is type(first) and other.axes[0].equals(first.axes[0])
        if not same or other.shape != first.shape:
            raise ValueError(f"{names[0]} and {names[1]}: two pandas objects must have the same labels")
    plain_arrays = (a.to_numpy() if hasattr(a, "to_numpy") else a for a in arrays)
    values = np.asarray(compute(*plain_arrays))
    if values.shape != first.shape:
        raise ValueError(
            f"{names[0]}, {names[1]}: shapes {first.shape} and {values.shape}: a pandas object goes "
            "with one number or with its own shape"
        )
    if first.ndim == 1:
        return type(first)(values, index=first.index)
    return type(first)(values, index=first.index, columns=first.columns)


def _compute_masked(compute: Callable[..., Any], arrays: list[Any]) -> Any:
    """Compute with a valid entry in place of masked entries, and mask the result."""
    filled = []
    for array in arrays:
        if isinstance(array, np.ma.MaskedArray):
            valid = array.compressed()
            array = array.filled(valid[0] if valid.size else 1.0)
        filled.append(array)
    values = np.asarray(compute(*filled))
    mask = np.zeros(values.shape, dtype=bool)
    for array in arrays:
        if isinstance(array, np.ma.MaskedArray):
            mask |= np.broadcast_to(np.ma.getmaskarray(array), values.shape)
    return np.ma.MaskedArray(values, mask)
