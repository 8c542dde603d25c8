"""Pauses of a run: the paused link, the interval and the link whose queue requested it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.results.standstills import link_name
from hopflow.checks import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.results.records import Records

__all__ = [
    "PAUSED",
    "PAUSES_NOTHING",
    "REQUEST",
    "PauseStorm",
    "chain_of_pauses",
    "intervals_of",
    "intervals_of_pairs",
    "pause_table",
    "requester_name",
    "requesters_of",
    "storm_of",
]

REQUEST = ["link", "by", "priority", "fault"]
"""Fields of `PAUSED` that say who may have requested a pause (`requesters_of`)."""
PAUSED = np.dtype(
    [(name, np.int64) for name in REQUEST] + [(name, np.float64) for name in ("begin", "end")] + [("resumed", np.int64)]
)
"""Interval in which a link was paused. ``link``: index of the paused link in the scenario (-1 - flow: the access link
of a host); ``by``: index of the link whose queue requested the pause, of links that are counted together the first one
(`requesters_of`); ``priority``: the paused class (`PFC`; ALL: all classes); ``fault`` = 1: a fault requested it,
whatever the queue; ``begin``, ``end``: s (inf: it had not ended at the end of the run); ``resumed`` = 1: its end was in
transit at the end of the run, or a fault ends after the run."""

PAUSES_NOTHING = "it pauses nothing: no link or host that obeys pauses feeds it with packets of a lossless class"
"""What is wrong with a fault that pauses no queue."""


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
    for n, name in enumerate(REQUEST):
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
        "by": _requesters(run, paused),
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


def requesters_of(run: Records, pause: Any) -> tuple[int, ...]:
    """Return the indices of the links that may have requested a pause, a row of `PAUSED`: one, or several of a node.

    Where a switch counts the packets of all its links together, these are its links to which flows of the paused class
    continue over the paused link.
    """
    by, scenario = int(pause["by"]), run.scenario
    group = scenario.count_group(by)
    if len(group) == 1 or int(pause["fault"]) == 1:
        return (by,)
    link = int(scenario.access_of(np.array([pause["link"]]))[0])
    following = scenario.continuations.get(link, {})
    return tuple(n for n in group if int(pause["priority"]) in following.get(n, ())) or group


def requester_name(run: Records, pause: Any) -> str:
    """Return the name of the link that requested a pause, or of its node if several links of it may have done so."""
    links = requesters_of(run, pause)
    return link_name(run, links[0]) if len(links) == 1 else _node_name(run, links[0])


def _node_name(run: Records, n: int) -> str:
    """Return "node" and the node from which link n leads."""
    return f"node {run.scenario.links[n].source}"


def _requesters(run: Records, paused: Any) -> NDArray[np.str_]:
    """Return `requester_name` of each pause, (N,); each pair of links once."""
    pairs, inverse = np.unique(paused[REQUEST], return_inverse=True)
    return np.array([requester_name(run, pair) for pair in pairs], dtype=str)[inverse.reshape(-1)]


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
    requests = [(int(row["link"]), set(requesters_of(run, row))) for row in lasting]
    while asking:
        newly_stopped = {link for link, requesters in requests if requesters & asking} - stopped
        stopped |= newly_stopped
        asking = newly_stopped
    ports = tuple(link_name(run, n) for n in sorted(faulty))
    return PauseStorm(ports, float(endless["begin"].min()), tuple(link_name(run, n) for n in sorted(stopped)))


def chain_of_pauses(run: Records) -> tuple[str, ...]:
    """Return the names of the longest chain of links paused at one time in one class, each by the next; () without.

    The last link is not paused: its queue began the chain. It is a node if the packets of the link before wait for
    several of its links, which it counts together. In a circle the last link is the first link again. Congestion that
    spreads makes long chains. Where circles share links, there may be longer chains.
    """
    paused = require_pauses(run)
    paused = paused[paused["end"] > paused["begin"]]
    classes = [paused[paused["priority"] == priority] for priority in np.unique(paused["priority"])]
    longest = max((_longest_chain(run, of_class) for of_class in classes), key=len, default=())
    links = len(run.scenario.links)
    return tuple(link_name(run, n) if n < links else _node_name(run, n - links) for n in longest)


def _longest_chain(run: Records, paused: Any) -> tuple[int, ...]:
    """Return the indices of the longest chain of links among pauses of one class, rows of `PAUSED` of some duration.

    The node from which link n leads has the index L + n.
    """
    pairs, pair_of = np.unique(paused[REQUEST], return_inverse=True)
    requests = [(int(pair["link"]), requesters_of(run, pair)) for pair in pairs]
    moments = [(begin, 1, n) for n, begin in enumerate(paused["begin"].tolist())]
    moments += [(end, 0, n) for n, end in enumerate(paused["end"].tolist())]
    in_effect = _RequestsInEffect(len(run.scenario.links))
    longest: tuple[int, ...] = ()
    for _, on, n in sorted(moments):  # at one instant pauses end before others begin
        link, by = requests[pair_of.reshape(-1)[n]]
        in_effect.count(link, by, 1 if on else -1)
        for cause in in_effect.causes(by) if on else ():
            before = _path(in_effect.behind, link, (cause,))
            chain = (*before[::-1], *_path(in_effect.ahead, cause, before))
            longest = chain if len(chain) > len(longest) else longest
    return longest


class _RequestsInEffect:
    """Requests of pauses that are in effect at one moment, by paused link and by the links that may have caused them.

    They are counted, as a queue and a fault of it may request the same pause.
    """

    def __init__(self, links: int) -> None:
        self.links = links
        self.by_link: dict[int, dict[tuple[int, ...], int]] = {}
        self.by_cause: dict[int, dict[int, int]] = {}

    def count(self, link: int, by: tuple[int, ...], change: int) -> None:
        """Add a request of the links ``by`` to pause a link (``change`` = 1), or remove it (-1)."""
        _count(self.by_link.setdefault(link, {}), by, change)
        for cause in by:
            _count(self.by_cause.setdefault(cause, {}), link, change)

    def causes(self, by: tuple[int, ...]) -> list[int]:
        """Return the links that explain a request: of several the paused ones; without any, their node (L + n)."""
        if len(by) == 1:
            return [*by]
        return [n for n in by if self.by_link.get(n)] or [self.links + by[0]]

    def ahead(self, link: int) -> set[int]:
        """Return the links, or the node, for which a paused link waits."""
        return {cause for by in self.by_link.get(link, ()) for cause in self.causes(by)}

    def behind(self, link: int) -> set[int]:
        """Return the paused links that wait for a link."""
        return {*self.by_cause.get(link, ())}


def _count(counts: dict[Any, int], key: Any, change: int) -> None:
    """Add ``change`` to the count of a key, and remove a count of zero."""
    counts[key] = counts.get(key, 0) + change
    if not counts[key]:
        del counts[key]


def _path(following: Callable[[int], set[int]], start: int, without: Iterable[int]) -> tuple[int, ...]:
    """Return the longest path from ``start`` that visits no node of ``without``; ``following``: next nodes of a node.

    Each node is visited once, which takes a time linear in the edges. In circles a path ends before a node that is
    being visited, so that it may be shorter than the longest one.
    """
    paths: dict[int, tuple[int, ...]] = dict.fromkeys(without, ())
    paths.pop(start, None)

    def visit(node: int) -> tuple[int, ...]:
        if node not in paths:
            paths[node] = ()
            paths[node] = (node, *max(map(visit, sorted(following(node))), key=len, default=()))
        return paths[node]

    return visit(start)
