"""Dependencies between buffers: the waits that routes cause between the links of a network.

A frame that arrived over link (u, v) and leaves over (v, w) stays in the buffer of (u, v) at v
while w pauses v. The buffer of (u, v) then waits for the buffer of (v, w): a *dependency*. Links with their class
of traffic are the vertices, dependencies the arcs. Without a cycle, buffers can be emptied one
after the other, and no deadlock is possible; a deadlock needs a cycle (Dally and Seitz, IEEE Transactions
on Computers 36(5), 1987, theorem 1).
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.cycles.cycle_searches import minimal_cycles
from dfcmodel.lossless.topologies.routes import Route, parse_routes
from dfcmodel.lossless.topologies.shortest_paths import ShortestPaths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import networkx as nx
    import scipy.sparse as sp
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["Dependencies", "dependencies_of_routes", "dependencies_of_shortest_paths"]


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Buffers of a network, and which of them wait for which.

    Attributes
    ----------
    channels
        The V buffers: links with their class, ``(from, to, class)``.
    waits
        Sparse boolean matrix, shape (V, V): entry (i, j) where buffer i waits for buffer j.
    witnesses
        Function that returns a route for a dependency (i, j); see `route_through`.
    unconnected
        Number of ordered pairs of ends without a path; 0 for given routes.
    ends
        Number of sources and targets of shortest paths; 0 for given routes.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock, torus
    >>> dependencies = deadlock(torus([3, 3])).dependencies
    >>> len(dependencies.channels), dependencies.is_free
    (36, False)
    """

    channels: list[tuple[Any, Any, int]]
    waits: sp.csr_matrix
    witnesses: Any
    unconnected: int = 0
    ends: int = 0

    @property
    def is_free(self) -> bool:
        """Whether the dependencies have no cycle, so that no deadlock is possible."""
        return not self.cyclic().size

    def cyclic(self) -> Ints:
        """Return the indices of the buffers on cycles, ascending, shape (n,)."""
        from scipy.sparse.csgraph import connected_components

        _, labels = connected_components(self.waits, directed=True, connection="strong")
        return np.flatnonzero(np.bincount(labels, minlength=1)[labels] > 1)

    def cycles(self) -> Iterator[list[int]]:
        """Yield distinct chordless cycles, as lists of indices of buffers (`minimal_cycles`)."""
        import scipy.sparse as sp

        cyclic = self.cyclic()
        for cycle in minimal_cycles(sp.csr_matrix(self.waits[cyclic][:, cyclic])):
            yield [int(cyclic[v]) for v in cycle]

    def route_through(self, i: int, j: int) -> Route:
        """Return a route that makes buffer i wait for buffer j."""
        route: Route = self.witnesses(i, j)
        return route


def dependencies_of_routes(graph: nx.DiGraph[Any], routes: Iterable[Any]) -> Dependencies:
    """Return the dependencies between buffers that routes on a graph cause.

    Parameters
    ----------
    graph
        The links of the network.
    routes
        Lists of nodes, all of class 0, or `Route` objects.

    Raises
    ------
    ValueError
        For a route over a link that the graph does not have, or with fewer than two nodes.
    """
    numbers: dict[tuple[Any, Any, int], int] = {}
    arcs: dict[tuple[int, int], Route] = {}
    for n, route in enumerate(parse_routes(routes)):
        indices = []
        for a, b, c in route.channels():
            if not graph.has_edge(a, b):
                raise ValueError(f"routes[{n}]: the graph has no link {a!r} -> {b!r}")
            indices.append(numbers.setdefault((a, b, c), len(numbers)))
        for arc in itertools.pairwise(indices):
            arcs.setdefault(arc, route)
    return Dependencies(list(numbers), _matrix(list(arcs), len(numbers)), lambda i, j: arcs[int(i), int(j)])


def dependencies_of_shortest_paths(graph: nx.DiGraph[Any], ends: Sequence[Any] | None = None) -> Dependencies:
    """Return the dependencies of all shortest paths between all endpoints, as ECMP may use them.

    Parameters
    ----------
    graph
        The links of the network; a path's length is its number of links.
    ends
        Sources and targets of traffic; None: the nodes whose attribute ``hosts`` is positive, or all nodes
        if none has that attribute.

    Raises
    ------
    ValueError
        For an endpoint that is not a node of the graph, fewer than two endpoints, and no path between any two.
    """
    nodes, paths = list(graph.nodes), ShortestPaths(graph, ends)
    links = np.flatnonzero(paths.is_crossed)
    if not links.size:
        raise ValueError(f"graph: must have a path between two of its {len(paths.endpoints)} ends")
    channels = [(nodes[a], nodes[b], 0) for a, b in zip(paths.tail[links], paths.head[links], strict=True)]
    waits = paths.waits if len(links) == len(paths.tail) else paths.waits[links][:, links]
    witnesses = functools.partial(_route, nodes, paths, links)
    return Dependencies(channels, waits, witnesses, paths.unconnected, len(paths.endpoints))


def _route(nodes: list[Any], paths: ShortestPaths, links: Ints, i: int, j: int) -> Route:
    """Return a route that makes buffer i wait for buffer j; a module-level function, so that results can be pickled."""
    return Route([nodes[v] for v in paths.path(int(links[i]), int(links[j]))])


def _matrix(arcs: Sequence[tuple[int, int]], n: int) -> sp.csr_matrix:
    """Return the adjacency matrix of arcs (i, j) among n buffers, shape (n, n)."""
    import scipy.sparse as sp

    pairs = np.array(arcs, dtype=np.int64).reshape(-1, 2)
    return sp.csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
