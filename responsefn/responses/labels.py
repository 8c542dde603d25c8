"""Labels in, labels out: xarray's and pandas' objects, and masked arrays of NumPy."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["keeps_labels"]

F = TypeVar("F", bound=Callable[..., Any])
PLAIN = (int, float, np.ndarray, list, tuple, np.generic, type(None))


def keeps_labels(function: F) -> F:
    """Make a function of two arrays, its second and third arguments, return the container type of its input.

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
        places = dict(zip(names, args, strict=False))
        given = [places.get(name, kwargs.get(name)) for name in names]
        if all(isinstance(one, PLAIN) and not isinstance(one, np.ma.MaskedArray) for one in given):
            return function(subject, *args, **kwargs)
        rest = args[2:]
        others = {name: value for name, value in kwargs.items() if name not in names}

        def compute(*arrays: Any) -> Any:
            both = [one if one is None else arrays[n] for n, one in enumerate(given)]
            return function(subject, *both, *rest, **others)

        return _labelled(compute, tuple(names), given)

    return wrapper  # type: ignore[return-value]


def _labelled(compute: Callable[..., Any], names: tuple[str, ...], given: list[Any]) -> Any:
    kinds = {type(one).__module__.partition(".")[0] for one in given}
    if "xarray" in kinds:
        import xarray as xr

        arrays = [0.0 if one is None else one for one in given]
        return xr.apply_ufunc(compute, *arrays)
    if "pandas" in kinds:
        return _pandas(compute, names, given)
    if any(isinstance(one, np.ma.MaskedArray) for one in given):
        return _masked(compute, given)
    return compute(*given)


def _pandas(compute: Callable[..., Any], names: tuple[str, ...], given: list[Any]) -> Any:
    frames = [one for one in given if type(one).__module__.startswith("pandas")]
    first = frames[0]
    for other in frames[1:]:
        same = type(other) is type(first) and other.axes[0].equals(first.axes[0])
        if not same or other.shape != first.shape:
            raise ValueError(
                f"{names[0]} and {names[1]}: two pandas objects must have the same labels"
            )
    values = np.asarray(
        compute(*(one.to_numpy() if hasattr(one, "to_numpy") else one for one in given))
    )
    if values.shape != first.shape:
        raise ValueError(
            f"{names[0]}, {names[1]}: shapes {first.shape} and {values.shape}: a pandas object goes "
            "with one number or with its own shape"
        )
    if first.ndim == 1:
        return type(first)(values, index=first.index)
    return type(first)(values, index=first.index, columns=first.columns)


def _masked(compute: Callable[..., Any], given: list[Any]) -> Any:
    """Compute with a valid entry instead of those that are masked, and mask these again."""
    arrays = []
    for one in given:
        if not isinstance(one, np.ma.MaskedArray):
            arrays.append(one)
            continue
        good = one.compressed()
        arrays.append(one.filled(good[0] if good.size else 1.0))
    masks = [np.ma.getmaskarray(one) for one in given if isinstance(one, np.ma.MaskedArray)]
    values = np.asarray(compute(*arrays))
    mask = np.zeros(values.shape, dtype=bool)
    for each in masks:
        mask |= np.broadcast_to(each, values.shape)
    return np.ma.MaskedArray(values, mask)
