"""Arithmetic of compiled rules that raises an exception wherever Python does, or might do otherwise.

Compiled, whole numbers have 64 bits, ``log(0)`` is minus infinity, and an index is not compared with the length
of an array. `hopflow.kernels.checking` replaces such operations by these functions. Compiled,
they return what Python returns, bit for bit, or raise an exception, and then plain Python is to say what the
result is. Whole numbers stay below 2^53, so that each is a float without rounding. Called from Python the
functions are Python's own operations.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numba
import numba.extending
from numba import types

__all__ = [
    "add",
    "convertible",
    "finite",
    "invert",
    "item",
    "multiply",
    "power",
    "select",
    "shift_left",
    "shift_right",
    "sized",
    "subtract",
    "total",
    "whole_power",
]

LIMIT = 2**53  # whole numbers below are floats without rounding
MAX_SHIFT = 53  # bits
NAIVE_SUMS = sys.version_info < (3, 12)  # since then Python compensates rounding in sum() of floats

overload: Any = numba.extending.overload
_bounds_checked: Any = numba.njit(boundscheck=True)


def add(a: Any, b: Any) -> Any:
    """Return a + b."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Return a - b."""
    return a - b


def multiply(a: Any, b: Any) -> Any:
    """Return a * b."""
    return a * b


def power(a: Any, b: Any) -> Any:
    """Return a ** b; compiled, for floats only, since a negative power of an int is none."""
    return a**b


def whole_power(a: Any, k: int) -> Any:
    """Return a ** k, for a whole number k >= 0."""
    return a**k


def shift_left(a: Any, b: Any) -> Any:
    """Return a << b."""
    return a << b


def shift_right(a: Any, b: Any) -> Any:
    """Return a >> b."""
    return a >> b


def invert(a: Any) -> Any:
    """Return ~a."""
    return ~a


def finite(a: Any) -> Any:
    """Return the result of a function of `math`; compiled, raise where it is not finite."""
    return a


def convertible(a: Any) -> Any:
    """Return what is converted to a whole number; compiled, raise where it is not below 2^53."""
    return a


def item(container: Any, index: Any) -> Any:
    """Return container[index]."""
    return container[index]


def sized(container: Any, index: int) -> Any:  # noqa: ARG001
    """Return a container; compiled, raise where it is an array without this index."""
    return container


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` or ``no``, both of which have been evaluated."""
    return yes if condition else no


def total(items: Any) -> Any:
    """Return sum(items)."""
    return sum(items)


def _are_whole(*kinds: Any) -> bool:
    return all(isinstance(kind, (types.Integer, types.Boolean)) for kind in kinds)


def _are_numbers(*kinds: Any) -> bool:
    return all(isinstance(kind, (types.Integer, types.Boolean, types.Float)) for kind in kinds)


@overload(add)
def _add(a, b):  # type: ignore[no-untyped-def]
    if _are_whole(a, b):

        def whole(a, b):  # type: ignore[no-untyped-def]
            found = a + b
            if not -LIMIT < found < LIMIT:
                raise OverflowError
            return found

        return whole
    both_tuples = isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple)
    return (lambda a, b: a + b) if _are_numbers(a, b) or both_tuples else None


@overload(subtract)
def _subtract(a, b):  # type: ignore[no-untyped-def]
    if _are_whole(a, b):

        def whole(a, b):  # type: ignore[no-untyped-def]
            found = a - b
            if not -LIMIT < found < LIMIT:
                raise OverflowError
            return found

        return whole
    return (lambda a, b: a - b) if _are_numbers(a, b) else None


@overload(multiply)
def _multiply(a, b):  # type: ignore[no-untyped-def]
    if _are_whole(a, b):

        def whole(a, b):  # type: ignore[no-untyped-def]
            if not abs((a * 1.0) * (b * 1.0)) < LIMIT:
                raise OverflowError
            return a * b

        return whole
    return (lambda a, b: a * b) if _are_numbers(a, b) else None


@overload(power)
def _power(a, b):  # type: ignore[no-untyped-def]
    if not _are_numbers(a, b) or _are_whole(a, b):
        return None

    def of_floats(a, b):  # type: ignore[no-untyped-def]
        # the exponent is b; LLVM would replace powers by a constant with products and roots, which round otherwise
        found = math.pow(a * 1.0, b + 0.0 * a)
        if not math.isfinite(found):
            raise OverflowError
        return found

    return of_floats


@overload(whole_power)
def _whole_power(a, k):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if _are_whole(a):

        def whole(a, k):  # type: ignore[no-untyped-def]
            found = 1
            for _ in range(k):
                found = multiply(found, a)
            return found

        return whole
    return (lambda a, k: power(a, k)) if _are_numbers(a) else None


@overload(shift_left)
def _shift_left(a, b):  # type: ignore[no-untyped-def]
    if not _are_whole(a, b):
        return None

    def whole(a, b):  # type: ignore[no-untyped-def]
        if not 0 <= b < MAX_SHIFT:
            raise OverflowError
        return multiply(a, 1 << b)

    return whole


@overload(shift_right)
def _shift_right(a, b):  # type: ignore[no-untyped-def]
    if not _are_whole(a, b):
        return None

    def whole(a, b):  # type: ignore[no-untyped-def]
        if not 0 <= b < MAX_SHIFT:
            raise OverflowError
        return (a + 0) >> b

    return whole


@overload(invert)
def _invert(a):  # type: ignore[no-untyped-def]
    return (lambda a: -1 - a) if _are_whole(a) else None


@overload(finite)
def _finite(a):  # type: ignore[no-untyped-def]
    if not _are_numbers(a):
        return None

    def of_floats(a):  # type: ignore[no-untyped-def]
        if not math.isfinite(a):
            raise OverflowError
        return a

    return of_floats


@overload(convertible)
def _convertible(a):  # type: ignore[no-untyped-def]
    if not _are_numbers(a):
        return None

    def number(a):  # type: ignore[no-untyped-def]
        if not -LIMIT < a < LIMIT:
            raise OverflowError
        return a

    return number


@_bounds_checked
def _element(container, index):  # type: ignore[no-untyped-def]
    return container[index]


@overload(item)
def _item(container, index):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if isinstance(container, types.Array):
        return lambda container, index: _element(container, index)
    return lambda container, index: container[index]


@overload(sized)
def _sized(container, index):  # type: ignore[no-untyped-def]  # noqa: ARG001
    if not isinstance(container, types.Array):
        return lambda container, index: container  # noqa: ARG005

    def array(container, index):  # type: ignore[no-untyped-def]
        if not -len(container) <= index < len(container):
            raise IndexError
        return container

    return array


@overload(select)
def _select(condition, yes, no):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return lambda condition, yes, no: yes if condition else no


@overload(total)
def _total(items):  # type: ignore[no-untyped-def]
    kinds = list(getattr(items, "types", [getattr(items, "dtype", None)]))
    if _are_whole(*kinds):
        return lambda items: convertible(sum(items))
    return (lambda items: sum(items)) if NAIVE_SUMS else None
