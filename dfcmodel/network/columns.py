"""Columns of option values with integer codes, routes as arrays, and their index arithmetic."""

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
    "column_for",
    "column_of",
    "constant",
    "distinct",
    "distinct_rows",
    "encode",
    "encode_integers",
    "nodes_of",
    "place_table",
    "places_of",
    "present",
]

DENSE = 4
"""Largest ratio of possible keys to keys for which a lookup table is faster than a sort.

Without tables the all-to-all of 512 hosts in `benchmarks.fabrics` takes 1.25 times as long.
"""
QUICKLY_HASHED = frozenset((str, int, float, bool, type(None)))
"""Types whose hashes cost less than a lookup by object identity."""


class Column(Sequence[Any]):
    """The values of an option of F flows: ``values[which[f]]`` of flow f.

    This is `pandas.Categorical`, with ``values`` for its categories and ``which`` for its codes. pandas is not used:
    its import takes 0.2 s of CPU time, more than many runs, categories must not compare equal, as sizes in different
    units may, and a value of all flows has a code for each of them.

    Parameters
    ----------
    values
        The distinct values; a single one applies to all flows.
    which
        Index in ``values`` of each flow's value, shape (F,); None: all flows have the first value.
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
        """Return the index of each flow's value, shape (F,); read-only for a constant column."""
        return np.broadcast_to(np.int64(0), self.length) if self.which is None else self.which

    def map(self, value: Callable[[Any], Any]) -> Column:
        """Return the column with a function applied to each distinct value once."""
        return Column(tuple(map(value, self.values)), self.which, self.length)

    def array(self) -> NDArray[Any]:
        """Return the values as an array, shape (F, ...); read-only for a constant column."""
        values = np.array(self.values)
        if self.which is not None:
            return values.take(self.which, axis=0)
        if values.ndim > 1 or values.dtype.hasobject:
            return np.broadcast_to(values[0], (self.length, *values.shape[1:]))
        return constant(values, (self.length,))


def constant(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only array filled with one number, four times as fast as `numpy.broadcast_to`.

    >>> constant(np.int32(7), (2, 2)).tolist()
    [[7, 7], [7, 7]]
    """
    scalar = np.asarray(value)
    array: NDArray[Any] = np.ndarray(shape, scalar.dtype, scalar, 0, (0,) * len(shape))
    array.flags.writeable = False
    return array


def encode(values: Sequence[Any]) -> Column:
    """Return values as a column; its distinct values are in the order of their first occurrence.

    >>> column = encode(["b", "a", "b"])
    >>> column.values, column.which.tolist()
    (('b', 'a'), [0, 1, 0])
    """
    items = list(values)  # a temporary value would free its identity for the next one
    keys: list[Any] = items
    if items and isinstance(items[0], (float, int)) and PacketUnits in set(map(type, items)):
        keys = list(map(distinction, items))
        first = dict(zip(reversed(keys), reversed(items), strict=True))
        column = encode(keys)
        return Column(tuple(map(first.__getitem__, column.values)), column.which, column.length)
    codes: dict[Any, int] = defaultdict(itertools.count().__next__)  # a new key gets the next code
    code_of = codes
    end_types = map(type, (*items[:1], *items[-1:]))  # a check of all types takes as long as all hashes
    if not QUICKLY_HASHED.issuperset(end_types):
        keys = list(map(id, items))
        objects = dict(zip(keys, items, strict=True))  # many items are identical objects
        code_of = {key: codes[value] for key, value in objects.items()}
    which = np.fromiter(map(code_of.__getitem__, keys), np.int64, len(items))
    return Column(tuple(codes), which if len(codes) > 1 else None, len(items))


def column_of(values: Sequence[Any]) -> Column:
    """Return a sequence as a column; a column is returned unchanged."""
    return values if isinstance(values, Column) else encode(values)


def among(sequence: Sequence[Any]) -> Sequence[Any]:
    """Return the distinct values of a column; another sequence is returned unchanged.

    >>> among(Column(("x",), None, 3)), among(("x", "x"))
    (('x',), ('x', 'x'))
    """
    return sequence.values if isinstance(sequence, Column) else sequence


def nodes_of(name: str, nodes: Any) -> list[Hashable]:
    """Return nodes as a list; TypeError naming the first entry that is not hashable."""
    if getattr(nodes, "ndim", 0):  # of NumPy, JAX and others
        nodes = np.asarray(nodes).tolist()
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise TypeError(f"{name} = {format_value(nodes)}: must be a list of nodes")
    items = list(nodes)
    try:
        set(items)
    except TypeError:
        n = next(n for n, node in enumerate(items) if not isinstance(node, Hashable))
        msg = f"{name}[{n}] = {format_value(items[n])}: a node must be hashable"
        raise TypeError(msg) from None
    return items


def check_count(name: str, values: Any, count: int, of: str = "flows") -> None:
    """Raise ValueError unless the number of values is ``count``, the number of flows or links."""
    if len(values) != count:
        raise ValueError(f"{name}: {count_of(len(values), 'value')}, must be one, or one for each of {count} {of}")


def as_sequence(option: Any) -> Any:
    """Return a column of pandas, xarray or JAX as an array and a range as a list; other values unchanged."""
    if isinstance(option, range):
        return [*option]
    if hasattr(option, "__array__") and not isinstance(option, (np.ndarray, np.generic)) and np.ndim(option):
        return np.asarray(option)
    return option


def column_for(name: str, option: Any, count: int, of: str = "flows") -> Column:
    """Return the column of an option, a single value or a sequence of ``count`` values."""
    option = as_sequence(option)
    if isinstance(option, Column):
        check_count(name, option, count, of)
        return option
    if isinstance(option, np.ndarray) and option.ndim:
        check_count(name, option, count, of)
        if option.ndim == 1 and option.dtype.kind in "iufb":
            values, which = np.unique(option, return_inverse=True)
            return Column(values.tolist(), which.reshape(-1) if len(values) > 1 else None, count)
        option = option.tolist()
    if isinstance(option, (list, tuple)):
        check_count(name, option, count, of)
        try:
            return encode(option)
        except TypeError:  # `Flow` or `Link` reports the invalid value
            return Column(tuple(option), np.arange(count), count)
    return Column((option,), None, count)


class Routes(Sequence[tuple[int, ...]]):
    """A sequence of F routes, tuples of whole numbers, stored as one flat array.

    Parameters
    ----------
    places
        The entries of all routes, concatenated, shape (H,).
    counts
        Length of each route, shape (F,).

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
        """Return the routes of an iterable of sequences."""
        if isinstance(routes, Routes):
            return routes
        routes = list(routes)
        entries = np.fromiter(itertools.chain.from_iterable(routes), dtype=np.int64)
        return cls(entries, np.fromiter(map(len, routes), dtype=np.int64))

    @cached_property
    def begin(self) -> Integers:
        """Index in ``places`` of each route's first entry, shape (F,)."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def first(self) -> NDArray[Any]:
        """First entry of each route, shape (F,); no route may be empty."""
        return self.places[self.begin]

    @property
    def flow(self) -> Integers:
        """Index of the flow to which each entry belongs, shape (H,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def first_minimum(self, values: NDArray[Any]) -> Integers:
        """Return each route's entry with the minimum value, the first of equal minima, shape (F,).

        ``values`` has a value for each possible entry, such as the rates of all links.

        >>> Routes.of([(2, 0), (1,)]).first_minimum(np.array([3.0, 4.0, 5.0])).tolist()
        [0, 1]
        """
        entry_values = values[self.places]
        minimum = np.minimum.reduceat(entry_values, self.begin)[self.flow]
        matches = np.flatnonzero(entry_values == minimum)
        first = np.unique(self.flow[matches], return_index=True)[1]
        return np.asarray(self.places[matches[first]])

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


def encode_integers(values: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the distinct whole numbers in ascending order, and the index of each number among them.

    >>> unique, inverse = encode_integers(np.array([7, -2, 7]))
    >>> unique.tolist(), inverse.tolist()
    ([-2, 7], [1, 0, 1])
    """
    minimum = int(values.min()) if len(values) else 0
    span = int(values.max()) - minimum + 1 if len(values) else 0
    if span > DENSE * len(values) + 2**16:
        unique, inverse = np.unique(values, return_inverse=True)
        return unique, inverse.reshape(-1)
    used = np.zeros(span, dtype=np.bool_)
    used[values - minimum] = True
    unique = np.flatnonzero(used)
    return unique + minimum, (np.cumsum(used) - 1)[values - minimum]


def distinct(keys: NDArray[Any], span: int) -> tuple[Integers, Integers]:
    """Return the distinct keys in ascending order, and the index of their first occurrence.

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
        unique, first = np.unique(keys, return_index=True)
        return unique, first
    unique, at = present(keys, span), np.empty(span, dtype=np.int32)
    at[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the first of equal keys is written last
    return unique, at[unique].astype(np.int64)


def present(keys: NDArray[Any], span: int) -> Integers:
    """Return the distinct keys, whole numbers from 0 to ``span`` - 1, in ascending order.

    >>> present(np.array([5, 2, 5, 2, 9]), 10).tolist()
    [2, 5, 9]
    """
    if span <= DENSE * len(keys) + 2**12:
        used = np.zeros(span, dtype=np.bool_)
        used[keys] = True
        return np.flatnonzero(used)
    ordered = np.sort(keys)  # NumPy's unique, by hashes, takes 8 times as long
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return np.asarray(ordered[first])


def places_of(keys: NDArray[Any], queries: NDArray[Any]) -> Integers:
    """Return the index in ``keys`` of each query; -1 where it is absent.

    Keys are distinct whole numbers from 0.

    >>> places_of(np.array([5, 2, 9]), np.array([9, 3, 5])).tolist()
    [2, -1, 0]
    """
    span = int(keys.max(initial=-1)) + 1
    if span <= DENSE * len(queries) + 2**16:
        return np.asarray(place_table(keys, span + 1)[np.minimum(queries, span)], dtype=np.int64)
    if (keys[1:] > keys[:-1]).all():
        rows = np.minimum(keys.searchsorted(queries), len(keys) - 1)
    else:
        order = np.argsort(keys)
        rows = order[np.minimum(keys.searchsorted(queries, sorter=order), len(keys) - 1)]
    return np.where(keys[rows] == queries, rows, -1)


def place_table(keys: NDArray[Any], span: int) -> NDArray[np.int32]:
    """Return the index in ``keys`` of each number from 0 to ``span`` - 1, shape (span,); -1 where it is absent.

    >>> place_table(np.array([3, 1]), 5).tolist()
    [-1, 1, -1, 0, -1]
    """
    table = np.full(span, -1, dtype=np.int32)
    table[keys] = np.arange(len(keys))
    return table


def distinct_rows(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each row of integer columns is the first of its equal rows, shape (N,).

    >>> distinct_rows(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])).tolist()
    [True, True, True, False]
    """
    is_first = np.zeros(len(columns[0]), dtype=np.bool_)
    is_first[np.unique(np.transpose(columns), axis=0, return_index=True)[1]] = True
    return is_first
