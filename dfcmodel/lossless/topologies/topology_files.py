"""Topologies and routes from TOML files, for `deadlock`.

A file lists links as a scenario's file does, or cables, which are links in both directions. Routes are those
of its flows; without flows, all shortest paths count, between the hosts where some are named::

    cables = [["leaf1", "spine1"], ["leaf2", "spine1"]]
    links = [{source = "leaf1", target = "leaf2"}]
    hosts = ["leaf1", "leaf2"]
    flows = [{path = ["leaf1", "spine1", "leaf2"], priority = 3}]

So the file of a scenario is one of a topology; its rates, delays and disciplines are not looked at.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.cycles.buffer_dependencies import Route
from hopflow.checks import choice

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["load_topology", "read_topology"]

KEYS = ("cables", "links", "hosts", "flows")
OF_A_SCENARIO = ("name", "duration", "min_rto", "packet_size", "link", "flow", "elements")
"""Keys of the file of a scenario that say nothing of a topology."""


def load_topology(path: str | Path) -> tuple[nx.DiGraph[Any], list[Route] | None]:
    """Read a topology from a file; see `read_topology`.

    Raises
    ------
    ValueError
        Naming the file and the key that cannot be used.
    OSError
        When the file cannot be read.
    """
    try:
        return read_topology(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_topology(text: str) -> tuple[nx.DiGraph[Any], list[Route] | None]:
    """Return the links and the routes of a topology; None where the file has no flows.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock
    >>> from dfcmodel.lossless.topologies.topology_files import read_topology
    >>> deadlock(*read_topology('cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]')).is_free
    False
    """
    import networkx as nx

    data = tomllib.loads(text)
    for key in data:
        choice("key", key, (*KEYS, *OF_A_SCENARIO))
    graph: nx.DiGraph[Any] = nx.DiGraph()
    for n, cable in enumerate(_list(data, "cables")):
        if not isinstance(cable, list) or len(cable) != 2:
            raise ValueError(f"cables[{n}] = {cable!r}: must be two nodes")
        a, b = cable
        graph.add_edges_from([(a, b), (b, a)])
    for n, link in enumerate(_list(data, "links")):
        if not isinstance(link, dict) or not {"source", "target"} <= set(link):
            raise ValueError(f"links[{n}] = {link!r}: must have a source and a target")
        graph.add_edge(link["source"], link["target"])
    if not graph:
        raise ValueError("links, cables: must be given, at least one of them")
    for n, host in enumerate(_list(data, "hosts")):
        if host not in graph:
            raise ValueError(f"hosts[{n}] = {host!r}: no link leads to it")
        graph.nodes[host]["hosts"] = 1
    flows = _list(data, "flows")
    return graph, [_route(n, flow) for n, flow in enumerate(flows)] or None


def _list(data: dict[str, Any], key: str) -> list[Any]:
    found = data.get(key, [])
    if not isinstance(found, list):
        raise ValueError(f"{key} = {found!r}: must be a list")  # noqa: TRY004
    return found


def _route(n: int, flow: Any) -> Route:
    if not isinstance(flow, dict) or not isinstance(flow.get("path"), list):
        raise ValueError(f"flows[{n}] = {flow!r}: must have a path, a list of nodes")  # noqa: TRY004
    priority = flow.get("priority", 0)
    if not isinstance(priority, int):
        raise ValueError(f"priority of flows[{n}] = {priority!r}: must be a whole number")  # noqa: TRY004
    return Route(flow["path"], priority)
