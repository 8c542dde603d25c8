"""The states of a chain in order: as arrays, and as the plain Python objects that rules see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.models.spaces import Space, sample_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["StateBlocks", "StateTable"]

STATES_PER_PART = 1 << 17
"""States that are converted to objects at once."""
MAX_NUMBERED_STATES = 2**62
"""Largest product whose states are numbered."""


class StateTable:
    """The states of a chain, or part of them, in order, as arrays of codes.

    Parameters
    ----------
    space
        The components of a state.
    codes
        The states, shape (components, states).

    Attributes
    ----------
    cached
        Cache of labels and rewards of models by their ``id``, for one answer; None without a cache.
    """

    def __init__(self, space: Space, codes: NDArray[np.int64]) -> None:
        self.space, self.codes = space, codes
        self.cached: dict[int, dict[str, Any]] | None = None

    @classmethod
    def of(cls, s: Any) -> StateTable:
        """Return the table of states from a table, from arrays, or from a list of names.

        Arrays from `arrays` carry their table; others are divided into values.
        """
        if isinstance(s, StateTable):
            return s
        if isinstance(s, StateBlocks):
            return s.table
        table = getattr(s, "_table", None)
        if isinstance(table, StateTable):
            return table
        if isinstance(s, (range, list)) or (isinstance(s, tuple) and not _is_columns(s)):
            return cls._of_names(s)
        fields = list(s) if isinstance(s, tuple) else [s]
        names = getattr(s, "_fields", None) or [f"state[{k}]" for k in range(len(fields))]
        values: dict[str, Any] = {}
        codes: list[NDArray[np.int64]] = []
        for name, field in zip(names, fields, strict=True):
            parts = [_encode(part) for part in (field if isinstance(field, tuple) else (field,))]
            codes += [code for _, code in parts]
            vector = isinstance(field, tuple)
            values[name] = tuple(listed for listed, _ in parts) if vector else parts[0][0]
        if not isinstance(s, tuple):
            return cls(Space.of_single(values["state[0]"]), np.array(codes))
        make = type(s)._make if hasattr(s, "_make") else None
        space = Space(None if make is None else type(s), values)
        return cls(space, np.array(codes, dtype=np.int64))

    @classmethod
    def _of_names(cls, names: Sequence[Any]) -> StateTable:
        """Return the table of states that are the single values in ``names``, in order."""
        if isinstance(names, range) and names.step == 1:
            return cls(Space.of_single(names), np.arange(names.start, names.stop)[None])
        listed = list(names)
        return cls(Space.of_single(listed), np.arange(len(listed))[None])

    @property
    def count(self) -> int:
        """Number of states in the table."""
        return int(self.codes.shape[1])

    @property
    def arrays(self) -> Any:
        """The states of the table as one ``State`` of arrays, from which `of` returns the same table."""
        columns = self.space.columns(self.codes)
        if isinstance(columns, tuple):
            named = hasattr(columns, "_make")
            state = _class_with_table(type(columns))(*columns) if named else _TupleWithTable(columns)
        else:
            state = columns.view(_ArrayWithTable)
        state._table = self
        return state

    def plain(self, indices: Sequence[int] | NDArray[Any] | None = None) -> Iterator[Any]:
        """Yield the states at ``indices`` (None: all) as plain Python objects, the arguments of rules."""
        count = self.count if indices is None else len(indices)
        for first in range(0, count, STATES_PER_PART):
            part = slice(first, first + STATES_PER_PART)
            codes = self.codes[:, part] if indices is None else self.codes[:, indices[part]]
            yield from self._states(codes)

    def _states(self, codes: NDArray[np.int64]) -> Iterator[Any]:
        """Return an iterator over the states with these codes, shape (components, states), as plain Python objects."""
        values = [
            code.tolist()
            if isinstance(component.values, range)
            else list(map(component.values.__getitem__, code.tolist()))
            for component, code in zip(self.space.components, codes, strict=True)
        ]
        return self.space.states_from_columns(values)

    def part(self, indices: NDArray[Any] | slice) -> StateTable:
        """Return a table of the states at ``indices`` only."""
        return StateTable(self.space, self.codes[:, indices])

    def sample(self) -> list[int]:
        """Return the indices of a sample of the states: extreme states, corners, and random ones."""
        if self.space.size < MAX_NUMBERED_STATES:
            return sample_of(self.space, self.codes)
        small = Space.of_single(range(self.count))
        return sample_of(small, np.arange(self.count)[None])

    def equal_groups(self, max_groups: int) -> list[NDArray[np.int64]] | None:
        """Return index arrays of groups of states that differ in integer components only.

        None if there are more than ``max_groups`` groups.
        """
        listed = [
            (component.count, code)
            for component, code in zip(self.space.components, self.codes, strict=True)
            if not isinstance(component.values, range)
        ]
        if not listed:
            return [np.arange(self.count)]
        number, size = np.zeros(self.count, dtype=np.int64), 1
        for count, code in listed:
            number, size = number * count + code, size * count
            if size > np.iinfo(np.int16).max:
                distinct, number = np.unique(number, return_inverse=True)
                number, size = number.ravel(), len(distinct)
        if size <= np.iinfo(np.int16).max:
            number = number.astype(np.int16)  # sorted in linear time
        order = np.argsort(number, kind="stable")
        cuts = np.flatnonzero(np.diff(number[order])) + 1
        return None if len(cuts) >= max_groups else np.split(order, cuts)


class StateBlocks:
    """The states of a large chain, in blocks that fit into memory together with their measures.

    It replaces a ``State`` of arrays over all states, which are built when a field is read.

    Parameters
    ----------
    count
        Number of states.
    blocks
        Yields them as `StateTable`, in order.
    table
        Returns the table of all states.
    """

    def __init__(
        self,
        count: int,
        blocks: Callable[[], Iterator[StateTable]],
        table: Callable[[], StateTable],
    ) -> None:
        self.count, self.blocks, self._table_of_all = count, blocks, table

    @property
    def table(self) -> StateTable:
        """The table of all states of the chain."""
        return self._table_of_all()

    def __getattr__(self, name: str) -> Any:
        """Return a field of the ``State`` of arrays over all states."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._table_of_all().arrays, name)


class _TupleWithTable(tuple):  # type: ignore[type-arg]
    """States without a NamedTuple class as a tuple of arrays, with the table that they came from."""

    _table: StateTable


class _ArrayWithTable(np.ndarray):
    """States that are single values as an array, with the table that they came from."""

    _table: StateTable


@cache
def _class_with_table(state: Any) -> Any:
    """Return a subclass of a ``State`` class whose instances can have a table as attribute."""
    return type(state.__name__, (state,), {"__module__": state.__module__})


def _is_columns(s: tuple[Any, ...]) -> bool:
    """Return whether a tuple is a ``State`` of arrays; False for a tuple of names of states."""
    parts = [part for field in s for part in (field if isinstance(field, tuple) else (field,))]
    return bool(parts) and all(isinstance(part, np.ndarray) for part in parts)


def _encode(values: NDArray[Any]) -> tuple[Any, NDArray[np.int64]]:
    """Return the values of a component, a range or a list, and the code of each entry of its array."""
    if values.dtype.kind in "iu" and values.size:
        codes = values.astype(np.int64)
        return range(int(codes.min()), int(codes.max()) + 1), codes
    codes_by_value: dict[Any, int] = {}
    codes = np.array([codes_by_value.setdefault(v, len(codes_by_value)) for v in values.tolist()], dtype=np.int64)
    return list(codes_by_value), codes
