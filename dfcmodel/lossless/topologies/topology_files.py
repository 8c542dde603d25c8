"""Topologies and routes from TOML files, for `deadlock`.

A file lists links, as the file of a scenario, or cables, which are links in both directions. Routes are the paths
of the flows. Without flows all shortest paths count, between the named hosts or, without hosts, between all nodes::

    cables = [["leaf1", "spine1"], ["leaf2", "spine1"]]
    links = [{source = "leaf1", target = "leaf2"}]
    hosts = ["leaf1", "leaf2"]
    flows = [{path = ["leaf1", "spine1", "leaf2"], priority = 3}]

Nodes are strings, whole numbers, and lists with a number, such as ``["leaf", 0]``, as those of a `Fabric`.

The file of a scenario is therefore valid. Its rates, delays and other keys are skipped; further paths of a flow are
also routes, and the priority may be a default of all flows. With ``ttl`` a path that ends at a node which it has
visited is a routing loop; without, it is refused. Keys that neither a topology nor a scenario has are refused.

A link without a discipline pauses each class separately. With a discipline, `Pause` has one queue of all classes, `PFC`
and `Credits` pause their lossless classes, `BFC` single flows, and others nothing. Buffers before a link that
does not pause never wait for it, so that the route is divided at this link.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.lossless.topologies.routes import Route
from dfcmodel.network.flows import Flow
from dfcmodel.network.foreign_files import TOML, foreign_format
from dfcmodel.network.links import Link
from dfcmodel.network.networks import PARALLEL
from dfcmodel.network.queueing.class_pauses import ALL, ByClass, check_classes
from hopflow.checks import choice, count_of, format_value, integer
from hopflow.text_files import parse_toml, read_text

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["load_topology", "read_topology"]

KEYS = ("cables", "links", "hosts", "flows")
OF_A_SCENARIO = ("name", "duration", "min_rto", "packet_size", "link", "flow", "elements")
"""Keys of the file of a scenario that are skipped, except for the priority in ``flow``."""
LINK_KEYS = tuple(field.name for field in dataclasses.fields(Link) if field.init)
FLOW_KEYS = tuple(field.name for field in dataclasses.fields(Flow) if field.init)
MAX_PRIORITY = 10**6
MAX_BYTES = 4 * 2**20
"""Bytes of a topology's file: about 100,000 cables."""


def load_topology(path: str | Path) -> tuple[nx.DiGraph[Any], list[Route] | None]:
    """Return (graph, routes or None) from a topology file of at most 4 MiB, in UTF-8; see `read_topology`.

    Raises
    ------
    ValueError
        Naming the file and the key that cannot be used.
    OSError
        When the file cannot be read.
    """
    text = read_text("path", path, MAX_BYTES)
    try:
        return read_topology(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_topology(text: str) -> tuple[nx.DiGraph[Any], list[Route] | None]:
    """Return the graph of the links and the routes of a topology in TOML; None for the routes without flows.

    With flows the graph's attribute ``routing`` has their number of paths, and how many of these no link ever pauses.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock
    >>> from dfcmodel.lossless.topologies.topology_files import read_topology
    >>> deadlock(*read_topology('cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]')).is_free
    False
    """
    import networkx as nx

    try:
        data = parse_toml(text)
    except ValueError as error:
        raise ValueError(f"must be TOML with cables or links: {foreign_format(text, TOML) or error}") from None
    for key in data:
        choice("key", key, (*KEYS, *OF_A_SCENARIO))
    link_defaults = _table("link", data.get("link", {}), LINK_KEYS)
    defaults = _table("flow", data.get("flow", {}), FLOW_KEYS)
    graph: nx.DiGraph[Any] = nx.DiGraph()
    default = _pausing("link", link_defaults)
    pausing: dict[tuple[Any, Any], _Pausing | None] = {}
    for n, cable in enumerate(_list("cables", data)):
        name = f"cables[{n}]"
        if not isinstance(cable, list) or len(cable) != 2:
            raise ValueError(f"{name} = {format_value(cable)}: must be two nodes")
        a, b = _nodes(name, cable)
        _add_link(graph, name, a, b)
        _add_link(graph, name, b, a)
    for n, link in enumerate(_list("links", data)):
        name = f"links[{n}]"
        fields = _table(name, link, LINK_KEYS)
        if not {"source", "target"} <= set(fields):
            raise ValueError(f"{name} = {format_value(link)}: must have a source and a target")
        source, target = _nodes(name, [fields["source"], fields["target"]])
        _add_link(graph, name, source, target)
        pausing[source, target] = _pausing(name, link_defaults | fields)
    if not graph:
        raise ValueError("links, cables: must be given, at least one of them")
    by_text: dict[str, Any] = {}
    for node in graph:
        if (other := by_text.setdefault(str(node).strip(), node)) != node:
            allowed = "must be written alike if they are one node, and otherwise have different names"
            raise ValueError(f"nodes {format_value(other)} and {format_value(node)}: {allowed}")
    for n, host in enumerate(_nodes("hosts", _list("hosts", data))):
        if host not in graph:
            raise ValueError(f"hosts[{n}] = {format_value(host)}: no link leads to it")
        graph.nodes[host]["hosts"] = 1
    flows = _list("flows", data)
    all_routes = [(n, route) for n, flow in enumerate(flows) for route in _routes(n, flow, defaults)]
    rules = {link: pausing.get(link, default) for link in graph.edges}
    if not all_routes:
        for (a, b), rule in rules.items():
            if rule is not None and rule.by not in ("link", "class"):
                msg = f"discipline of {a}->{b}: pauses no class of traffic: give the flows"
                raise ValueError(msg)
    routes = [part for n, route in all_routes for part in _parts(n, route, rules)]
    if all_routes:
        graph.graph["routing"] = _routing([route for _, route in all_routes], rules)
    return graph, routes or None


def _routing(routes: list[Route], rules: dict[tuple[Any, Any], _Pausing | None]) -> str:
    """Return a description of the routes of a file: how many, and of which priorities no link pauses them."""
    text, lossy = count_of(len(routes), "route"), []
    for nodes, priority in routes:
        assert isinstance(priority, int)
        on_path = [rules.get(link) for link in itertools.pairwise(nodes)]
        if all(rule is not None and not rule.pauses(priority) for rule in on_path):
            lossy.append(priority)
    if lossy:
        text += f"; no link pauses {len(lossy)} of them, of priority {', '.join(map(str, sorted(set(lossy))))}"
    return text


class _Pausing(NamedTuple):
    """Unit of the pauses of a link, ``"link"``, ``"class"``, ``"flow"`` or empty for none, and the lossless classes."""

    by: str
    classes: tuple[int, ...] = ()

    def pauses(self, priority: int) -> bool:
        """Return whether the link ever pauses packets of a priority."""
        return bool(self.by) and (self.by != "class" or priority in self.classes)

    def buffer(self, priority: int, flow: int) -> int:
        """Return the number of the buffer of the link that a packet uses; packets with equal numbers share it."""
        if self.by == "flow":
            return MAX_PRIORITY + 1 + flow
        return priority if self.by == "class" else ALL


def _pausing(name: str, link: dict[str, Any]) -> _Pausing | None:
    """Return how the discipline of a link pauses; empty ``by``: it never does; None: the link has no discipline."""
    if (discipline := link.get("discipline")) is None:
        return None
    # imported on use: it loads all sources of traffic, which few topologies need
    from dfcmodel.network.scenario_files.toml_keys import DISCIPLINES, parameter_names

    table = discipline if isinstance(discipline, dict) else {"kind": discipline}
    subject = f"discipline of {name}"
    rule = DISCIPLINES[choice(subject, str(table.get("kind")), tuple(DISCIPLINES))]
    _table(subject, table, ("kind", *parameter_names(rule)))
    if not issubclass(rule, ByClass):
        return _Pausing(rule.pauses)
    try:
        return _Pausing(rule.pauses, check_classes(table.get("classes", rule.classes)))
    except ValueError as error:
        raise ValueError(f"{subject}: {error}") from None


def _parts(n: int, route: Route, rules: dict[tuple[Any, Any], _Pausing | None]) -> list[Route]:
    """Return the parts of a route of flow ``n`` within which buffers wait for each other, with each link's class.

    A route with a link that is not in ``rules`` is invalid; `deadlock` refuses it.
    """
    assert isinstance(route.classes, int)
    priority, nodes = route.classes, list(route.nodes)
    parts: list[tuple[list[Any], list[int]]] = []
    for source, target in itertools.pairwise(nodes):
        rule = rules.get((source, target))
        if not parts or (rule is not None and not rule.pauses(priority)):
            parts.append(([source], []))
        parts[-1][0].append(target)
        parts[-1][1].append(priority if rule is None else rule.buffer(priority, n))
    return [Route(path, classes[0] if len(set(classes)) == 1 else classes) for path, classes in parts]


def _add_link(graph: nx.DiGraph[Any], name: str, source: Any, target: Any) -> None:
    """Add a link to a graph; ValueError for a link from a node to itself, and for a duplicate."""
    if source == target:
        raise ValueError(f"{name}: {format_value(source)} to itself: must be two nodes")
    if graph.has_edge(source, target):
        raise ValueError(
            f"{name}: the link {format_value(source)} -> {format_value(target)} is given twice: {PARALLEL}"
        )
    graph.add_edge(source, target)


def _table(name: str, value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return ``value`` if it is a dict with no keys but ``keys``; otherwise raise ValueError naming ``name``."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} = {format_value(value)}: must be a table of keys and values")  # noqa: TRY004
    for key in value:
        choice(f"key of {name}", key, keys)
    return value


def _list(name: str, table: dict[str, Any]) -> list[Any]:
    """Return the list that a table has for the key ``name``, [] if it is missing; ValueError for another value."""
    value = table.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"{name} = {format_value(value)}: must be a list")  # noqa: TRY004
    return value


def _nodes(name: str, values: list[Any]) -> list[Any]:
    """Return nodes, lists as tuples, as in the file of a scenario; ValueError for a value that is no node."""
    return [_node(name, value) for value in values]


def _node(name: str, value: Any) -> Any:
    """Return a string, a whole number, or a tuple of these; ValueError, naming ``name``, for another value.

    A list of strings alone is refused: it may be of several nodes.
    """
    if isinstance(value, list) and any(isinstance(part, int) for part in value) and len(value) > 1:
        return tuple(_node(name, part) for part in value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        msg = "must be a string, a whole number, or a list with a number, such as ['leaf', 0]"
        raise ValueError(f"{name}: node {format_value(value)}: {msg}")  # noqa: TRY004
    return value


def _routes(n: int, flow: Any, defaults: dict[str, Any]) -> list[Route]:
    """Return the routes of a flow with its priority; the route of a loop also contains its first repeated link."""
    name = f"flows[{n}]"
    if not isinstance(flow, dict) or not isinstance(flow.get("path"), list):
        raise ValueError(f"{name} = {format_value(flow)}: must have a path, a list of nodes")  # noqa: TRY004
    fields = defaults | _table(name, flow, FLOW_KEYS)
    priority = fields.get("priority", 0)
    if isinstance(priority, bool):
        raise ValueError(f"priority of {name} = {priority!r}: must be a whole number")  # noqa: TRY004
    priority = integer(f"priority of {name}", priority, -MAX_PRIORITY, MAX_PRIORITY)
    routes = []
    for path in (flow["path"], *_list("paths", fields)):
        if not isinstance(path, list) or len(path) < 2:
            raise ValueError(f"path of {name} = {format_value(path)}: must be a list of at least two nodes")
        nodes = _nodes(f"path of {name}", path)
        if nodes[-1] in nodes[:-1]:
            if "ttl" not in fields:
                loop = f"ends at {format_value(nodes[-1])}, which it has visited"
                hint = "give ttl for a routing loop, or the node after it"
                raise ValueError(f"path of {name} = {format_value(path)}: {loop}: {hint}")
            nodes = [*nodes, nodes[nodes.index(nodes[-1]) + 1]]
        routes.append(Route(nodes, priority))
    return routes
