"""Pauses of a run: the paused link, the interval and the link whose queue requested it."""

from __future__ import annotations

from collections import Counter
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
    [(name, np.int64) for name in ("link", "by", "priority", "fault")]
    + [(name, np.float64) for name in ("begin", "end")]
    + [("resumed", np.int64)]
)
"""Interval in which a link was paused. ``link``: index of the paused link in the scenario (-1 - flow: the access link
of a host); ``by``: index of the link whose queue requested the pause; ``priority``: the paused class (`PFC`; ALL: all
classes); ``fault`` = 1: a fault requested it, whatever the queue; ``begin``, ``end``: s (inf: it had not ended at the
end of the run); ``resumed`` = 1: its end was in transit at the end of the run, or a fault ends after the run."""


@dataclass(frozen=True)
class PauseStorm:
    """Ports that request pauses for ever by a fault, since when, s, and the links that they stop.

    Attributes
    ----------
    ports
        Names of the links whose queues request them (`Pause`, `PFC`: ``storm``).
    since
        Time at which they first paused a link, s.
    stopped
        Names of the links and access links that they had paused at the end of the run, directly or by the queues
        of stopped links. With `PFC` only the lossless classes stop.
    """

    ports: tuple[str, ...]
    since: float
    stopped: tuple[str, ...]

    def __str__(self) -> str:
        ports = ", ".join(self.ports)
        links = count_of(len(self.stopped), "link")
        return f"{ports}: asks for pauses for ever since {self.since:g} s; stopped by it: {links}"


def intervals_of(switches: Iterable[tuple[int, int, int, int, Any]], end: float) -> Any:
    """Return pauses before ``end``, s, rows of `PAUSED` by begin, from (link, by link, class, fault, begin, end, ...).

    Parameters
    ----------
    switches
        Tuples of the paused link, the requesting link, the class (or ALL), 1 for a fault and 0 otherwise, and the times
        in s at which pauses took effect, ended, took effect ...
    end
        End of the run, s.

    Returns
    -------
    numpy.ndarray
        Records of `PAUSED`.
    """
    rows = list(switches)
    pairs = np.array([row[:4] for row in rows], dtype=np.int64).reshape(-1, 4)
    counts = np.array([len(times) for *_, times in rows], dtype=np.int64)
    return intervals_of_pairs(pairs, counts, np.concatenate([[], *(row[4] for row in rows)]), end)


def intervals_of_pairs(
    pairs: NDArray[np.int64], counts: NDArray[np.int64], times: NDArray[np.float64], end: float
) -> Any:
    """Return pauses as `intervals_of` does; pairs (link, by, class, fault), (N, 4), numbers of their times, all times.

    Parameters
    ----------
    pairs
        Paused link, requesting link, class, and 1 for a fault, (N, 4).
    counts, times
        Number of times of each pair, (N,), and the concatenated times, s.
    end
        End of the run, s: later begins are left out, later ends are inf, as are ends that no time gives.

    Examples
    --------
    >>> pairs, counts = np.array([[0, 1, 3, 0], [2, 1, 3, 0]]), np.array([3, 1])
    >>> pauses = intervals_of_pairs(pairs, counts, np.array([0.1, 0.2, 0.5, 0.3]), 0.4)
    >>> pauses[["link", "begin", "end"]].tolist()
    [(0, 0.1, 0.2), (2, 0.3, inf)]
    """
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(owner)) - first[owner]
    begins = np.flatnonzero(position % 2 == 0)
    stops = np.append(times[1:], np.inf)[begins]
    stops[position[begins] == counts[owner[begins]] - 1] = np.inf
    pauses = np.zeros(len(begins), dtype=PAUSED)
    pauses["begin"], pauses["end"] = times[begins], stops
    for n, name in enumerate(("link", "by", "priority", "fault")):
        pauses[name] = pairs[owner[begins], n]
    pauses["resumed"] = np.isfinite(pauses["end"]) & (pauses["end"] >= end)
    pauses["end"][pauses["end"] >= end] = np.inf
    pauses = pauses[pauses["begin"] < end]
    return pauses[np.lexsort([pauses[name] for name in ("priority", "by", "link", "begin")])]


def require_pauses(run: Records) -> Any:
    """Return the pauses of a run, or raise ValueError for one that did not record them."""
    if run.paused is None:
        msg = "there were more at once than the packet level records; use a shorter sample"
        raise ValueError(f"pauses of {run.scenario.name!r}: {msg}")
    return run.paused


def pause_table(run: Records) -> xr.Dataset:
    """Return the pauses of a run as a table, in the order in which they began; see `Trajectory.pauses`."""
    import xarray as xr

    paused = require_pauses(run)
    end = float(run.time[-1])
    lasting = np.isinf(paused["end"])
    until = np.where(lasting, end, paused["end"])
    columns = {
        "link": _names_of(run, paused["link"]),
        "by": _names_of(run, paused["by"]),
        "priority": paused["priority"].copy(),
        "fault": paused["fault"] == 1,
        "begin": ("s", paused["begin"].copy()),
        "end": ("s", until),
        "duration": ("s", until - paused["begin"]),
        "lasting": lasting,
    }
    table = xr.Dataset()
    for name, column in columns.items():
        units, values = column if isinstance(column, tuple) else ("", column)
        table[name] = ("pause", values, {"units": units} if units else {})
    return table


def _names_of(run: Records, links: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return the name of each of ``links``, (len(links),); fast where few links occur many times."""
    different, places = np.unique(links, return_inverse=True)
    return np.array([link_name(run, int(n)) for n in different], dtype=str)[places]


def storm_of(run: Records) -> PauseStorm | None:
    """Return the storm at the end of a run, or None: pauses by faults that never end."""
    if run.paused is None:
        return None
    lasting = run.paused[np.isinf(run.paused["end"])]
    endless = lasting[(lasting["fault"] == 1) & (lasting["resumed"] == 0)]
    if not len(endless):
        return None
    faulty = set(endless["by"].tolist())
    stopped, asking = set[int](), set(faulty)
    while asking:
        newly_stopped = {int(row["link"]) for row in lasting if int(row["by"]) in asking} - stopped
        stopped |= newly_stopped
        asking = newly_stopped
    ports = tuple(link_name(run, n) for n in sorted(faulty))
    return PauseStorm(ports, float(endless["begin"].min()), tuple(link_name(run, n) for n in sorted(stopped)))


def chain_of_pauses(run: Records) -> tuple[str, ...]:
    """Return the names of the longest chain of links paused at one time in one class, each by the next; () without.

    The last link is not paused: its queue began the chain. In a circle it is the first link again. Congestion that
    spreads makes long chains.
    """
    paused = require_pauses(run)
    classes = [paused[paused["priority"] == priority] for priority in np.unique(paused["priority"])]
    longest = max((_longest_chain(of_class) for of_class in classes), key=len, default=())
    return tuple(link_name(run, n) for n in longest)


def _longest_chain(paused: Any) -> tuple[int, ...]:
    """Return the indices of the longest chain of links among pauses of one class, rows of `PAUSED` of some duration."""
    paused = paused[paused["end"] > paused["begin"]]
    moments = [(begin, 1, n) for n, begin in enumerate(paused["begin"].tolist())]
    moments += [(end, 0, n) for n, end in enumerate(paused["end"].tolist())]
    longest: tuple[int, ...] = ()
    onwards: dict[int, set[int]] = {}
    back: dict[int, set[int]] = {}
    requests: Counter[tuple[int, int]] = Counter()  # a queue and a fault of it may request the same pause
    for _, on, n in sorted(moments):  # at one instant pauses end before others begin
        link, by = int(paused["link"][n]), int(paused["by"][n])
        requests[link, by] += 1 if on else -1
        if on:
            onwards.setdefault(link, set()).add(by)
            back.setdefault(by, set()).add(link)
            before = _path(back, link, (by,))
            chain = (*before[::-1], *_path(onwards, by, before))
            longest = chain if len(chain) > len(longest) else longest
        elif requests[link, by] == 0:
            onwards[link].discard(by)
            back[by].discard(link)
    return longest


def _path(graph: dict[int, set[int]], start: int, without: tuple[int, ...]) -> tuple[int, ...]:
    """Return the longest simple path from ``start`` without nodes ``without``; ``graph``: next nodes by node."""
    ahead = (n for n in sorted(graph.get(start, ())) if n not in without)
    paths = [_path(graph, n, (*without, start)) for n in ahead if n != start]
    return (start, *max(paths, key=len, default=()))
