"""Operations on numbers that are one for each state: as Python computes each of them, or refused.

A value is *uniform*, any object of Python's, the same in all states; or an array of bool, int64 or float64 with one
number for each state. Sums, differences, products, quotients and comparisons of such numbers are those of IEEE 754 in
both, powers and functions of `math` are computed by Python itself, once for each value that occurs. Whole numbers stay
below 2^53: products and shifts are checked, sums where they are assigned (`limited`), and an expression has at most 128
terms (`translation`). Division by zero, and all else that raises in Python, is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "BOOL",
    "FLOAT",
    "INTEGER",
    "LIMIT",
    "NotOnArraysError",
    "PerState",
    "UniformArray",
    "binary",
    "compared",
    "in_each",
    "limited",
    "number",
    "truth",
    "unary",
    "wrapped",
]

LIMIT = 2**45
"""Whole numbers below this stay exact as float64 in sums of 256 of them."""
INTEGER = np.dtype(np.int64)
FLOAT = np.dtype(np.float64)
BOOL = np.dtype(bool)
NUMBERS = frozenset({int, float, bool})


class NotOnArraysError(Exception):
    """Something that arrays cannot do as Python does it in each state: other ways are to be taken."""


class PerState:
    """What has a value for each state without being an array."""

    __slots__ = ()


class UniformArray:
    """An array of the user's: the same in all states, not one number for each."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values


def wrapped(value: Any) -> Any:
    """Return a uniform value, with an array of the user's marked as such; refuse one in a tuple or list."""
    if type(value) in NUMBERS:
        return value
    if isinstance(value, np.ndarray):
        return UniformArray(value)
    if isinstance(value, (tuple, list)) and _holds_arrays(value):
        raise NotOnArraysError("arrays in a tuple")
    return value


def _holds_arrays(value: tuple[Any, ...] | list[Any]) -> bool:
    kinds = set(map(type, value))
    if kinds <= {float, int, bool, str}:
        return False
    return any(
        isinstance(part, np.ndarray) or (isinstance(part, (tuple, list)) and _holds_arrays(part)) for part in value
    )


def number(value: Any) -> Any:
    """Return an operand beside an array: numbers of Python's, and float64."""
    kind = type(value)
    if kind is np.ndarray:
        return value if value.dtype is not BOOL else value.astype(INTEGER)
    if kind is float or kind is np.float64:
        return float(value)
    if kind is bool:
        return int(value)
    if kind is int and -LIMIT < value < LIMIT:
        return value
    raise NotOnArraysError(f"{value!r} beside a number for each state")


def limited(value: Any) -> Any:
    """Return a value; refuse arrays of whole numbers that may grow beyond exact ones."""
    whole = type(value) is np.ndarray and value.dtype is INTEGER and len(value) > 0
    if whole and not -LIMIT < value.min() <= value.max() < LIMIT:
        raise NotOnArraysError("large whole numbers")
    return value


def _is_whole(value: Any) -> bool:
    return type(value) is int or (type(value) is np.ndarray and value.dtype is INTEGER)


def _peak(value: Any) -> float:
    """Return the largest magnitude of whole numbers."""
    if type(value) is int:
        return abs(float(value))
    return max(abs(float(value.min())), abs(float(value.max()))) if len(value) else 0.0


def _sum(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    a, b = number(a), number(b)
    if type(b) is int and b == 0:  # of a sum or a difference: the same numbers
        return a
    if type(a) is int and a == 0 and operation is operator.add:
        return b
    return operation(a, b)


def _product(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    a, b = number(a), number(b)
    if _is_whole(a) and _is_whole(b) and _peak(a) * _peak(b) >= LIMIT:
        raise NotOnArraysError("large whole numbers")
    return operation(a, b)


def _quotient(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    a, b = number(a), number(b)
    if not np.all(b):
        raise NotOnArraysError("a division by zero")
    if operation is not operator.truediv and not (_is_whole(a) and _is_whole(b)):
        raise NotOnArraysError("a remainder of numbers that are not whole")
    return operation(a, b)


def _power(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    if type(a) is np.ndarray and type(b) is not np.ndarray and a.dtype is not FLOAT:
        return in_each(lambda value: operation(value, b), a)
    if type(b) is np.ndarray and type(a) is not np.ndarray and b.dtype is not FLOAT:
        return in_each(lambda value: operation(a, value), b)
    raise NotOnArraysError("a power of numbers that are not whole")


def _bits(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    truths = [type(v) is bool or (type(v) is np.ndarray and v.dtype is BOOL) for v in (a, b)]
    if all(truths):
        return operation(a, b)
    a, b = number(a), number(b)
    if not (_is_whole(a) and _is_whole(b)):
        raise NotOnArraysError("bits of numbers that are not whole")
    if operation in (operator.lshift, operator.rshift):
        low = b if type(b) is int else int(b.min()) if len(b) else 0
        if low < 0 or _peak(b) > 44 or (operation is operator.lshift and _peak(a) * 2.0 ** _peak(b) >= LIMIT):
            raise NotOnArraysError("a wide shift")
    return operation(a, b)


_BINARY: dict[Callable[..., Any], Callable[..., Any]] = {
    operator.add: _sum,
    operator.sub: _sum,
    operator.mul: _product,
    operator.truediv: _quotient,
    operator.floordiv: _quotient,
    operator.mod: _quotient,
    operator.pow: _power,
    **dict.fromkeys((operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift), _bits),
}


def binary(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return ``a + b`` and the like, in each state."""
    if type(a) is np.ndarray or type(b) is np.ndarray:
        return _BINARY[operation](operation, a, b)
    found = operation(a, b)
    return found if type(found) in NUMBERS else wrapped(found)


def unary(operation: Callable[..., Any], a: Any) -> Any:
    """Return ``-a`` and the like, in each state."""
    if type(a) is not np.ndarray:
        return wrapped(operation(a))
    if operation is operator.not_:
        return ~truth(a)
    a = number(a)
    if operation is operator.invert and a.dtype is not INTEGER:
        raise NotOnArraysError("bits of numbers that are not whole")
    return operation(a)


def compared(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return ``a < b`` and the like, in each state."""
    if type(a) is np.ndarray or type(b) is np.ndarray:
        return operation(number(a), number(b))
    if type(a) in NUMBERS and type(b) in NUMBERS:
        return operation(a, b)
    if any(isinstance(value, PerState) for value in (a, b)):
        raise NotOnArraysError("a comparison of states")
    found = operation(a, b)
    if type(found) is np.bool_:
        return bool(found)
    if type(found) is not bool:
        raise NotOnArraysError("a comparison that is no truth value")
    return found


def truth(value: Any) -> Any:
    """Return whether a value counts as true: a bool, or an array of them."""
    if type(value) is np.ndarray:
        return value if value.dtype is BOOL else value != 0
    if isinstance(value, UniformArray):
        raise NotOnArraysError("the truth of an array")
    return bool(value)


def in_each(function: Callable[[Any], Any], values: Any) -> Any:
    """Return a function of one number, called by Python once for each value that occurs."""
    values = number(values)
    if values.dtype is INTEGER and len(values):
        low = int(values.min())
        if int(values.max()) - low < len(values):
            present = np.flatnonzero(np.bincount(values - low))
            table = np.zeros(int(present[-1]) + 1, dtype=np.int64)
            table[present] = np.arange(len(present))
            return _packed([function(int(k) + low) for k in present])[table[values - low]]
    return _packed([function(value) for value in values.tolist()])


def _packed(found: list[Any]) -> Any:
    kinds = set(map(type, found))
    if kinds <= {float, np.float64}:
        return np.array(found, dtype=FLOAT)
    if kinds == {int}:
        if max(map(abs, found)) < LIMIT:
            return np.array(found, dtype=INTEGER)
    elif kinds == {bool}:
        return np.array(found, dtype=BOOL)
    raise NotOnArraysError("a function that does not give numbers")
