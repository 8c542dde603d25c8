"""Numbers selected in each state: elements, choices, and values put together from sets of states."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from markov.generators.array_rules.operations import (
    BOOL,
    FLOAT,
    INTEGER,
    LIMIT,
    NotOnArraysError,
    UniformArray,
    compared,
    limited,
    number,
)

__all__ = ["element", "maximum", "merged", "minimum", "selected"]


def element(values: Any, index: Any) -> Any:
    """Return the element of a uniform tuple or list that an array of indices selects in each state."""
    index = number(index)
    if index.dtype is not INTEGER:
        raise NotOnArraysError("an index that is not whole")
    if isinstance(values, UniformArray):
        array = values.values
        if array.ndim != 1 or array.dtype not in (FLOAT, INTEGER):
            raise NotOnArraysError("an array of another kind")
    elif isinstance(values, (tuple, list)) and (kinds := set(map(type, values))) in (
        {float},
        {int},
        {bool},
    ):
        if kinds == {int} and max(map(abs, values)) >= LIMIT:
            raise NotOnArraysError("large whole numbers")
        array = np.array(values)
    elif isinstance(values, (tuple, list)) and kinds == {tuple} and len(set(map(len, values))) == 1:
        return tuple(element(column, index) for column in zip(*values, strict=True))
    else:
        raise NotOnArraysError("elements of several kinds")
    return limited(array[index])


def selected(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes if condition else no``, of numbers, with an array of truth values."""
    if yes is no or (type(yes) is type(no) is not np.ndarray and _same(yes, no)):
        return yes
    if all(type(v) is bool or (type(v) is np.ndarray and v.dtype is BOOL) for v in (yes, no)):
        return np.where(condition, yes, no)
    return np.where(condition, number(yes), number(no))


def _same(a: Any, b: Any) -> bool:
    """Whether two uniform values are equal, and numbers or texts."""
    return (
        type(a) in (int, float, bool, str)
        and a == b
        and (type(a) is not float or math.copysign(1.0, a) == math.copysign(1.0, b))
    )


def merged(count: int, parts: list[tuple[Any, Any]]) -> Any:
    """Return one value for ``count`` states from (places, value) of sets of states that they consist of."""
    first = parts[0][1]
    others = [value for _, value in parts[1:]]
    if type(first) is not np.ndarray and all(
        value is first or (type(value) is type(first) and _same(value, first)) for value in others
    ):
        return first
    if isinstance(first, tuple):
        rows = [value for _, value in parts]
        if any(type(row) is not type(first) or len(row) != len(first) for row in rows):
            raise NotOnArraysError("tuples of several kinds")
        found = [
            merged(count, [(places, row[k]) for (places, _), row in zip(parts, rows, strict=True)])
            for k in range(len(first))
        ]
        return tuple.__new__(type(first), found)
    kinds = {
        v.dtype if type(v) is np.ndarray else np.dtype(type(number(v))) if type(v) is not bool else BOOL
        for _, v in parts
    }
    into = np.empty(count, dtype=FLOAT if FLOAT in kinds else INTEGER if INTEGER in kinds else BOOL)
    for places, value in parts:
        into[places] = value
    return into


def minimum(a: Any, b: Any) -> Any:
    """Return Python's ``min(a, b)`` in each state: the first of equal ones."""
    return selected(compared(operator.lt, b, a), b, a) if _arrays(a, b) else min(a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return Python's ``max(a, b)`` in each state: the first of equal ones."""
    return selected(compared(operator.gt, b, a), b, a) if _arrays(a, b) else max(a, b)


def _arrays(a: Any, b: Any) -> bool:
    return type(a) is np.ndarray or type(b) is np.ndarray
