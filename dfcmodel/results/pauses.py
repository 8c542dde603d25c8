"""Pauses of a run: which link stood still, when and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.results.standstills import link_name
from hopflow.checks import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.results.records import Records

__all__ = [
    "PAUSED",
    "PauseStorm",
    "chain_of_pauses",
    "intervals_of",
    "intervals_of_pairs",
    "pause_table",
    "storm_of",
]

PAUSED = np.dtype(
    [(name, np.int64) for name in ("link", "by", "priority")]
    + [(name, np.float64) for name in ("begin", "end")]
    + [("resumed", np.int64)]
)
"""A time in which a link was paused: its place in the scenario's links (-1 - flow: the access link of a
host), that of the link whose queue asked for it, the class that was paused (`PFC`; ALL: all of it), and when it took effect and ended in s (inf: it had not
ended when the run did); ``resumed`` = 1: its end was under way then."""


@dataclass(frozen=True)
class PauseStorm:
    """Ports that ask for pauses for ever, by a fault, and the links that stand still for it.

    Attributes
    ----------
    ports
        Names of the links whose queues do (`Pause`, `PFC`: ``storm``).
    since
        When the first link was paused by them, s.
    stopped
        Names of the links and access links that were paused at the end of the run because of them: by the
        ports, or by the queues of links that were. With `PFC` the lossless classes stand still.
    """

    ports: tuple[str, ...]
    since: float
    stopped: tuple[str, ...]

    def __str__(self) -> str:
        ports = ", ".join(self.ports)
        return f"{ports}: asks for pauses for ever since {self.since:g} s; stopped by it: {count_of(len(self.stopped), 'link')}"


def intervals_of(switches: Iterable[tuple[int, int, int, Any]], end: float) -> Any:
    """Return the pauses that took effect before ``end`` in s, in the order in which they began.

    Parameters
    ----------
    switches
        Of each pair of links, the paused one and the one that asks for it, and each class (or ALL), the times
        in s at which pauses took effect, ended, took effect ...
    end
        When the run ended, s.

    Returns
    -------
    numpy.ndarray
        Of `PAUSED`.
    """
    given = list(switches)
    pairs = np.array([each[:3] for each in given], dtype=np.int64).reshape(-1, 3)
    counts = np.array([len(times) for *_, times in given], dtype=np.int64)
    return intervals_of_pairs(pairs, counts, np.concatenate([[], *(each[3] for each in given)]), end)


def intervals_of_pairs(
    pairs: NDArray[np.int64], counts: NDArray[np.int64], times: NDArray[np.float64], end: float
) -> Any:
    """Return `intervals_of` switches that are given as columns.

    Parameters
    ----------
    pairs
        The paused link, the one that asks for it, and the class, (N, 3).
    counts, times
        How many times each has, (N,), and all of them, one after the other, s.
    end
        When the run ended, s.

    Examples
    --------
    >>> pairs, counts = np.array([[0, 1, 3], [2, 1, 3]]), np.array([3, 1])
    >>> found = intervals_of_pairs(pairs, counts, np.array([0.1, 0.2, 0.5, 0.3]), 0.4)
    >>> found[["link", "begin", "end"]].tolist()
    [(0, 0.1, 0.2), (2, 0.3, inf)]
    """
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(owner)) - first[owner]
    begins = np.flatnonzero(place % 2 == 0)
    ends = np.append(times[1:], np.inf)[begins]
    ends[place[begins] == counts[owner[begins]] - 1] = np.inf
    found = np.zeros(len(begins), dtype=PAUSED)
    found["begin"], found["end"] = times[begins], ends
    for n, name in enumerate(("link", "by", "priority")):
        found[name] = pairs[owner[begins], n]
    found["resumed"] = np.isfinite(found["end"]) & (found["end"] >= end)
    found["end"][found["end"] >= end] = np.inf
    found = found[found["begin"] < end]
    return found[np.lexsort([found[name] for name in ("priority", "by", "link", "begin")])]


def recorded(run: Records) -> Any:
    """Return the pauses of a run, or raise ValueError for one that did not record them."""
    if run.paused is None:
        msg = "there were more at once than the packet level records; use a shorter sample"
        raise ValueError(f"pauses of {run.scenario.name!r}: {msg}")
    return run.paused


def pause_table(run: Records) -> xr.Dataset:
    """Return the pauses of a run as a table, in the order in which they began; see `Trajectory.pauses`."""
    import xarray as xr

    paused = recorded(run)
    end = float(run.time[-1])
    lasting = np.isinf(paused["end"])
    until = np.where(lasting, end, paused["end"])
    columns = {
        "link": [link_name(run, int(n)) for n in paused["link"]],
        "by": [link_name(run, int(n)) for n in paused["by"]],
        "priority": paused["priority"].copy(),
        "begin": ("s", paused["begin"].copy()),
        "end": ("s", until),
        "duration": ("s", until - paused["begin"]),
        "lasting": lasting,
    }
    table = xr.Dataset()
    for name, column in columns.items():
        units, values = column if isinstance(column, tuple) else ("", column)
        kind = str if name in ("link", "by") else None
        table[name] = ("pause", np.array(values, dtype=kind), {"units": units} if units else {})
    return table


def storm_of(run: Records) -> PauseStorm | None:
    """Return the storm that a run ended in, or None: lasting pauses of ports that have begun to ask for them by a fault."""
    if run.paused is None:
        return None
    end, links = float(run.time[-1]), run.scenario.links
    lasting = run.paused[np.isinf(run.paused["end"])]
    began = {
        n
        for n in lasting["by"].tolist()
        if (begin := getattr(links[n].discipline, "storm", None)) is not None and begin < end
    }
    first = [
        float(begin)
        for by, begin in zip(lasting["by"].tolist(), lasting["begin"].tolist(), strict=True)
        if by in began and begin >= links[by].discipline.storm
    ]
    if not first:
        return None
    stopped, asking = set[int](), set(began)
    while asking:
        found = {int(row["link"]) for row in lasting if int(row["by"]) in asking} - stopped
        stopped |= found
        asking = found
    ports = tuple(link_name(run, n) for n in sorted(began))
    return PauseStorm(ports, min(first), tuple(link_name(run, n) for n in sorted(stopped)))


def chain_of_pauses(run: Records) -> tuple[str, ...]:
    """Return the longest chain of links that stood still at a time in one class, each paused by the next.

    The last link is not paused: its queue began the chain (in a circle it is the first one again).
    Congestion that spreads makes long chains.
    """
    paused = recorded(run)
    classes = [paused[paused["priority"] == priority] for priority in np.unique(paused["priority"])]
    longest = max((_longest_chain(own) for own in classes), key=len, default=())
    return tuple(link_name(run, n) for n in longest)


def _longest_chain(paused: Any) -> tuple[int, ...]:
    """Return the longest chain of links among pauses of one class; those that end as they begin stop nothing."""
    paused = paused[paused["end"] > paused["begin"]]
    moments = [(begin, 1, n) for n, begin in enumerate(paused["begin"].tolist())]
    moments += [(end, 0, n) for n, end in enumerate(paused["end"].tolist())]
    longest: tuple[int, ...] = ()
    onwards: dict[int, set[int]] = {}
    back: dict[int, set[int]] = {}
    for _, on, n in sorted(moments):  # what ends at an instant ends before others begin
        link, by = int(paused["link"][n]), int(paused["by"][n])
        if on:
            onwards.setdefault(link, set()).add(by)
            back.setdefault(by, set()).add(link)
            before = _path(back, link, (by,))
            chain = (*before[::-1], *_path(onwards, by, before))
            longest = chain if len(chain) > len(longest) else longest
        else:
            onwards[link].discard(by)
            back[by].discard(link)
    return longest


def _path(graph: dict[int, set[int]], start: int, without: tuple[int, ...]) -> tuple[int, ...]:
    """Return the longest path from a node on that meets no node twice and none of ``without``."""
    ahead = (n for n in sorted(graph.get(start, ())) if n not in without)
    paths = [_path(graph, n, (*without, start)) for n in ahead if n != start]
    return (start, *max(paths, key=len, default=()))
