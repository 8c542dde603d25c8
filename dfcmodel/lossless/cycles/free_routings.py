"""Routings without deadlock: paths that first lead up and then down, and classes that change along a path.

Both order the buffers: every route visits its buffers in ascending order, so that their dependencies have no cycle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.topologies.routes import Route, check_digraph, parse_routes
from dfcmodel.lossless.topologies.shortest_paths import endpoint_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import networkx as nx
    from numpy.typing import NDArray

__all__ = ["UpDown", "class_per_hop", "class_per_turn", "up_down"]


def ranks(graph: nx.DiGraph[Any], root: Any = None) -> dict[Any, int]:
    """Return the rank of each node in a total order; a link towards a smaller rank leads up.

    The highest level is first if all nodes have the attribute ``level`` and ``root`` is None. Otherwise
    the order is by distance from the root, by default a node with the maximum number of links.
    """
    import networkx as nx

    nodes = list(graph.nodes)
    levels = dict(graph.nodes(data="level"))
    if root is None and None not in levels.values() and len(set(levels.values())) > 1:
        height = {node: -level for node, level in levels.items()}
    else:
        root = max(nodes, key=graph.degree) if root is None else root
        if root not in graph:
            raise ValueError(f"root = {root!r}: not a node of the graph")
        height = nx.single_source_shortest_path_length(graph, root)
        if missing := [node for node in nodes if node not in height]:
            raise ValueError(f"root = {root!r}: no path to {missing[0]!r}")
    order = sorted(range(len(nodes)), key=lambda k: (height[nodes[k]], k))
    return {nodes[k]: rank for rank, k in enumerate(order)}


@dataclass(frozen=True, eq=False)
class UpDown:
    """Shortest routes that never go up after they went down (Schroeder et al. 1991, Autonet).

    Attributes
    ----------
    ends
        Sources and targets of traffic.
    lengths
        Number of links of the route between two ends, shape (ends, ends); inf: there is no route.
    shortest
        Number of links of an unrestricted shortest path, same shape.

    Examples
    --------
    >>> from dfcmodel.lossless import torus, up_down
    >>> len(up_down(torus([3, 3])).route((0, 0), (1, 1)).nodes)  # by (0, 1) or (1, 0)
    3
    """

    ends: list[Any]
    lengths: NDArray[np.float64]
    shortest: NDArray[np.float64]
    _nodes: list[Any]
    _before: NDArray[np.int32]  # predecessor of each state, by source; negative: none
    _only_up: NDArray[np.bool_]  # whether a route never leads down

    @property
    def stretch(self) -> float:
        """Mean length of all routes over the mean length of the shortest paths; 1 if no route is longer."""
        pairs = ~np.eye(len(self.ends), dtype=bool)
        return float(self.lengths[pairs].mean() / self.shortest[pairs].mean())

    def route(self, source: Any, target: Any) -> Route:
        """Return the route from one end to another; ValueError if there is none, or for a node that is no end.

        Raises
        ------
        ValueError
            If there is no route, or a node is not in ``ends``.
        """
        for name, node in (("source", source), ("target", target)):
            if node not in self.ends:
                raise ValueError(f"{name} = {node!r}: must be an end of the traffic, such as {self.ends[0]!r}")
        row, col, n = self.ends.index(source), self.ends.index(target), len(self._nodes)
        if not np.isfinite(self.lengths[row, col]):
            raise ValueError(f"no route leads up and then down from {source!r} to {target!r}")
        path = [self._nodes.index(target) + (0 if self._only_up[row, col] else n)]
        while self._before[row, path[-1]] >= 0:
            path.append(int(self._before[row, path[-1]]))
        nodes = [self._nodes[v % n] for v in reversed(path)]
        return Route(nodes)

    def routes(self) -> Iterator[Route]:
        """Yield the routes between all ordered pairs of ends."""
        for source in self.ends:
            for target in self.ends:
                if source != target:
                    yield self.route(source, target)


def up_down(graph: nx.DiGraph[Any], ends: Sequence[Any] | None = None, *, root: Any = None) -> UpDown:
    """Return shortest routes that first lead up and then down: they never deadlock.

    Up is towards a higher ``level`` if all nodes have a level, otherwise towards the root; nodes of the same
    height are ordered. Every route first takes links in falling rank, then in rising rank. A cycle of
    buffers would need a turn from down to up.

    Parameters
    ----------
    graph
        The links of the network.
    ends
        Sources and targets of traffic; None as for `buffer_cycles`.
    root
        The highest node; None: by level, or a node with the maximum number of links.

    Raises
    ------
    ValueError
        For a root or an end that is not in the graph.

    Examples
    --------
    >>> from dfcmodel.lossless import buffer_cycles, torus, up_down
    >>> graph = torus([6, 6])
    >>> free = up_down(graph)
    >>> list(buffer_cycles(graph, free.routes()))
    []
    >>> round(free.stretch, 3)  # routes are longer than shortest paths
    1.074
    """
    import scipy.sparse as sp
    from scipy.sparse.csgraph import shortest_path

    rank, nodes = ranks(check_digraph(graph), root), list(graph.nodes)
    number, n = {node: k for k, node in enumerate(nodes)}, len(nodes)
    edges = np.array([(number[a], number[b]) for a, b in graph.edges], dtype=np.int64)
    node_rank = np.array([rank[node] for node in nodes])
    tail, head = edges.reshape(-1, 2).T
    up = node_rank[head] < node_rank[tail]
    # states: a node on the way up (0 .. n - 1) or on the way down (n .. 2 n - 1)
    source = np.concatenate([tail[up], tail[~up], tail[~up] + n])
    target = np.concatenate([head[up], head[~up] + n, head[~up] + n])
    states = sp.csr_matrix((np.ones(len(source)), (source, target)), shape=(2 * n, 2 * n))
    endpoints = endpoint_numbers(graph, ends)
    distance, before = shortest_path(states, unweighted=True, indices=endpoints, return_predecessors=True)
    plain = sp.csr_matrix((np.ones(len(tail)), (tail, head)), shape=(n, n))
    return UpDown(
        [nodes[k] for k in endpoints],
        np.minimum(distance[:, endpoints], distance[:, endpoints + n]),
        shortest_path(plain, unweighted=True, indices=endpoints)[:, endpoints],
        nodes,
        before,
        distance[:, endpoints] <= distance[:, endpoints + n],
    )


def class_per_hop(routes: Iterable[Any]) -> list[Route]:
    """Return routes with the number of the hop as class of traffic on each link (Gunther 1981).

    A buffer of class c only waits for buffers of class c + 1. The number of classes is the number of links of the
    longest route.

    Examples
    --------
    >>> from dfcmodel.lossless import class_per_hop
    >>> class_per_hop([["a", "b", "c"]])[0].classes
    (0, 1)
    """
    return [Route(route.nodes, tuple(range(len(route.nodes) - 1))) for route in parse_routes(routes)]


def class_per_turn(graph: nx.DiGraph[Any], routes: Iterable[Any], *, root: Any = None) -> list[Route]:
    """Return routes with a class of traffic that rises by one at each turn from down to up.

    Within a class, routes lead up and then down, as the routes of `up_down`; from a class they only lead
    to the next class. The paths do not change. The number of classes is the maximum number of such turns of a route,
    plus 1.

    Examples
    --------
    >>> import networkx as nx
    >>> from dfcmodel.lossless import class_per_turn, torus
    >>> graph = torus([4, 4])
    >>> paths = [path for _, ways in nx.all_pairs_shortest_path(graph) for path in ways.values()]
    >>> free = class_per_turn(graph, (path for path in paths if len(path) > 1))
    >>> max(max(route.classes) for route in free) + 1  # classes
    3
    """
    rank, classified = ranks(check_digraph(graph), root), []
    for n, route in enumerate(parse_routes(routes)):
        nodes = route.nodes
        if missing := [node for node in nodes if node not in rank]:
            raise ValueError(f"routes[{n}]: {missing[0]!r} is not a node of the graph")
        ups = [rank[b] < rank[a] for a, b in itertools.pairwise(nodes)]
        turns = [int(up and not before) for before, up in itertools.pairwise(ups)]
        classified.append(Route(nodes, (0, *np.cumsum(turns).tolist())))
    return classified
