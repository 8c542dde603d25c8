"""Numbers with one value per state, as NumPy arrays: operations as Python computes them in each state, or refused.

A value is *uniform*, any Python object that is the same in all states, or an array of bool, int64 or float64 with one
number per state. NumPy's truth values are arrays of uint8, since sums of them are no sums of Python's.

Sums, differences, products, quotients and comparisons follow IEEE 754 in both. Powers and functions of `math` are
computed by Python, once for each value that occurs. Whole numbers stay below 2^53: products and shifts are checked,
sums where they are assigned (`check_limit`), and an expression has at most 128 terms
(`markov.computing.array_functions`). Division by zero, and every other operation that raises in Python, is refused:
to refuse is to raise `NotOnArraysError`, after which the caller runs plain Python in each state.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

__all__ = [
    "BOOL",
    "FLOAT",
    "INTEGER",
    "LIMIT",
    "SCALARS",
    "NotOnArraysError",
    "PerState",
    "Uniform",
    "apply_binary",
    "apply_to_values",
    "apply_unary",
    "as_number",
    "as_uniform",
    "check_limit",
    "compare",
    "element",
    "holds_arrays",
    "maximum",
    "merge",
    "minimum",
    "numpy_truth",
    "select",
    "truth",
    "unwrap",
]

LIMIT = 2**45
"""Whole numbers below this stay exact as float64 in sums of 256 of them."""
MAX_SHIFT = 44
BOOL, INTEGER, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
NUMPY_TRUTH = np.dtype(np.uint8)
"""Type of the results of NumPy's logical functions, in which ``True + True`` is True."""
NUMBERS = frozenset({int, float, bool})
SCALARS = frozenset({int, float, bool, str, FunctionType, type(None)})
"""Types of values that contain no array."""


class NotOnArraysError(Exception):
    """Error: arrays with one number per state cannot do an operation as Python does it in each state."""


class PerState:
    """Base class of states in translated rules: tuples whose fields have one value for each of many states."""

    __slots__ = ()

    def fields(self) -> Any:
        """Return the user's NamedTuple with the values of all fields, each one value per state."""
        raise NotImplementedError


class Uniform:
    """Wrapper of an array of the user, or of a collection that contains one: the same object in all states.

    Parameters
    ----------
    value
        The array or the collection.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def as_uniform(value: Any) -> Any:
    """Return an object of the user as a value that is the same in all states: arrays inside a `Uniform`."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if isinstance(value, np.ndarray) or (isinstance(value, (tuple, list, dict)) and holds_arrays(value)):
        return Uniform(value)
    return value


def unwrap(value: Any) -> Any:
    """Return the user's object from a `Uniform`, or from a tuple or list of them; other values unchanged."""
    if type(value) is Uniform:
        return value.value
    if type(value) in (tuple, list) and any(type(part) is Uniform for part in value):
        return type(value)(map(unwrap, value))
    return value


def holds_arrays(value: Any) -> bool:
    """Return whether a value is, or contains, an array or a state with one value per state."""
    kind = type(value)
    if kind in SCALARS:
        return False
    if kind is np.ndarray or isinstance(value, PerState):
        return True
    if isinstance(value, (tuple, list)):
        if SCALARS.issuperset(map(type, value)):  # a long table of numbers: at once
            return False
        return any(map(holds_arrays, value))
    if isinstance(value, dict):
        return any(map(holds_arrays, value.values()))
    return isinstance(value, np.ndarray)


def as_number(value: Any) -> Any:
    """Return an operand of arithmetic as an array of numbers, an int or a float; refuse other types."""
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype is BOOL:
            return value.astype(INTEGER)
        if value.dtype is not NUMPY_TRUTH:
            return value
    elif kind is float or kind is np.float64:
        return float(value)
    elif kind is bool or ((kind is int or kind is np.int64) and -LIMIT < value < LIMIT):
        return int(value)
    raise NotOnArraysError(f"{value!r} beside a number per state")


def check_limit(value: Any) -> Any:
    """Return a value unchanged; refuse arrays of whole numbers so large that sums of them may be inexact."""
    is_integer = type(value) is np.ndarray and value.dtype is INTEGER and len(value) > 0
    if is_integer and not -LIMIT < value.min() <= value.max() < LIMIT:
        raise NotOnArraysError("large whole numbers")
    return value


# Operations


def _is_integer(value: Any) -> bool:
    """Return whether a value is an int or an array of whole numbers."""
    return type(value) is int or (type(value) is np.ndarray and value.dtype is INTEGER)


def _is_truth(value: Any) -> bool:
    """Return whether a value is a truth value of Python or NumPy, or an array of them."""
    return type(value) in (bool, np.bool_) or (type(value) is np.ndarray and value.dtype in (BOOL, NUMPY_TRUTH))


def _is_numpy_truth(value: Any) -> bool:
    """Return whether a value is a truth value of NumPy or an array of them, for which sums differ from Python's."""
    return type(value) is np.bool_ or (type(value) is np.ndarray and value.dtype is NUMPY_TRUTH)


def _magnitude(value: Any) -> float:
    """Return the largest absolute value of an int or of an array of whole numbers, as a float."""
    if type(value) is int:
        return abs(float(value))
    return max(abs(float(value.min())), abs(float(value.max()))) if len(value) else 0.0


def _sum(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return a + b or a - b, one number per state."""
    a, b = as_number(a), as_number(b)
    if type(b) is int and b == 0:  # of a sum or a difference: the same numbers
        return a
    if type(a) is int and a == 0 and operation is operator.add:
        return b
    return operation(a, b)


def _product(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return a * b, one number per state; refuse products of whole numbers that may be inexact."""
    a, b = as_number(a), as_number(b)
    if _is_integer(a) and _is_integer(b) and _magnitude(a) * _magnitude(b) >= LIMIT:
        raise NotOnArraysError("large whole numbers")
    return operation(a, b)


def _quotient(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return a / b, a // b or a % b, one number per state; refuse zero divisors."""
    a, b = as_number(a), as_number(b)
    if not np.all(b):
        raise NotOnArraysError("a division by zero")
    if operation is not operator.truediv and not (_is_integer(a) and _is_integer(b)):
        raise NotOnArraysError("a remainder of numbers that are not whole")
    return operation(a, b)


def _power(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return a ** b, one operand an array of whole numbers, computed by Python once per distinct value."""
    if type(a) is np.ndarray and type(b) is not np.ndarray and a.dtype is not FLOAT:
        return apply_to_values(lambda value: operation(value, b), a)
    if type(b) is np.ndarray and type(a) is not np.ndarray and b.dtype is not FLOAT:
        return apply_to_values(lambda value: operation(a, value), b)
    raise NotOnArraysError("a power of numbers that are not whole")


def _bitwise(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return a & b, a | b, a ^ b or a shift, one number or truth value per state."""
    if _is_truth(a) and _is_truth(b) and operation in (operator.and_, operator.or_, operator.xor):
        answer = operation(truth(a), truth(b))
        return numpy_truth(answer) if _is_numpy_truth(a) or _is_numpy_truth(b) else answer
    a, b = as_number(a), as_number(b)
    if not (_is_integer(a) and _is_integer(b)):
        raise NotOnArraysError("bits of numbers that are not whole")
    if operation in (operator.lshift, operator.rshift):
        low = b if type(b) is int else int(b.min()) if len(b) else 0
        too_wide = operation is operator.lshift and _magnitude(a) * 2.0 ** _magnitude(b) >= LIMIT
        if low < 0 or _magnitude(b) > MAX_SHIFT or too_wide:
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
    **dict.fromkeys((operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift), _bitwise),
}
CONTAINER_OPERATIONS = operator.add, operator.mul, operator.or_
"""Operations of collections that do not use their elements."""


def apply_binary(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return ``operation(a, b)`` of an arithmetic or bitwise operator: one value, or one per state."""
    if type(a) is np.ndarray or type(b) is np.ndarray:
        return _BINARY[operation](operation, a, b)
    if type(a) in NUMBERS and type(b) in NUMBERS:
        return operation(a, b)
    if holds_arrays(a) or holds_arrays(b):
        if operation not in CONTAINER_OPERATIONS or isinstance(a, PerState) or isinstance(b, PerState):
            raise NotOnArraysError("an operation of collections")
        return operation(a, b)
    return as_uniform(operation(unwrap(a), unwrap(b)))


def apply_unary(operation: Callable[..., Any], a: Any) -> Any:
    """Return ``operation(a)`` of an operator such as ``-`` or ``not``: one value, or one per state."""
    if operation is operator.not_:
        value = truth(a)
        return ~value if type(value) is np.ndarray else not value
    if type(a) is not np.ndarray:
        return as_uniform(operation(unwrap(a)))
    a = as_number(a)
    if operation is operator.invert and a.dtype is not INTEGER:
        raise NotOnArraysError("bits of numbers that are not whole")
    return operation(a)


def compare(operation: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return ``operation(a, b)`` of a comparison such as ``<``: one truth value, or one per state."""
    if type(a) is np.ndarray or type(b) is np.ndarray:
        other = b if type(a) is np.ndarray else a
        if operation in (operator.eq, operator.ne) and (other is None or type(other) is str):
            return operation is operator.ne  # a number equals neither
        return operation(as_number(a), as_number(b))
    if type(a) in NUMBERS and type(b) in NUMBERS:
        return operation(a, b)
    if holds_arrays(a) or holds_arrays(b):
        a, b = (value.fields() if isinstance(value, PerState) else value for value in (a, b))
        if operation not in (operator.eq, operator.ne) or not (isinstance(a, tuple) and isinstance(b, tuple)):
            raise NotOnArraysError("a comparison of collections")
        equal: Any = len(a) == len(b)
        for left, right in zip(a, b, strict=False):
            equal = equal & compare(operator.eq, left, right)
        return equal if operation is operator.eq else apply_unary(operator.not_, equal)
    answer = operation(unwrap(a), unwrap(b))
    if type(answer) not in (bool, np.bool_):
        raise NotOnArraysError("a comparison that is no truth value")
    return bool(answer)


def truth(value: Any) -> Any:
    """Return whether a value counts as true: a bool, or an array with one bool per state."""
    if type(value) is np.ndarray:
        return value if value.dtype is BOOL else value != 0
    if type(value) is Uniform and isinstance(value.value, np.ndarray):
        raise NotOnArraysError("the truth of an array")
    if isinstance(value, PerState):
        return True  # a tuple with fields
    return bool(unwrap(value))


def numpy_truth(value: Any) -> Any:
    """Return truth values, a bool or an array, in NumPy's type, for which sums and ``~`` differ from Python's."""
    return value.astype(NUMPY_TRUTH) if type(value) is np.ndarray else np.bool_(value)


def apply_to_values(function: Callable[[Any], Any], values: Any) -> Any:
    """Return ``function(value)`` for each entry of an array, calling the function once per distinct value."""
    values = as_number(values)
    if values.dtype is INTEGER and len(values):
        low = int(values.min())
        if int(values.max()) - low < len(values):
            present = np.flatnonzero(np.bincount(values - low))
            index = np.zeros(int(present[-1]) + 1, dtype=np.int64)
            index[present] = np.arange(len(present))
            return _as_array([function(int(k) + low) for k in present])[index[values - low]]
    return _as_array([function(value) for value in values.tolist()])


def _as_array(numbers: list[Any]) -> Any:
    """Return a list of numbers of one type as an array; refuse other lists."""
    kinds = set(map(type, numbers))
    if kinds <= {float, np.float64}:
        return np.array(numbers, dtype=FLOAT)
    if kinds == {int} or kinds == {np.int64}:
        if max(map(abs, numbers)) < LIMIT:
            return np.array(numbers, dtype=INTEGER)
    elif kinds == {bool}:
        return np.array(numbers, dtype=BOOL)
    elif kinds == {np.bool_}:
        return np.array(numbers, dtype=NUMPY_TRUTH)
    raise NotOnArraysError("a function that does not return numbers")


# Selection by state


def element(table: Any, index: Any) -> Any:
    """Return ``table[index]`` for an array of indices, one per state, and a table that is the same in all states."""
    index = as_number(index)
    if index.dtype is not INTEGER:
        raise NotOnArraysError("an index that is not whole")
    values = unwrap(table)
    if isinstance(values, np.ndarray):
        array = values
        if array.ndim != 1 or array.dtype not in (FLOAT, INTEGER):
            raise NotOnArraysError("an array of another type")
    elif isinstance(values, (tuple, list, range)):
        kinds = set(map(type, values))
        if kinds == {tuple} and len(set(map(len, values))) == 1:
            return tuple(element(column, index) for column in zip(*values, strict=True))
        if kinds not in ({float}, {int}, {bool}):
            raise NotOnArraysError("elements of several types")
        if kinds == {int} and max(map(abs, values)) >= LIMIT:
            raise NotOnArraysError("large whole numbers")
        array = np.array(values)
    elif type(values) is dict:  # others may add keys when they are read
        return apply_to_values(values.__getitem__, index)
    else:
        raise NotOnArraysError("elements of several types")
    return check_limit(array[index])


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` in the states in which ``condition`` is true and ``no`` in all others, one number per state."""
    if yes is no or (type(yes) is type(no) is not np.ndarray and _equal_scalars(yes, no)):
        return yes
    if _is_truth(yes) and _is_truth(no):
        answer = np.where(condition, truth(yes), truth(no))
        return numpy_truth(answer) if _is_numpy_truth(yes) or _is_numpy_truth(no) else answer
    return np.where(condition, as_number(yes), as_number(no))


def _equal_scalars(a: Any, b: Any) -> bool:
    """Return whether two values of one type are the same number, sign of zero included, or the same string."""
    return (
        type(a) in (int, float, bool, str)
        and a == b
        and (type(a) is not float or math.copysign(1.0, a) == math.copysign(1.0, b))
    )


def merge(count: int, parts: list[tuple[Any, Any]]) -> Any:
    """Return one value per state for ``count`` states, from the values in disjoint parts of these states.

    Parameters
    ----------
    count
        Number of states.
    parts
        Indices of states, and the value in these; every state once.
    """
    parts = [(rows, value.fields() if isinstance(value, PerState) else value) for rows, value in parts]
    first = parts[0][1]
    values = [value for _, value in parts]
    if type(first) is not np.ndarray and all(
        value is first or (type(value) is type(first) and _equal_scalars(value, first)) for value in values
    ):
        return first
    if isinstance(first, tuple):
        if any(type(row) is not type(first) or len(row) != len(first) for row in values):
            raise NotOnArraysError("tuples of several types")
        columns = [
            merge(count, [(indices, row[k]) for (indices, _), row in zip(parts, values, strict=True)])
            for k in range(len(first))
        ]
        return tuple.__new__(type(first), columns)
    if isinstance(first, dict):
        if any(type(row) is not dict or row.keys() != first.keys() for row in values):
            raise NotOnArraysError("other names in other states")
        return {key: merge(count, [(indices, row[key]) for indices, row in parts]) for key in first}
    dtype: np.dtype[Any]
    if all(map(_is_truth, values)):
        dtype = NUMPY_TRUTH if any(map(_is_numpy_truth, values)) else BOOL
    else:
        kinds = {v.dtype if type(v) is np.ndarray else np.dtype(type(as_number(v))) for v in values}
        if NUMPY_TRUTH in kinds:
            raise NotOnArraysError("truth values of NumPy beside numbers")
        dtype = FLOAT if FLOAT in kinds else INTEGER
    merged = np.empty(count, dtype=dtype)
    for indices, value in parts:
        merged[indices] = value
    return merged


def _extremum(operation: Callable[..., Any], builtin: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return the minimum or maximum of a and b, as Python's ``min`` or ``max`` does: one value, or one per state."""
    if type(a) is np.ndarray or type(b) is np.ndarray:
        return select(compare(operation, b, a), b, a)  # the first of equal numbers, as in Python
    return builtin(a, b)


minimum = functools.partial(_extremum, operator.lt, min)
maximum = functools.partial(_extremum, operator.gt, max)
