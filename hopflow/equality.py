"""Equality by value of results and models: numbers, arrays, tables, functions and their containers."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

__all__ = ["ByValue", "WithoutCaches", "same", "state_of"]


class WithoutCaches:
    """Base class of objects that are pickled and copied without cached properties, which hold solvers and figures."""

    def __getstate__(self) -> dict[str, Any]:
        kind: Any = type(self)
        cached = _cache_names(kind)
        return {name: value for name, value in vars(self).items() if name not in cached}


@functools.lru_cache(maxsize=512)
def _cache_names(kind: Any) -> frozenset[str]:
    """Return the names of the cached properties of a class."""
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        members.update(vars(base))
    cached = functools.cached_property
    return frozenset(name for name, value in members.items() if isinstance(value, cached))


class ByValue(WithoutCaches):
    """Base class of objects that are equal if their fields are equal, except `NOT_COMPARED`."""

    NOT_COMPARED: ClassVar[tuple[str, ...]] = ("seconds", "memory")
    """Fields in which equal objects may differ."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        without = self.NOT_COMPARED
        return self is other or same(state_of(self, without), state_of(other, without))

    def __hash__(self) -> int:
        return hash(type(self))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: arrays entry by entry, NaN equal to NaN.

    Functions are equal if code, defaults and enclosed values are.

    >>> same({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])}), same(1, 2)
    (True, False)
    """
    if one is other:
        return True
    if isinstance(one, (np.ndarray, np.generic)) or isinstance(other, (np.ndarray, np.generic)):
        return _same_arrays(np.asarray(one), np.asarray(other))
    if type(one) is not type(other):
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return (numbers or _are_columns(one, other)) and bool(one == other)
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    kind: Any = type(one)
    if kind.__eq__ in (list.__eq__, tuple.__eq__):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, types.FunctionType):
        return _same_functions(one, other)
    if isinstance(one, functools.partial):
        return same((one.func, one.args, one.keywords), (other.func, other.args, other.keywords))
    for name in ("identical", "equals"):  # of xarray, of pandas
        if hasattr(one, name):
            return bool(getattr(one, name)(other))
    if hasattr(one, "tocsr") and hasattr(one, "nnz"):
        return one.shape == other.shape and _same_sparse(one.tocsr(), other.tocsr())
    if dataclasses.is_dataclass(one) and not isinstance(one, ByValue):
        return same(state_of(one, ()), state_of(other, ()))
    if kind.__eq__ is object.__eq__:
        return hasattr(one, "__dict__") and same(state_of(one, ()), state_of(other, ()))
    return bool(one == other)


def state_of(value: object, without: Collection[str]) -> dict[str, Any]:
    """Return the fields, or the attributes, of an object by name, except ``without`` and cached properties."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        kind: Any = type(value)
        cached = _cache_names(kind)
        names = [name for name in vars(value) if name not in cached]
    return {name: getattr(value, name) for name in names if name not in without}


def _are_columns(one: Any, other: Any) -> bool:
    """Return whether one is a tuple and the other another kind of sequence, such as columns, which may equal it."""
    kinds = {type(one), type(other)}
    builtin = [kind for kind in kinds if issubclass(kind, (tuple, list, str, bytes))]
    return builtin == [tuple] and all(issubclass(kind, Sequence) for kind in kinds)


def _same_arrays(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.names:
        return one.dtype == other.dtype and all(_same_arrays(one[name], other[name]) for name in one.dtype.names)
    if one.dtype.kind in "fc" and other.dtype.kind in "fciub":
        return bool(np.array_equal(one, other, equal_nan=True))
    if one.dtype.kind == "O":
        return all(map(same, one.ravel().tolist(), other.ravel().tolist()))
    return bool(np.array_equal(one, other))


def _same_sparse(one: Any, other: Any) -> bool:
    return all(_same_arrays(getattr(one, n), getattr(other, n)) for n in ("indptr", "indices", "data"))


def _same_functions(one: types.FunctionType, other: types.FunctionType) -> bool:
    cells = [[cell.cell_contents for cell in function.__closure__ or ()] for function in (one, other)]
    return one.__code__ == other.__code__ and same(one.__defaults__, other.__defaults__) and same(*cells)
