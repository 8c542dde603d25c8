"""Pairs of consecutive links on shortest paths, which ECMP may use, without enumeration of the paths."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.lossless.topologies.fabrics import host_counts
from hopflow.checks import count_of, format_value
from hopflow.kernels import make_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx
    import scipy.sparse as sp
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["ShortestPaths", "endpoint_numbers"]


MIN_ENDPOINTS = 2
"""Endpoints that traffic needs."""
INTERPRETED = 100_000
"""Links times endpoints up to which loops run as plain Python: compiled loops take longer to load."""


class ShortestPaths:
    """Pairs of consecutive links on shortest paths between two endpoints.

    A breadth-first search from each endpoint determines the distances to it, and then the nodes on shortest paths to
    it. At each of these nodes every incoming link depends on every outgoing link that reduces the distance. Nodes are
    visited in the order of the search, which `scipy.sparse.csgraph` does not return for many endpoints at once: with
    its distances, and arrays of all links, a torus of 24 x 24 switches takes five times as long.

    Attributes
    ----------
    tail, head
        The nodes of each of E links, by number, shape (E,).
    is_crossed
        Whether a shortest path between two endpoints crosses each link, shape (E,).
    unconnected
        Number of ordered pairs of endpoints without a path.
    waits
        Sparse matrix, shape (E, E): 1 where a shortest path crosses link i and then link j.
    """

    def __init__(self, graph: nx.DiGraph[Any], endpoints: Sequence[Any] | None) -> None:
        number = {node: k for k, node in enumerate(graph.nodes)}
        edges = np.array([(number[a], number[b]) for a, b in graph.edges], dtype=np.int64)
        self.tail, self.head = (np.ascontiguousarray(nodes) for nodes in edges.reshape(-1, 2).T)
        self.endpoints, self._nodes = endpoint_numbers(graph, endpoints), len(number)
        self._into, self._out = _by_node(self.head, len(number)), _by_node(self.tail, len(number))
        self.is_crossed, self.unconnected = np.zeros(len(edges), dtype=bool), 0
        self.waits = self._dependencies()

    def _dependencies(self) -> sp.csr_matrix:
        """Return the sparse matrix `waits`, shape (links, links); set `is_crossed` and `unconnected`."""
        import scipy.sparse as sp

        n, links = self._nodes, len(self.tail)
        compiled = links * len(self.endpoints) > INTERPRETED
        follows = np.diff(self._out[0])[self.head]  # number of links that leave the head of each link
        row = np.concatenate([[0], np.cumsum(follows)])
        marked = np.zeros(int(row[-1]), dtype=np.uint8)
        queue, nearer, distance = np.empty((3, n), dtype=np.int64)
        network = Directed(self.tail, self.head, *self._into, *self._out)
        scratch = Scratch(queue, nearer, distance, np.empty(n, dtype=np.uint8))
        mark = make_kernel(mark_pairs) if compiled else mark_pairs
        self.unconnected = int(mark(self.endpoints, network, row, scratch, marked, self.is_crossed))
        size = int(np.count_nonzero(marked))
        dtype: Any = np.int32 if max(size, links) < 2**31 else np.int64
        begin, indices = np.zeros(links + 1, dtype=dtype), np.empty(size, dtype=dtype)
        (make_kernel(collect_pairs) if compiled else collect_pairs)(network, row, marked, begin, indices)
        return sp.csr_matrix((np.ones(size), indices, begin), shape=(links, links))

    def _links_towards(self, endpoint: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return flags of links that lead nearer to an endpoint, and of nodes on shortest paths to it."""
        import scipy.sparse as sp
        from scipy.sparse.csgraph import shortest_path

        back = (np.ones(len(self.tail)), (self.head, self.tail))
        backwards = sp.csr_matrix(back, shape=(self._nodes, self._nodes))
        distance = shortest_path(backwards, unweighted=True, indices=endpoint)
        with np.errstate(invalid="ignore"):
            shorter = distance[self.tail] - distance[self.head] == 1.0
        used = np.zeros(len(distance), dtype=bool)
        used[self.endpoints] = np.isfinite(distance[self.endpoints])
        steps = np.flatnonzero(shorter)
        steps = steps[np.argsort(-distance[self.tail[steps]], kind="stable")]
        levels = distance[self.tail[steps]]
        for level in np.unique(levels)[::-1]:
            level_steps = steps[levels == level]
            used[self.head[level_steps[used[self.tail[level_steps]]]]] = True
        return shorter, used

    def path(self, i: int, j: int) -> list[int]:
        """Return the nodes of a shortest path between two endpoints over links i and j, by number."""
        last = int(self.head[j])
        for endpoint in sorted(self.endpoints.tolist(), key=lambda endpoint: endpoint != last):  # the next node first
            shorter, used = self._links_towards(endpoint)
            if shorter[i] and shorter[j] and used[self.tail[i]]:
                break
        before, after = [int(self.tail[i])], [last]
        while before[0] not in self.endpoints:
            into = np.flatnonzero(shorter & (self.head == before[0]) & used[self.tail])
            before.insert(0, int(self.tail[into[0]]))
        while after[-1] != endpoint:
            out = np.flatnonzero(shorter & (self.tail == after[-1]))
            after.append(int(self.head[out[0]]))
        return [*before, int(self.head[i]), *after]


def _by_node(node_of: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the first position of each node's links, shape (n + 1,), and the links in the order of their nodes."""
    links = np.argsort(node_of, kind="stable")
    return np.searchsorted(node_of[links], np.arange(n + 1)), links


class Directed(NamedTuple):
    """A directed graph in arrays: tail and head of each link, and the links into and out of each node."""

    tail: Any
    head: Any
    in_begin: Any
    in_links: Any
    out_begin: Any
    out_links: Any


class Scratch(NamedTuple):
    """Work arrays with one number per node."""

    queue: Any
    nearer: Any
    distance: Any
    used: Any


def mark_pairs(ends: Any, network: Any, row: Any, scratch: Any, made: Any, crossed: Any) -> int:
    """Kernel: flag in ``made[row[i] + b]`` link i and the b-th after it on a shortest path; return pairs without one.

    ``crossed[i]`` is set to True if link i is. Returns the number of pairs of ends without a path.
    """
    tail, head, in_begin, in_links, out_begin, out_links = network
    queue, nearer, distance, used = scratch
    unconnected = 0
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
            if distance[ends[other]] < 0:
                unconnected += 1
        for back in range(1, size):  # the farthest first
            v = queue[size - back]
            for b in range(out_begin[v], out_begin[v + 1]):
                w = head[out_links[b]]
                if used[v] == 1 and distance[w] == distance[v] - 1:
                    used[w] = 1
        for at in range(size):
            v = queue[at]
            count = 0
            for b in range(out_begin[v], out_begin[v + 1]):
                if at > 0 and distance[head[out_links[b]]] == distance[v] - 1:  # paths stop at the endpoint
                    nearer[count] = b - out_begin[v]
                    count += 1
            for a in range(in_begin[v], in_begin[v + 1]):
                i = in_links[a]
                if used[tail[i]] == 1 and distance[tail[i]] == distance[v] + 1:
                    crossed[i] = True
                    for n in range(count):
                        made[row[i] + nearer[n]] = 1
    return unconnected


def collect_pairs(network: Any, row: Any, made: Any, begin: Any, indices: Any) -> None:
    """Kernel: write the marked pairs as the rows of a sparse matrix, ``begin`` and ``indices``."""
    head, out_begin, out_links = network.head, network.out_begin, network.out_links
    size = 0
    for i in range(len(head)):
        first = out_begin[head[i]]
        for n in range(row[i], row[i + 1]):
            if made[n] == 1:
                indices[size] = out_links[first + n - row[i]]
                size += 1
        begin[i + 1] = size


def endpoint_numbers(graph: nx.DiGraph[Any], endpoints: Sequence[Any] | None) -> Ints:
    """Return the numbers of the endpoints, ascending, shape (n,); ``endpoints`` None: nodes with hosts, or all nodes.

    Raises
    ------
    ValueError
        For an endpoint that is not a node of the graph, an attribute ``hosts`` that is no whole number, and fewer than
        two endpoints, between which there is no traffic.
    """
    number = {node: k for k, node in enumerate(graph.nodes)}
    from_graph = endpoints is None
    if endpoints is None:
        counts = host_counts(graph)
        endpoints = [node for node, count in counts.items() if count]
        endpoints = endpoints or [node for node in graph.nodes if node not in counts]
    nodes: Any = endpoints
    if not isinstance(nodes, Iterable) or isinstance(nodes, (str, bytes)):
        raise TypeError(f"ends = {format_value(nodes)}: must be a list of nodes")
    endpoints = list(nodes)
    for n, endpoint in enumerate(endpoints):
        if not isinstance(endpoint, Hashable) or endpoint not in number:
            raise ValueError(f"ends[{n}] = {endpoint!r}: not a node of the graph")
    numbers = sorted({number[endpoint] for endpoint in endpoints})
    if len(numbers) < MIN_ENDPOINTS:
        subject = f"{count_of(len(numbers), 'node')} with hosts" if from_graph else f"ends = {format_value(endpoints)}"
        raise ValueError(f"{subject}: must be at least {MIN_ENDPOINTS} nodes; traffic goes from one to another")
    return np.array(numbers, dtype=np.int64)
