"""Which pairs of consecutive links lie on a shortest path: what ECMP may use, without listing the paths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.lossless.topologies.fabrics import host_counts
from hopflow.checks import format_value
from hopflow.kernels import make_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx
    import scipy.sparse as sp
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["ShortestPaths", "numbers_of_ends"]


INTERPRETED = 100_000
"""Links times ends up to which loops run as plain Python: compiled ones take longer to load."""


class ShortestPaths:
    """Which pairs of consecutive links lie on a shortest path between two ends.

    From each end the distances to it are found by breadth-first search, then the nodes on shortest paths to
    it; at each of them every link that comes nearer is a dependency of every link that goes on. Nodes are visited in the
    order of the search, which `scipy.sparse.csgraph` does not return for many ends at once: with its distances, and arrays
    of all links, a torus of 24 x 24 switches takes five times as long.

    Attributes
    ----------
    tail, head
        The nodes of each of E links, by number, shape (E,).
    waits
        Sparse matrix, shape (E, E): one where some shortest path goes over link i and then over link j.
    """

    def __init__(self, graph: nx.DiGraph[Any], ends: Sequence[Any] | None) -> None:
        number = {node: k for k, node in enumerate(graph.nodes)}
        edges = np.array([(number[a], number[b]) for a, b in graph.edges], dtype=np.int64)
        self.tail, self.head = (np.ascontiguousarray(nodes) for nodes in edges.reshape(-1, 2).T)
        self.ends, self._nodes = numbers_of_ends(graph, ends), len(number)
        self._into, self._out = _by_node(self.head, len(number)), _by_node(self.tail, len(number))
        self.waits = self._dependencies()

    def _dependencies(self) -> sp.csr_matrix:
        import scipy.sparse as sp

        n, links = self._nodes, len(self.tail)
        quick = links * len(self.ends) > INTERPRETED
        follows = np.diff(self._out[0])[self.head]  # links that begin where each link ends
        row = np.concatenate([[0], np.cumsum(follows)])
        made = np.zeros(int(row[-1]), dtype=np.uint8)
        queue, nearer, distance = np.empty((3, n), dtype=np.int64)
        network = Directed(self.tail, self.head, *self._into, *self._out)
        scratch = Scratch(queue, nearer, distance, np.empty(n, dtype=np.uint8))
        (make_kernel(mark_pairs) if quick else mark_pairs)(self.ends, network, row, scratch, made)
        size = int(np.count_nonzero(made))
        kind: Any = np.int32 if max(size, links) < 2**31 else np.int64
        begin, indices = np.zeros(links + 1, dtype=kind), np.empty(size, dtype=kind)
        (make_kernel(collect_pairs) if quick else collect_pairs)(network, row, made, begin, indices)
        return sp.csr_matrix((np.ones(size), indices, begin), shape=(links, links))

    def _towards(self, end: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which links lead nearer to an end, and which nodes lie on a path to it."""
        import scipy.sparse as sp
        from scipy.sparse.csgraph import shortest_path

        back = (np.ones(len(self.tail)), (self.head, self.tail))
        backwards = sp.csr_matrix(back, shape=(self._nodes, self._nodes))
        distance = shortest_path(backwards, unweighted=True, indices=end)
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

    def path(self, i: int, j: int) -> list[int]:
        """Return the nodes of a shortest path between two ends over links i and j."""
        last = int(self.head[j])
        for end in sorted(self.ends.tolist(), key=lambda end: end != last):  # nearest by
            shorter, used = self._towards(end)
            if shorter[i] and shorter[j] and used[self.tail[i]]:
                break
        before, after = [int(self.tail[i])], [last]
        while before[0] not in self.ends:
            into = np.flatnonzero(shorter & (self.head == before[0]) & used[self.tail])
            before.insert(0, int(self.tail[into[0]]))
        while after[-1] != end:
            out = np.flatnonzero(shorter & (self.tail == after[-1]))
            after.append(int(self.head[out[0]]))
        return [*before, int(self.head[i]), *after]


def _by_node(node_of: Ints, n: int) -> tuple[Ints, Ints]:
    """Return where each node's links begin, shape (n + 1,), and the links in the order of their nodes."""
    links = np.argsort(node_of, kind="stable")
    return np.searchsorted(node_of[links], np.arange(n + 1)), links


class Directed(NamedTuple):
    """A directed graph: the nodes of each link, and the links into and out of each node, where each node's begin."""

    tail: Any
    head: Any
    in_begin: Any
    in_links: Any
    out_begin: Any
    out_links: Any


class Scratch(NamedTuple):
    """Room for one number per node."""

    queue: Any
    nearer: Any
    distance: Any
    used: Any


def mark_pairs(ends: Any, network: Any, row: Any, scratch: Any, made: Any) -> None:
    """Mark the pairs of links on shortest paths: ``made[row[i] + b]`` for link i and the b-th that follows."""
    tail, head, in_begin, in_links, out_begin, out_links = network
    queue, nearer, distance, used = scratch
    for k in range(len(ends)):
        for v in range(len(distance)):
            distance[v] = -1
            used[v] = 0
        queue[0] = ends[k]
        distance[ends[k]] = 0
        at = 0
        size = 1
        while at < size:  # against the links, from the end
            v = queue[at]
            at += 1
            for a in range(in_begin[v], in_begin[v + 1]):
                u = tail[in_links[a]]
                if distance[u] < 0:
                    distance[u] = distance[v] + 1
                    queue[size] = u
                    size += 1
        for other in range(len(ends)):
            used[ends[other]] = 1
        for back in range(1, size):  # the farthest first
            v = queue[size - back]
            for b in range(out_begin[v], out_begin[v + 1]):
                w = head[out_links[b]]
                if used[v] == 1 and distance[w] == distance[v] - 1:
                    used[w] = 1
        for at in range(1, size):
            v = queue[at]
            count = 0
            for b in range(out_begin[v], out_begin[v + 1]):
                if distance[head[out_links[b]]] == distance[v] - 1:
                    nearer[count] = b - out_begin[v]
                    count += 1
            for a in range(in_begin[v], in_begin[v + 1]):
                i = in_links[a]
                if used[tail[i]] == 1 and distance[tail[i]] == distance[v] + 1:
                    for n in range(count):
                        made[row[i] + nearer[n]] = 1


def collect_pairs(network: Any, row: Any, made: Any, begin: Any, indices: Any) -> None:
    """Write the marked pairs as the rows of a sparse matrix."""
    head, out_begin, out_links = network.head, network.out_begin, network.out_links
    size = 0
    for i in range(len(head)):
        first = out_begin[head[i]]
        for n in range(row[i], row[i + 1]):
            if made[n] == 1:
                indices[size] = out_links[first + n - row[i]]
                size += 1
        begin[i + 1] = size


def numbers_of_ends(graph: nx.DiGraph[Any], ends: Sequence[Any] | None) -> Ints:
    """Return the numbers of the nodes where traffic begins and ends, ascending.

    Raises
    ------
    ValueError
        For an end that is not a node of the graph, and for an attribute ``hosts`` that is no whole number.
    """
    number = {node: k for k, node in enumerate(graph.nodes)}
    if ends is None:
        counts = host_counts(graph)
        ends = [node for node, count in counts.items() if count]
        ends = ends or [node for node in graph.nodes if node not in counts]
    given: Any = ends
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise TypeError(f"ends = {format_value(given)}: must be a list of nodes")
    ends = list(given)
    for n, end in enumerate(ends):
        if not isinstance(end, Hashable) or end not in number:
            raise ValueError(f"ends[{n}] = {end!r}: not a node of the graph")
    return np.array(sorted({number[end] for end in ends}), dtype=np.int64)
