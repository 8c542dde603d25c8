"""Routes of all flows as columns: nodes, links or ports, flow by flow, without an object per flow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Routes", "coded", "distinct", "distinct_rows", "places_of", "present"]

DENSE = 4
"""Possible keys per key up to which a table of all possible ones is faster than a sort."""


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
        return f"Routes of {len(self)} flows, {len(self.places)} hops"


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
        at = np.full(max(span, int(asked.max(initial=-1)) + 1), -1, dtype=np.int64)
        at[known] = np.arange(len(known))
        return np.asarray(at[asked])
    if (known[1:] > known[:-1]).all():
        found = np.minimum(known.searchsorted(asked), len(known) - 1)
    else:
        order = np.argsort(known)
        found = order[np.minimum(known.searchsorted(asked, sorter=order), len(known) - 1)]
    return np.where(known[found] == asked, found, -1)


def distinct_rows(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each row of columns of whole numbers is the first of those that are equal, shape (N,).

    >>> distinct_rows(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])).tolist()
    [True, True, True, False]
    """
    found = np.zeros(len(columns[0]), dtype=np.bool_)
    found[np.unique(np.transpose(columns), axis=0, return_index=True)[1]] = True
    return found
