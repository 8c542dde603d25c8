"""Calls in a rule: which functions may be called for many states, and what they return for each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.array_rules.frames import Changed, ManyStates, holds_arrays
from markov.generators.array_rules.operations import (
    NotOnArraysError,
    UniformArray,
    binary,
    in_each,
    truth,
    unary,
    wrapped,
)
from markov.generators.array_rules.selections import maximum, minimum

if TYPE_CHECKING:
    from markov.generators.array_rules.frames import Frame

__all__ = ["call"]

METHODS: dict[type, set[str]] = {
    dict: {"get", "items", "keys", "values"},
    tuple: {"count", "index"},
    str: {"startswith", "endswith", "lower", "upper", "strip", "split", "join", "format"},
}
"""Methods of uniform values that only read them."""
UNIFORM = {range, len, enumerate, zip, reversed, tuple, list, float, int, bool, abs, min, max, sum, any, all, divmod,
           round, sorted, set, frozenset, dict, str, pow}  # fmt: skip
"""Builtins that may be called with uniform values."""


def call(function: Any, given: tuple[Any, ...], named: dict[str, Any], frame: Frame) -> Any:
    """Return a call's value for the states of a frame."""
    if isinstance(function, MethodType):
        given, function = (function.__self__, *given), function.__func__
    if type(function) is FunctionType:
        if isinstance(owner := (given[0] if given else None), tuple) and function.__name__ == "_replace":
            return _replaced(owner, named) if len(given) == 1 else _refused(function)
        return frame.translate(function).called(given, named, frame)
    if any(isinstance(value, UniformArray) for value in given):
        return _refused(function)
    if not (holds_arrays(given) or holds_arrays(named)):
        return wrapped(_native(function)(*given, **named))
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return function(*given, **named)
    known = _KNOWN.get(function) if _is_hashable(function) else None
    if named and (function is not zip or known is None):
        return _refused(function)
    if known is not None:
        return known(*given, **named)
    if getattr(function, "__module__", None) == "math" and len(given) == 1:
        return in_each(function, given[0])
    return _refused(function)


def _refused(function: Any) -> Any:
    raise NotOnArraysError(f"a call of {getattr(function, '__name__', function)!r}")


def _is_hashable(function: Any) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


def _native(function: Any) -> Callable[..., Any]:
    """Return a function that is called with uniform values; NotOnArraysError for one that might do more than compute."""
    if isinstance(function, type):
        named_tuple = issubclass(function, tuple) and hasattr(function, "_fields")
        if named_tuple or function in UNIFORM:
            return function
        return _refused(function)  # type: ignore[no-any-return]
    if isinstance(function, np.ufunc) or (_is_hashable(function) and function in UNIFORM):
        return function  # type: ignore[no-any-return]
    if isinstance(function, BuiltinFunctionType):
        owner = getattr(function, "__self__", None)
        allowed = next((names for kind, names in METHODS.items() if isinstance(owner, kind)), set())
        if function.__module__ == "math" or function.__name__ in allowed:
            return function
    return _refused(function)  # type: ignore[no-any-return]


def _replaced(state: Any, named: dict[str, Any]) -> Any:
    """Return a NamedTuple of numbers for each state with other values."""
    if not set(named) <= set(state._fields):
        raise NotOnArraysError("fields of another state")
    return type(state)._make([named.get(name, value) for name, value in zip(state._fields, state, strict=True)])


def _items(given: tuple[Any, ...]) -> list[Any]:
    """Return what ``min``, ``max`` or ``sum`` of one collection is about."""
    items: Any = given[0] if len(given) == 1 else given
    if type(items) in (ManyStates, Changed):
        items = items.fields()
    if not isinstance(items, (tuple, list)) or not items:
        raise NotOnArraysError("a collection is expected")
    return list(items)


def _reduced(pair: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reduce(*given: Any) -> Any:
        first, *rest = _items(given)
        for item in rest:
            first = pair(first, item)
        return first

    return reduce


def _total(items: Any, start: Any = 0) -> Any:
    total = start
    for item in _items((items,)):
        if not _is_whole(item) or not _is_whole(total):
            raise NotOnArraysError("sums of floats are computed with more digits than float64")
        total = binary(operator.add, total, item)
    return total


def _is_whole(value: Any) -> bool:
    return type(value) in (int, bool) or (type(value) is np.ndarray and value.dtype.kind in "bi")


def _any(items: Any) -> Any:
    found: Any = False
    for item in _items((items,)):
        found = found | truth(item)
    return found


def _all(items: Any) -> Any:
    found: Any = True
    for item in _items((items,)):
        found = found & truth(item)
    return found


def _as_float(value: Any) -> Any:
    return value.astype(np.float64)


def _as_whole(value: Any) -> Any:
    if value.dtype.kind == "f":
        raise NotOnArraysError("a float as a whole number")
    return value.astype(np.int64)


def _length(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        return len(value)
    if type(value) in (ManyStates, Changed):
        return len(value.fields())
    raise NotOnArraysError("the length of a number")


def _listed(value: Any) -> list[Any]:
    if type(value) in (ManyStates, Changed):
        value = value.fields()
    if not isinstance(value, (tuple, list)):
        raise NotOnArraysError("items of a number")
    return list(value)


_KNOWN: dict[Any, Callable[..., Any]] = {
    abs: lambda value: unary(operator.abs, value),
    min: _reduced(minimum),
    max: _reduced(maximum),
    sum: _total,
    any: _any,
    all: _all,
    bool: truth,
    float: _as_float,
    int: _as_whole,
    pow: lambda a, b: binary(operator.pow, a, b),
    len: _length,
    tuple: lambda value: tuple(_listed(value)),
    list: _listed,
    enumerate: lambda value, start=0: list(enumerate(_listed(value), start)),
    zip: lambda *values, strict=False: list(
        zip(*(_listed(v) if holds_arrays(v) else v for v in values), strict=strict)
    ),
    reversed: lambda value: _listed(value)[::-1],
}
