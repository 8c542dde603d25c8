"""Checks of input: each raises ValueError with the parameter's name, its value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")

__all__ = ["choice", "number", "seconds", "whole"]


def number(
    name: str,
    value: ArrayLike,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    hint: str = "",
) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array after checking that every entry is finite and in range.

    Parameters
    ----------
    name
        The parameter's name in the message.
    value
        A number or an array of any shape.
    above, at_least, below, at_most
        The range allowed; None leaves that side open.
    hint
        What to do instead, appended to the message.

    Raises
    ------
    ValueError
        Naming the parameter, the first offending value and what is allowed.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: a number is expected") from None
    good = np.isfinite(array)
    allowed = []
    for bound, holds, text in (
        (above, np.greater, "> {}"),
        (at_least, np.greater_equal, ">= {}"),
        (below, np.less, "< {}"),
        (at_most, np.less_equal, "<= {}"),
    ):
        if bound is not None:
            good = good & holds(array, bound)
            allowed.append(text.format(f"{bound:g}"))
    if not np.all(good):
        first = float(array[~good].flat[0]) if array.ndim else float(array)
        limits = " and ".join(allowed)
        msg = f"{name} = {first:g}: must be a finite number{' ' + limits if limits else ''}"
        raise ValueError(f"{msg}; {hint}" if hint else msg)
    return array


def seconds(name: str, value: ArrayLike, *, longest: float = 1000.0) -> NDArray[np.float64]:
    """Check a positive duration in s; one above ``longest`` was probably meant in milliseconds."""
    return number(name, value, above=0.0, at_most=longest, hint="in seconds: ms(48) is 0.048")


def whole(name: str, value: Any, low: int, high: int, *, why: str = "") -> int:
    """Return ``value`` as an int after checking that it is whole and within low..high."""
    try:
        result = int(value)
    except (TypeError, ValueError, OverflowError):
        result = low - 1
    if result != value or not low <= result <= high:
        because = f" ({why})" if why else ""
        raise ValueError(f"{name} = {value!r}: must be a whole number in {low}..{high}{because}")
    return result


def choice(name: str, value: T, allowed: Iterable[T]) -> T:
    """Return ``value`` after checking that it is one of ``allowed``."""
    options = list(allowed)
    if value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} = {value!r}: must be one of {listed}")
    return value
