"""Columns of values: one for all flows or links, or as many as differ, with the place of each."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = [
    "Column",
    "among",
    "check_count",
    "column_for",
    "column_of",
    "constant",
    "encoded",
    "nodes_of",
]


QUICKLY_HASHED = frozenset((str, int, float, bool, type(None)))
"""Types of values whose hashes cost less than to determine which of them are one object."""


class Column(Sequence[Any]):
    """The values of an option of F flows: ``values[which[f]]`` of flow f.

    Parameters
    ----------
    values
        The values: one for all flows, or as many as ``which`` tells apart.
    which
        Place of the value of each flow, shape (F,); None: all have the first one.
    length
        F.

    Examples
    --------
    >>> column = Column(("x", "y"), np.array([1, 0, 1]), 3)
    >>> list(column), column[0]
    (['y', 'x', 'y'], 'y')
    """

    __slots__ = ("length", "values", "which")

    def __init__(self, values: Sequence[Any], which: Integers | None, length: int) -> None:
        self.values, self.which, self.length = values, which, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, f: Any) -> Any:
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(self.length)))
        return self.values[0 if self.which is None else int(self.which[f])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Column, tuple)):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __iter__(self) -> Iterator[Any]:
        if self.which is None:
            return iter([self.values[0]] * self.length)
        return map(self.values.__getitem__, self.which.tolist())

    def whole(self) -> Integers:
        """Return the place of the value of each, shape (F,); read-only where all have one."""
        return np.broadcast_to(np.int64(0), self.length) if self.which is None else self.which

    def map(self, value: Callable[[Any], Any]) -> Column:
        """Return the column of what follows from each value, computed once for each."""
        return Column(tuple(map(value, self.values)), self.which, self.length)

    def array(self) -> NDArray[Any]:
        """Return the values as an array, shape (F, ...); read-only where all are one."""
        found = np.array(self.values)
        if self.which is not None:
            return found.take(self.which, axis=0)
        if found.ndim > 1 or found.dtype.hasobject:
            return np.broadcast_to(found[0], (self.length, *found.shape[1:]))
        return constant(found, (self.length,))


def constant(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only array of one number, as `numpy.broadcast_to` does in four times the time.

    >>> constant(np.int32(7), (2, 2)).tolist()
    [[7, 7], [7, 7]]
    """
    given = np.asarray(value)
    found: NDArray[Any] = np.ndarray(shape, given.dtype, given, 0, (0,) * len(shape))
    found.flags.writeable = False
    return found


def encoded(given: Sequence[Any]) -> Column:
    """Return a column of the distinct ones of some values, in the order of their first occurrence.

    >>> column = encoded(["b", "a", "b"])
    >>> column.values, column.which.tolist()
    (('b', 'a'), [0, 1, 0])
    """
    kept = list(given)  # so that no two of them have one identity in turn
    keys: list[Any] = kept
    place: dict[Any, int] = defaultdict(itertools.count().__next__)  # each new key is the next one
    code = place
    ends = map(type, (*kept[:1], *kept[-1:]))  # to ask all of them takes as long as their hashes
    if not QUICKLY_HASHED.issuperset(ends):
        keys = list(map(id, kept))
        objects = dict(zip(keys, kept, strict=True))  # most are identical
        code = {each: place[value] for each, value in objects.items()}
    which = np.fromiter(map(code.__getitem__, keys), np.int64, len(kept))
    return Column(tuple(place), which if len(place) > 1 else None, len(kept))


def column_of(given: Sequence[Any]) -> Column:
    """Return a column as it is, another sequence encoded."""
    return given if isinstance(given, Column) else encoded(given)


def among(given: Sequence[Any]) -> Sequence[Any]:
    """Return the values that occur in a column, without a look at each flow; another sequence as it is.

    >>> among(Column(("x",), None, 3)), among(("x", "x"))
    (('x',), ('x', 'x'))
    """
    return given.values if isinstance(given, Column) else given


def nodes_of(name: str, given: Any) -> list[Hashable]:
    """Return nodes as a list."""
    if getattr(given, "ndim", 0):  # of NumPy, JAX and others
        given = np.asarray(given).tolist()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} = {shown(given)}: must be a list of nodes")
    found = list(given)
    try:
        set(found)
    except TypeError:
        n = next(n for n, node in enumerate(found) if not isinstance(node, Hashable))
        msg = f"{name}[{n}] = {shown(found[n])}: a node must be hashable"
        raise TypeError(msg) from None
    return found


def check_count(name: str, given: Any, count: int, of: str = "flows") -> None:
    """Raise ValueError where there are not as many values as flows or links."""
    if len(given) != count:
        raise ValueError(
            f"{name}: {len(given)} values, must be one, or one for each of {count} {of}"
        )


def column_for(name: str, given: Any, count: int, of: str = "flows") -> Column:
    """Return the column of an option: one value for all flows or links, or one for each."""
    if isinstance(given, Column):
        check_count(name, given, count, of)
        return given
    if isinstance(given, np.ndarray) and given.ndim:
        check_count(name, given, count, of)
        if given.ndim == 1 and given.dtype.kind in "iufb":
            values, which = np.unique(given, return_inverse=True)
            return Column(values.tolist(), which.reshape(-1) if len(values) > 1 else None, count)
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        check_count(name, given, count, of)
        try:
            return encoded(given)
        except TypeError:  # `_check` says what is wrong with them
            return Column(tuple(given), np.arange(count), count)
    return Column((given,), None, count)
