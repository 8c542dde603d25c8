"""Flows that start when others have finished: which ones, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.columns import Routes
from hopflow.checks import format_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flow_tables import Flows

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Followers", "actual_starts", "followers_of", "waits_of"]


class Followers(NamedTuple):
    """For F flows which others wait for them, E pairs in all.

    Attributes
    ----------
    begin
        First place in ``flow`` of those that wait for each flow, (F + 1,); those of flow f end where those of f + 1 begin.
    flow
        The flows that wait, (E,).
    missing
        For how many flows each one waits, (F,).
    delay
        Time from the end of a flow to the start of the one that waits for it, s, (E,); nan: the latter's ``start``.
    """

    begin: Integers
    flow: Integers
    missing: Integers
    delay: Floats

    @property
    def awaited(self) -> Integers:
        """For which flow each pair's waits, (E,)."""
        return np.repeat(np.arange(len(self.missing)), np.diff(self.begin))

    def times(self, starts: Floats) -> tuple[Floats, Floats]:
        """Return the time from the end of a flow to the start of one that waits for it, (E,), and the earliest starts, (F,), s.

        Parameters
        ----------
        starts
            ``start`` of each flow: with delays a time of the run, otherwise the time after the last flow, (F,).

        Examples
        --------
        >>> both = Followers(np.array([0, 1, 2, 2]), np.array([2, 2]), np.array([0, 0, 2]), np.array([0.1, 0.2]))
        >>> [each.tolist() for each in both.times(np.array([0.0, 0.0, 5.0]))]
        [[0.1, 0.2], [0.0, 0.0, 5.0]]
        """
        own = np.isnan(self.delay)
        earliest = np.array(starts, dtype=np.float64)
        earliest[self.flow[own]] = 0.0
        return np.where(own, starts[self.flow], self.delay), earliest


def waits_of(table: Flows) -> tuple[Integers, Integers, Floats]:
    """Return flows that wait, those for which they do, by their numbers, pair by pair and in order, and the delays, (E,) each.

    A delay is nan where the flow gives none.

    Raises
    ------
    ValueError
        For a name or a number that no other flow has.
    """
    column = table.columns["after"]
    if isinstance(column.values, Routes):
        given = column.values
        counts = given.counts[column.whole()]
        begin = np.repeat(given.begin[column.whole()], counts)
        place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        waits, awaited = np.repeat(np.arange(len(table)), counts), given.places[begin + place]
    else:
        if not any(column.values):
            none = np.zeros(0, dtype=np.int64)
            return none, none, np.zeros(0)
        number = {name: f for f, name in enumerate(table.names)}
        pairs = [
            (f, number.get(each, -1) if isinstance(each, str) else int(each))
            for f, after in enumerate(column)
            for each in after
        ]
        waits, awaited = np.array(pairs, dtype=np.int64).T
    wrong = (awaited < 0) | (awaited >= len(table)) | (awaited == waits)
    if wrong.any():
        f = int(waits[np.argmax(wrong)])
        msg = f"must be names of other flows, or their numbers, 0 to {len(table) - 1}"
        raise ValueError(f"after of flow {table.name(f)!r} = {format_value(column[f])}: {msg}")
    keys, one = np.unique(waits * len(table) + awaited, return_inverse=True)
    delay = np.full(len(keys), -np.inf)
    with np.errstate(invalid="ignore"):  # of nan
        np.maximum.at(delay, one, _delays(table, np.bincount(waits, minlength=len(table))))
    return np.asarray(keys // len(table)), np.asarray(keys % len(table)), delay


def _delays(table: Flows, counts: Integers) -> Floats:
    """Return the delays of flows that wait for so many others, one after the other, s; nan where they give none."""
    column = table.columns["delays"]
    if not any(column.values):
        return np.full(int(counts.sum()), np.nan)
    own = [given or (np.nan,) * n for given, n in zip(column, counts.tolist(), strict=True)]
    return np.concatenate([np.array(each, dtype=np.float64) for each in own])


def followers_of(table: Flows) -> Followers:
    """Return which flows wait for which.

    Raises
    ------
    ValueError
        For a flow that waits for itself, over others, or for one that does not end.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow
    >>> from dfcmodel.network.flow_tables import Flows
    >>> a, b = (Flow(name, (1, 2), CBR(9.0), size=2) for name in "ab")
    >>> c = Flow("c", (2, 1), CBR(9.0), after=("a", "b"))
    >>> followers_of(Flows.of([a, b, c]))
    Followers(begin=array([0, 1, 2, 2]), flow=array([2, 2]), missing=array([0, 0, 2]), delay=array([nan, nan]))
    """
    waits, awaited, delay = waits_of(table)
    F = len(table)
    endless = (table.numbers("size") == np.inf) & (table.numbers("stop") == np.inf)
    endless |= table.numbers("idle") < np.inf
    if endless[awaited].any():
        k = int(np.argmax(endless[awaited]))
        name, other = table.name(int(waits[k])), table.name(int(awaited[k]))
        msg = f"flow {other!r} must end: give its size, or its stop, and no idle"
        raise ValueError(f"after of flow {name!r} = {format_value(table.columns['after'][int(waits[k])])}: {msg}")
    order = np.argsort(awaited, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(awaited, minlength=F))])
    found = Followers(begin, waits[order], np.bincount(waits, minlength=F), delay[order])
    _check_order(table, found)
    return found


def _check_order(table: Flows, found: Followers) -> None:
    """Raise ValueError where flows wait for each other in a circle."""
    missing = found.missing.copy()
    ready = np.flatnonzero(missing == 0)
    count = len(ready)
    while ready.size:
        counts = found.begin[ready + 1] - found.begin[ready]
        places = np.repeat(found.begin[ready] - np.cumsum(counts) + counts, counts)
        next_ones = found.flow[places + np.arange(int(counts.sum()))]
        np.subtract.at(missing, next_ones, 1)
        ready = np.unique(next_ones[missing[next_ones] == 0])
        count += len(ready)
    if count < len(missing):
        f = int(np.argmax(missing > 0))
        msg = "must not wait for one another in a circle"
        raise ValueError(f"after of flow {table.name(f)!r} = {format_value(table.columns['after'][f])}: {msg}")


def actual_starts(found: Followers, delays: Floats, earliest: Floats, finished: Floats) -> Floats:
    """Return when flows began, s, (F,); nan: a flow for which one waits had not finished.

    Parameters
    ----------
    delays, earliest
        As of `Followers.times`, s, (E,) and (F,); a flow that does not wait begins at its earliest time.
    finished
        When each was complete, s, nan: never, (F,).

    Examples
    --------
    >>> after = Followers(np.array([0, 1, 2, 2]), np.array([2, 2]), np.array([0, 0, 2]), np.array([np.nan, np.nan]))
    >>> times = after.times(np.array([0.0, 1.0, 0.5]))
    >>> actual_starts(after, *times, np.array([3.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 3.5]
    """
    begun = earliest.copy()
    with np.errstate(invalid="ignore"):  # of nan
        np.maximum.at(begun, found.flow, finished[found.awaited] + delays)
    return begun
