"""Columns in place of an object for each flow or link: the distinct values with the place of each, and routes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of, format_value
from hopflow.fork_safety import cached_property
from hopflow.units import PacketUnits, distinction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = [
    "Column",
    "Routes",
    "among",
    "check_count",
    "coded",
    "column_for",
    "column_of",
    "constant",
    "distinct",
    "distinct_rows",
    "encoded",
    "nodes_of",
    "place_table",
    "places_of",
    "present",
]

DENSE = 4
"""Possible keys per key up to which a table of all possible ones is faster than a sort."""
QUICKLY_HASHED = frozenset((str, int, float, bool, type(None)))
"""Types of values whose hashes cost less than to determine which of them are one object."""


class Column(Sequence[Any]):
    """The values of an option of F flows: ``values[which[f]]`` of flow f.

    This is `pandas.Categorical`, with ``values`` for its categories and ``which`` for its codes. pandas is not used: its
    import takes 0.2 s of CPU time, more than many runs, categories must not compare equal, as sizes in different units
    may, and a value of all flows has a code for each of them.

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
    if kept and isinstance(kept[0], (float, int)) and PacketUnits in set(map(type, kept)):
        keys = list(map(distinction, kept))
        first = dict(zip(reversed(keys), reversed(kept), strict=True))
        column = encoded(keys)
        return Column(tuple(map(first.__getitem__, column.values)), column.which, column.length)
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
        raise TypeError(f"{name} = {format_value(given)}: must be a list of nodes")
    found = list(given)
    try:
        set(found)
    except TypeError:
        n = next(n for n, node in enumerate(found) if not isinstance(node, Hashable))
        msg = f"{name}[{n}] = {format_value(found[n])}: a node must be hashable"
        raise TypeError(msg) from None
    return found


def check_count(name: str, given: Any, count: int, of: str = "flows") -> None:
    """Raise ValueError where there are not as many values as flows or links."""
    if len(given) != count:
        raise ValueError(f"{name}: {count_of(len(given), 'value')}, must be one, or one for each of {count} {of}")


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


class Routes(Sequence[tuple[int, ...]]):
    """A sequence of F routes, each a tuple of whole numbers, kept as one column.

    Parameters
    ----------
    places
        The entries of all routes, one route after the other, shape (H,).
    counts
        How many of them each route has, shape (F,).

    Examples
    --------
    >>> routes = Routes.of([(4, 7), (), (7,)])
    >>> routes[0], len(routes), routes.places.tolist()
    ((4, 7), 3, [4, 7, 7])
    """

    __slots__ = ("__dict__", "counts", "places")

    def __init__(self, places: NDArray[Any], counts: NDArray[Any]) -> None:
        self.places, self.counts = places, counts

    @classmethod
    def of(cls, routes: Iterable[Sequence[int]]) -> Routes:
        """Return routes that are given as sequences."""
        if isinstance(routes, Routes):
            return routes
        routes = list(routes)
        places = np.fromiter(itertools.chain.from_iterable(routes), dtype=np.int64)
        return cls(places, np.fromiter(map(len, routes), dtype=np.int64))

    @cached_property
    def begin(self) -> Integers:
        """Place of the first entry of each route, shape (F,)."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def first(self) -> NDArray[Any]:
        """The first entry of each route, of which none is empty, shape (F,)."""
        return self.places[self.begin]

    @property
    def flow(self) -> Integers:
        """Whose route each entry is in, shape (H,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def first_least(self, values: NDArray[Any]) -> Integers:
        """Return the entry of each route with the smallest of some values, the first of several, shape (F,).

        ``values`` has one for each possible entry, such as the rates of all links.

        >>> Routes.of([(2, 0), (1,)]).first_least(np.array([3.0, 4.0, 5.0])).tolist()
        [0, 1]
        """
        own = values[self.places]
        least = np.minimum.reduceat(own, self.begin)[self.flow]
        found = np.flatnonzero(own == least)
        first = np.unique(self.flow[found], return_index=True)[1]
        return np.asarray(self.places[found[first]])

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, f: Any) -> Any:
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(len(self))))
        begin = self.begin[f]
        return tuple(self.places[begin : begin + self.counts[f]].tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Routes):
            same = np.array_equal(self.counts, other.counts)
            return same and np.array_equal(self.places, other.places)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self.counts), self.places.tobytes()))

    def __repr__(self) -> str:
        return f"Routes of {count_of(len(self), 'flow')}, {count_of(len(self.places), 'hop')}"


def coded(values: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the distinct ones of some whole numbers in ascending order, and the place of each among them.

    >>> known, place = coded(np.array([7, -2, 7]))
    >>> known.tolist(), place.tolist()
    ([-2, 7], [1, 0, 1])
    """
    least = int(values.min()) if len(values) else 0
    span = int(values.max()) - least + 1 if len(values) else 0
    if span > DENSE * len(values) + 2**16:
        known, place = np.unique(values, return_inverse=True)
        return known, place.reshape(-1)
    used = np.zeros(span, dtype=np.bool_)
    used[values - least] = True
    known = np.flatnonzero(used)
    return known + least, (np.cumsum(used) - 1)[values - least]


def distinct(keys: NDArray[Any], span: int) -> tuple[Integers, Integers]:
    """Return the distinct keys in ascending order, and where each occurs first.

    Parameters
    ----------
    keys
        Whole numbers from 0 to ``span`` - 1, shape (N,).

    Examples
    --------
    >>> keys, first = distinct(np.array([5, 2, 5, 2, 9]), 10)
    >>> keys.tolist(), first.tolist()
    ([2, 5, 9], [1, 0, 4])
    """
    if span > DENSE * len(keys) + 2**16:
        found, first = np.unique(keys, return_index=True)
        return found, first
    found, at = present(keys, span), np.empty(span, dtype=np.int32)
    at[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # of equal keys the first one is written last
    return found, at[found].astype(np.int64)


def present(keys: NDArray[Any], span: int) -> Integers:
    """Return the distinct keys, whole numbers from 0 to ``span`` - 1, in ascending order.

    >>> present(np.array([5, 2, 5, 2, 9]), 10).tolist()
    [2, 5, 9]
    """
    if span <= DENSE * len(keys) + 2**12:
        used = np.zeros(span, dtype=np.bool_)
        used[keys] = True
        return np.flatnonzero(used)
    found = np.sort(keys)  # NumPy's unique, by hashes, takes 8 times as long
    first = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return np.asarray(found[first])


def places_of(known: NDArray[Any], asked: NDArray[Any]) -> Integers:
    """Return the place of each of some keys among those that are known, which differ; -1: it is not among them.

    The keys are whole numbers from 0.

    >>> places_of(np.array([5, 2, 9]), np.array([9, 3, 5])).tolist()
    [2, -1, 0]
    """
    span = int(known.max(initial=-1)) + 1
    if span <= DENSE * len(asked) + 2**16:
        return np.asarray(place_table(known, span + 1)[np.minimum(asked, span)], dtype=np.int64)
    if (known[1:] > known[:-1]).all():
        found = np.minimum(known.searchsorted(asked), len(known) - 1)
    else:
        order = np.argsort(known)
        found = order[np.minimum(known.searchsorted(asked, sorter=order), len(known) - 1)]
    return np.where(known[found] == asked, found, -1)


def place_table(known: NDArray[Any], span: int) -> NDArray[np.int32]:
    """Return the place of each key from 0 to ``span`` - 1 among some of them, which differ; -1: it is not among them, (span,).

    >>> place_table(np.array([3, 1]), 5).tolist()
    [-1, 1, -1, 0, -1]
    """
    table = np.full(span, -1, dtype=np.int32)
    table[known] = np.arange(len(known))
    return table


def distinct_rows(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each row of columns of whole numbers is the first of those that are equal, shape (N,).

    >>> distinct_rows(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])).tolist()
    [True, True, True, False]
    """
    found = np.zeros(len(columns[0]), dtype=np.bool_)
    found[np.unique(np.transpose(columns), axis=0, return_index=True)[1]] = True
    return found
