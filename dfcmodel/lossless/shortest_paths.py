"""Which pairs of consecutive links lie on a shortest path: what ECMP may use, without listing the paths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["ShortestPaths", "numbers_of_ends"]


class ShortestPaths:
    """Which pairs of consecutive links lie on a shortest path between two ends.

    Attributes
    ----------
    tail, head
        The nodes of each of E links, by number, shape (E,).
    first, second
        The links of each dependency, shape (P,).
    towards
        An end to which a shortest path makes that dependency, shape (P,).
    """

    def __init__(self, graph: nx.DiGraph[Any], ends: Sequence[Any] | None) -> None:
        import scipy.sparse as sp
        from scipy.sparse.csgraph import shortest_path

        number = {node: k for k, node in enumerate(graph.nodes)}
        edges = np.array([(number[a], number[b]) for a, b in graph.edges], dtype=np.int64)
        self.tail, self.head = edges.reshape(-1, 2).T
        n = len(number)
        adjacency = sp.csr_matrix((np.ones(len(edges)), (self.tail, self.head)), shape=(n, n))
        self.ends = numbers_of_ends(graph, ends)
        self.distance = shortest_path(adjacency, unweighted=True)  # from, to
        first, second = self._consecutive(n)
        towards = np.full(len(first), -1, dtype=np.int64)
        open_ = np.arange(len(first))  # dependencies that no path has made so far
        for end in self.ends:
            shorter, used = self._towards(int(end))
            made = shorter[first[open_]] & shorter[second[open_]] & used[self.tail[first[open_]]]
            towards[open_[made]] = end
            open_ = open_[~made]
        kept = np.flatnonzero(towards >= 0)
        self.first, self.second, self.towards = first[kept], second[kept], towards[kept]

    def _consecutive(self, n: int) -> tuple[Ints, Ints]:
        """Return all pairs of links of which one begins where the other ends, except back."""
        order = np.argsort(self.tail, kind="stable")
        starts = np.searchsorted(self.tail[order], np.arange(n + 1))
        counts = np.diff(starts)[self.head]
        first = np.repeat(np.arange(len(self.tail)), counts)
        offsets = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        second = order[np.repeat(starts[self.head], counts) + offsets]
        onwards = self.tail[first] != self.head[second]
        return first[onwards], second[onwards]

    def _towards(self, end: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which links lead nearer to an end, and which nodes lie on a path to it."""
        distance = self.distance[:, end]
        with np.errstate(invalid="ignore"):
            shorter = distance[self.tail] - distance[self.head] == 1.0
        used = np.zeros(len(distance), dtype=bool)
        used[self.ends] = np.isfinite(distance[self.ends])
        steps = np.flatnonzero(shorter)
        steps = steps[np.argsort(-distance[self.tail[steps]], kind="stable")]
        levels = distance[self.tail[steps]]
        for level in np.unique(levels)[::-1]:
            here = steps[levels == level]
            used[self.head[here[used[self.tail[here]]]]] = True
        return shorter, used

    def path(self, i: int, j: int, end: int) -> list[int]:
        """Return the nodes of a shortest path from an end over links i and j to an end."""
        shorter, used = self._towards(end)
        before, after = [int(self.tail[i])], [int(self.head[j])]
        while before[0] not in self.ends:
            into = np.flatnonzero(shorter & (self.head == before[0]) & used[self.tail])
            before.insert(0, int(self.tail[into[0]]))
        while after[-1] != end:
            out = np.flatnonzero(shorter & (self.tail == after[-1]))
            after.append(int(self.head[out[0]]))
        return [*before, int(self.head[i]), *after]


def numbers_of_ends(graph: nx.DiGraph[Any], ends: Sequence[Any] | None) -> Ints:
    """Return the numbers of the nodes where traffic begins and ends, ascending.

    Raises
    ------
    ValueError
        For an end that is not a node of the graph.
    """
    number = {node: k for k, node in enumerate(graph.nodes)}
    if ends is None:
        hosts = dict(graph.nodes(data="hosts"))
        ends = [node for node, count in hosts.items() if count]
        ends = ends or [node for node, count in hosts.items() if count is None]
    given: Any = ends
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise TypeError(f"ends = {shown(given)}: must be a list of nodes")
    ends = list(given)
    for n, end in enumerate(ends):
        if not isinstance(end, Hashable) or end not in number:
            raise ValueError(f"ends[{n}] = {end!r}: not a node of the graph")
    return np.array(sorted({number[end] for end in ends}), dtype=np.int64)
