"""Dependencies between flows, as columns: flows that start when others have finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.links import Routes
from hopflow.checks import format_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flows

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Followers", "actual_starts", "followers_of", "waits_of"]


class Followers(NamedTuple):
    """Dependencies of F flows: E pairs of a flow and its follower, which starts a delay, s, after the flow's end.

    Attributes
    ----------
    begin
        Offset in ``flow`` of each flow's followers, (F + 1,): ``flow[begin[f]:begin[f + 1]]`` are the followers of flow
        f.
    flow
        Followers of all flows, as indices, flow by flow, (E,).
    missing
        Number of predecessors of each flow, (F,).
    delay
        Time from the end of a flow to the start of its follower, s, (E,); NaN: the follower's ``start``.
    """

    begin: Integers
    flow: Integers
    missing: Integers
    delay: Floats

    @property
    def awaited(self) -> Integers:
        """Flow that each pair's follower waits for, (E,)."""
        return np.repeat(np.arange(len(self.missing)), np.diff(self.begin))

    def times(self, starts: Floats) -> tuple[Floats, Floats]:
        """Return times, s, from flows' ends to followers' starts, (E,), and earliest starts, (F,), by option ``start``.

        Parameters
        ----------
        starts
            ``start`` of each flow: with delays a time of the run, otherwise the time after its last predecessor, (F,).

        Examples
        --------
        >>> both = Followers(np.array([0, 1, 2, 2]), np.array([2, 2]), np.array([0, 0, 2]), np.array([0.1, 0.2]))
        >>> [times.tolist() for times in both.times(np.array([0.0, 0.0, 5.0]))]
        [[0.1, 0.2], [0.0, 0.0, 5.0]]
        """
        is_default = np.isnan(self.delay)
        earliest = np.array(starts, dtype=np.float64)
        earliest[self.flow[is_default]] = 0.0
        return np.where(is_default, starts[self.flow], self.delay), earliest


def waits_of(table: Flows) -> tuple[Integers, Integers, Floats]:
    """Return follower, predecessor and delay, s (NaN: none), of distinct pairs in the order of followers, (E,) each.

    A delay is NaN for a flow without delays.

    Raises
    ------
    ValueError
        For a name or a number that no other flow has.
    """
    column = table.columns["after"]
    if isinstance(column.values, Routes):
        routes = column.values
        counts = routes.counts[column.whole()]
        begin = np.repeat(routes.begin[column.whole()], counts)
        position = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        waits, awaited = np.repeat(np.arange(len(table)), counts), routes.places[begin + position]
    else:
        if not any(column.values):
            none = np.zeros(0, dtype=np.int64)
            return none, none, np.zeros(0)
        number = {name: f for f, name in enumerate(table.names)}
        pairs = [
            (f, number.get(reference, -1) if isinstance(reference, str) else int(reference))
            for f, after in enumerate(column)
            for reference in after
        ]
        waits, awaited = np.array(pairs, dtype=np.int64).T
    is_invalid = (awaited < 0) | (awaited >= len(table)) | (awaited == waits)
    if is_invalid.any():
        f = int(waits[np.argmax(is_invalid)])
        msg = f"must be names of other flows, or their numbers, 0 to {len(table) - 1}"
        raise ValueError(f"after of flow {table.name(f)!r} = {format_value(column[f])}: {msg}")
    keys, inverse = np.unique(waits * len(table) + awaited, return_inverse=True)
    delay = np.full(len(keys), -np.inf)
    with np.errstate(invalid="ignore"):  # of nan
        np.maximum.at(delay, inverse, _delays(table, np.bincount(waits, minlength=len(table))))
    return np.asarray(keys // len(table)), np.asarray(keys % len(table)), delay


def _delays(table: Flows, counts: Integers) -> Floats:
    """Return the delays after all predecessors, s, (E,); ``counts``: each flow's predecessors; NaN: no delays."""
    column = table.columns["delays"]
    if not any(column.values):
        return np.full(int(counts.sum()), np.nan)
    rows = [delays or (np.nan,) * n for delays, n in zip(column, counts.tolist(), strict=True)]
    return np.concatenate([np.array(row, dtype=np.float64) for row in rows])


def followers_of(table: Flows) -> Followers:
    """Return the dependencies between the flows of a table.

    Raises
    ------
    ValueError
        For a flow that waits for itself, over others, or for one that does not end.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow
    >>> from dfcmodel.network.flows import Flows
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
    followers = Followers(begin, waits[order], np.bincount(waits, minlength=F), delay[order])
    _check_order(table, followers)
    return followers


def _check_order(table: Flows, followers: Followers) -> None:
    """Raise ValueError for a cycle of flows that wait for each other."""
    missing = followers.missing.copy()
    ready = np.flatnonzero(missing == 0)
    count = len(ready)
    while ready.size:
        counts = followers.begin[ready + 1] - followers.begin[ready]
        offsets = np.repeat(followers.begin[ready] - np.cumsum(counts) + counts, counts)
        next_ones = followers.flow[offsets + np.arange(int(counts.sum()))]
        np.subtract.at(missing, next_ones, 1)
        ready = np.unique(next_ones[missing[next_ones] == 0])
        count += len(ready)
    if count < len(missing):
        f = int(np.argmax(missing > 0))
        msg = "must not wait for one another in a circle"
        raise ValueError(f"after of flow {table.name(f)!r} = {format_value(table.columns['after'][f])}: {msg}")


def actual_starts(followers: Followers, delays: Floats, earliest: Floats, finished: Floats) -> Floats:
    """Return the starts of flows, s, (F,), from the ends of their predecessors; NaN if one is unfinished.

    Parameters
    ----------
    delays, earliest
        As for `Followers.times`, s, (E,) and (F,); a flow without predecessors begins at its earliest time.
    finished
        Times at which the flows were complete, s, (F,); nan: never.

    Examples
    --------
    >>> after = Followers(np.array([0, 1, 2, 2]), np.array([2, 2]), np.array([0, 0, 2]), np.array([np.nan, np.nan]))
    >>> times = after.times(np.array([0.0, 1.0, 0.5]))
    >>> actual_starts(after, *times, np.array([3.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 3.5]
    """
    starts = earliest.copy()
    with np.errstate(invalid="ignore"):  # of nan
        np.maximum.at(starts, followers.flow, finished[followers.awaited] + delays)
    return starts
