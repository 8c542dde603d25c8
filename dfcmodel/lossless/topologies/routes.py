"""Routes through a network of switches, with the class of traffic on each link, and checks of graphs and routes."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.networks import check_states
from hopflow.checks import format_value

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Route", "check_digraph", "parse_routes"]


class Route(NamedTuple):
    """A route and the class of traffic, the paused priority, on each of its links.

    Parameters
    ----------
    nodes
        The switches from the first to the last.
    classes
        A class for all links, or a class for each of the ``len(nodes) - 1`` links.

    Examples
    --------
    >>> from dfcmodel.lossless import Route
    >>> Route(["a", "b", "c"], [0, 1]).channels()
    [('a', 'b', 0), ('b', 'c', 1)]
    """

    nodes: Sequence[Hashable]
    classes: int | Sequence[int] = 0

    def channels(self) -> list[tuple[Hashable, Hashable, int]]:
        """Return the links of the route with their classes, ``(from, to, class)``."""
        hops = list(zip(self.nodes, self.nodes[1:], strict=False))
        classes: Any = self.classes
        if isinstance(classes, numbers.Integral):
            classes = [classes] * len(hops)
        subject = f"classes = {classes!r} of route {self.nodes!r}"
        if isinstance(classes, (str, bytes)) or not isinstance(classes, Iterable):
            raise TypeError(f"{subject}: must be a whole number, or one for each of {len(hops)} links")
        classes = list(classes)
        if len(classes) != len(hops):
            raise ValueError(f"{subject}: must be one number, or one for each of {len(hops)} links")
        if not all(isinstance(c, numbers.Integral) for c in classes):
            raise TypeError(f"{subject}: must be whole numbers, such as the priorities 0 to 7")
        return [(a, b, int(c)) for (a, b), c in zip(hops, classes, strict=True)]


def check_digraph(graph: Any, name: str = "graph") -> nx.DiGraph[Any]:
    """Return a graph after checking that it is a networkx.DiGraph with a node.

    No link may lead from a node to itself, and none may be down (`check_states`).
    """
    import networkx as nx

    msg = "must be a networkx.DiGraph; for cables that go both ways write graph.to_directed()"
    if not isinstance(graph, nx.Graph):
        if isinstance(getattr(graph, "graph", None), nx.Graph):  # a Fabric
            msg = "must be a networkx.DiGraph: write its graph, fabric.graph"
        elif hasattr(graph, "flows"):  # a Scenario
            msg = (
                "must be a networkx.DiGraph; the command hopflow deadlock takes the file of a scenario (save_scenario)"
            )
        raise TypeError(f"{name} = {format_value(graph)}: {msg}")
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        parallel = "without parallel edges: a cable of the sum of their rates, or a switch for each"
        hint = f"must be a networkx.DiGraph, {parallel}" if graph.is_multigraph() else msg
        raise ValueError(f"{name} = {type(graph).__name__}: {hint}")
    if not len(graph):
        raise ValueError(f"{name}: must have a node at least")
    for node in nx.nodes_with_selfloops(graph):
        raise ValueError(f"{name}: a link leads from {node!r} to itself: must be two nodes")
    check_states(graph)
    return graph


def parse_routes(routes: Any, name: str = "routes") -> list[Route]:
    """Return lists of nodes or `Route` objects as routes, after checks.

    There must be at least one, each with at least two nodes, of which none follows itself.
    """
    if not isinstance(routes, Iterable) or isinstance(routes, (str, bytes)):
        raise TypeError(f"{name} = {format_value(routes)}: must be a list of lists of nodes")
    if hasattr(routes, "__array__"):  # the rows of a DataFrame
        routes = np.atleast_1d(np.asarray(routes))
    parsed = []
    for n, item in enumerate(routes):
        nodes = item.nodes if isinstance(item, Route) else item
        if not isinstance(nodes, Iterable) or isinstance(nodes, (str, bytes)):
            raise TypeError(f"{name}[{n}] = {format_value(item)}: must be a list of nodes")
        route = item if isinstance(item, Route) else Route(list(nodes))
        if len(route.nodes) < 2:
            raise ValueError(f"{name}[{n}] = {route.nodes!r}: must have two nodes at least")
        for node in route.nodes:
            if not isinstance(node, Hashable):
                raise TypeError(f"{name}[{n}] = {format_value(item)}: a node must be hashable")
        for node, after in itertools.pairwise(route.nodes):
            if node == after:
                raise ValueError(f"{name}[{n}]: node {node!r} follows itself: write it once")
        parsed.append(route)
    if not parsed:
        raise ValueError(f"{name} = {format_value(routes)}: must have at least one route")
    return parsed
