"""Collections in a rule: their items, elements and parts, and assignments to several names."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from markov.generators.array_rules.frames import Changed, Frame, ManyStates, holds_arrays, taken
from markov.generators.array_rules.operations import (
    NotOnArraysError,
    UniformArray,
    compared,
    limited,
    truth,
    unary,
    wrapped,
)
from markov.generators.array_rules.selections import element, merged

__all__ = [
    "Target",
    "assign",
    "contained",
    "item",
    "part_of",
    "replaced",
    "uniform_items",
    "uniform_truth",
]

Target = str | list[Any]


def uniform_items(value: Any) -> list[Any]:
    """Return the items of a collection that has as many of them in each state."""
    if type(value) in (ManyStates, Changed):
        return list(value.fields())
    if isinstance(value, (tuple, list, range, dict, zip, enumerate, reversed)) or type(value).__name__ in _VIEWS:
        return list(value) if isinstance(value, (tuple, list)) else [wrapped(each) for each in value]
    raise NotOnArraysError(f"items of {type(value).__name__}")


_VIEWS = {"dict_keys", "dict_values", "dict_items", "frozenset", "str"}


def uniform_truth(value: Any) -> bool:
    """Return a truth value that is the same in all states."""
    found = truth(value)
    if type(found) is not np.ndarray:
        return bool(found)
    if not len(found) or found.min() != found.max():
        raise NotOnArraysError("a decision that differs from state to state")
    return bool(found[0])


def contained(value: Any, items: Any, inside: bool) -> Any:
    """Return whether a value is in a collection (or not in it), in each state."""
    if type(items) in (np.ndarray, ManyStates, Changed) or isinstance(items, UniformArray):
        raise NotOnArraysError("members of what is no collection")
    if type(value) is not np.ndarray and not holds_arrays(items) and not holds_arrays(value):
        return (value in items) is inside
    if isinstance(items, range):
        if items.step != 1:
            raise NotOnArraysError("a range with steps")
        found = compared(operator.ge, value, items.start) & compared(operator.lt, value, items.stop)
        if value.dtype.kind == "f":
            raise NotOnArraysError("members of a range")
    elif isinstance(items, (tuple, list, set, frozenset)):
        found = False
        for each in items:
            found = found | compared(operator.eq, value, each)
    else:
        raise NotOnArraysError("members of what is no collection")
    return found if inside else unary(operator.not_, found)


def item(owner: Any, index: Any) -> Any:
    """Return the element of a collection at an index, in each state."""
    if type(owner) in (ManyStates, Changed):
        owner = owner.fields()
    if type(index) is np.ndarray:
        if isinstance(owner, (tuple, list)) and holds_arrays(owner):
            return _picked(owner, index)
        return element(owner, index)
    if type(owner) is np.ndarray or holds_arrays(index):
        raise NotOnArraysError("an element of a number, or one that a state selects")
    if isinstance(owner, UniformArray):
        return wrapped(owner.values[index])
    found = owner[index]
    return found if isinstance(owner, (tuple, list)) else wrapped(found)


def _picked(owner: Any, index: Any) -> Any:
    """Return the element of a tuple of numbers for each state that an index selects in each."""
    low = limited(index)
    if low.dtype.kind != "i" or not len(low) or low.min() < -len(owner) or low.max() >= len(owner):
        raise NotOnArraysError("an index outside")
    low = np.where(low < 0, low + len(owner), low)
    places = [np.flatnonzero(low == k) for k in range(len(owner))]
    return merged(len(low), [(p, taken(owner[k], p)) for k, p in enumerate(places) if len(p)])


def part_of(owner: Any, ends: list[Any]) -> Any:
    """Return a slice of a tuple or list."""
    if not isinstance(owner, (tuple, list)) or any(map(holds_arrays, ends)):
        raise NotOnArraysError("a part of what is no tuple")
    return owner[slice(*ends)]


def replaced(of: ManyStates | Changed, values: dict[str, Any]) -> Changed:
    """Return states with other values of some fields."""
    base, before = (of.base, of.values) if type(of) is Changed else (of, {})
    return Changed(base, before | {base.number_of(name): value for name, value in values.items()})  # type: ignore[union-attr,arg-type]


def assign(frame: Frame, target: Target, value: Any) -> None:
    """Assign a value to the names of a target."""
    if isinstance(target, str):
        frame.values[target] = limited(value)
        return
    items = uniform_items(value)
    if len(items) != len(target):
        raise NotOnArraysError("values that do not fit their names")
    for name, each in zip(target, items, strict=True):
        assign(frame, name, each)
