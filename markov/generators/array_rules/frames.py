"""States and variables of a rule that runs for many states: narrowed to some of them where it branches."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.array_rules.operations import NotOnArraysError, PerState

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MISSING", "Changed", "Frame", "ManyStates", "holds_arrays", "taken"]

MISSING = object()
"""Value of a variable that some branch has not assigned."""


SINGLE = frozenset({int, float, bool, str, FunctionType, type(None)})
"""Kinds of values that are the same in all states."""


class ManyStates(PerState):
    """The states that a rule runs for, as its argument ``s``; fields are narrowed when they are read.

    Parameters
    ----------
    make
        The NamedTuple class of a state.
    values
        The value of each field: an array, a tuple of arrays, or a uniform value. None: of ``parent``, at ``places``.
    """

    __slots__ = ("make", "parent", "places", "values")

    def __init__(self, make: Any, values: Any, parent: ManyStates | None = None, places: Any = None) -> None:
        self.make, self.parent, self.places = make, parent, places
        self.values: list[Any] = list(values)

    def field(self, number: int) -> Any:
        """Return the values of one field."""
        found = self.values[number]
        if found is None and self.parent is not None:
            found = self.values[number] = taken(self.parent.field(number), self.places)
        return found

    def number_of(self, name: str) -> int:
        """Return the place of a field."""
        try:
            found: int = self.make._fields.index(name)
        except ValueError:
            raise NotOnArraysError(f"{name} of a state") from None
        return found

    def fields(self) -> Any:
        """Return all fields as a state."""
        return self.make._make([self.field(n) for n in range(len(self.values))])


class Changed(PerState):
    """What ``s._replace(...)`` gives: a state with other values of some fields."""

    __slots__ = ("base", "values")

    def __init__(self, base: ManyStates, values: dict[int, Any]) -> None:
        self.base, self.values = base, values

    def field(self, number: int) -> Any:
        """Return the values of one field."""
        return self.values[number] if number in self.values else self.base.field(number)

    def fields(self) -> Any:
        """Return all fields as a state."""
        return self.base.make._make([self.field(n) for n in range(len(self.base.values))])


def taken(value: Any, places: Any) -> Any:
    """Return a value in some of the states."""
    kind = type(value)
    if kind is np.ndarray:
        return value[places]
    if kind in SINGLE:
        return value
    if kind is ManyStates:
        return ManyStates(value.make, [None] * len(value.values), value, places)
    if kind is Changed:
        return Changed(taken(value.base, places), {n: taken(v, places) for n, v in value.values.items()})
    if isinstance(value, (tuple, list)) and holds_arrays(value):
        parts = [taken(part, places) for part in value]
        return tuple.__new__(kind, parts) if isinstance(value, tuple) else parts
    return value


def holds_arrays(value: Any) -> bool:
    """Whether a value has one number for each state somewhere."""
    kind = type(value)
    if kind in SINGLE:
        return False
    if kind in (np.ndarray, ManyStates, Changed):
        return True
    if isinstance(value, (tuple, list)):
        if SINGLE.issuperset(map(type, value)):  # a long table of numbers: at once
            return False
        return any(map(holds_arrays, value))
    if isinstance(value, dict):
        return any(map(holds_arrays, value.values()))
    return False


class Frame:
    """The variables of a function, for some of the states that it was called with.

    Attributes
    ----------
    count
        Number of states.
    places
        Which of the states of ``parent`` they are.
    parent
        The frame that was narrowed, or None.
    caller
        The frame in which the function was called, with the states of this one that is not narrowed, or None.
    function
        Whose variables they are.
    receive
        Takes the transitions that the rules yield.
    translate
        Makes a function for many states of one that the rules call.
    """

    __slots__ = (
        "_all",
        "caller",
        "count",
        "function",
        "parent",
        "places",
        "receive",
        "translate",
        "values",
    )
    caller: Frame | None
    function: Any
    receive: Callable[..., None]
    translate: Callable[[FunctionType], Any]

    def __init__(self, count: int, values: dict[str, Any], parent: Frame | None = None, places: Any = None) -> None:
        self.count, self.values, self.parent, self.places = count, values, parent, places
        self._all: Any = None
        if parent is not None:
            self.caller, self.function = parent.caller, parent.function
            self.receive, self.translate = parent.receive, parent.translate

    @classmethod
    def first(cls, count: int, receive: Callable[..., None], translate: Callable[[FunctionType], Any]) -> Frame:
        """Return the frame in which the rules are called."""
        frame = cls(count, {})
        frame.caller, frame.function = None, None
        frame.receive, frame.translate = receive, translate
        return frame

    def of_call(self, function: FunctionType, values: dict[str, Any]) -> Frame:
        """Return the frame of a function that is called with some arguments."""
        frame = Frame(self.count, values)
        frame.caller, frame.function = self, function
        frame.receive, frame.translate = self.receive, self.translate
        return frame

    def get(self, name: str) -> Any:
        """Return the value of a variable."""
        found = self.values.get(name, MISSING)
        if found is MISSING:
            if self.parent is None or name in self.values:
                raise NotOnArraysError(f"{name} may have no value")
            found = self.values[name] = taken(self.parent.get(name), self.places)
        return found

    def narrowed(self, places: Any) -> Frame:
        """Return a frame for some of the states."""
        return Frame(len(places), {}, self, places)

    @property
    def all_places(self) -> Any:
        """Which of the states of the whole run they are; None: all."""
        if self._all is None:
            if self.parent is None:
                return None if self.caller is None else self.caller.all_places
            above = self.parent.all_places
            self._all = self.places if above is None else above[self.places]
        return self._all
