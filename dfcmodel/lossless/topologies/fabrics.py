"""Topologies of data-centre and interconnection networks, as directed graphs of networkx.

Nodes are switches; the attribute ``hosts`` is the number of hosts attached to a switch, and ``level`` its
height in a tree. Every cable is two links, one per direction. `dfcmodel.lossless.Fabric` adds hosts, rates and cables.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hopflow.checks import format_value, instance, integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx

__all__ = [
    "complete_host_counts",
    "dragonfly",
    "fat_tree",
    "host_counts",
    "leaf_spine",
    "rail_optimized",
    "torus",
    "with_hosts",
]

ATTACHED = "attached"
"""Attribute of a graph: the switch of each host, for hosts that are not numbered switch by switch."""
MAX_HOSTS = 10**6
"""Hosts of a switch."""
HOSTS_BY_OTHER_NAME = re.compile(
    "(?:n|no|num|number_?of|attached|end)?_?(?:host|server|endpoint|terminal)s?_?(?:count|number)?"
)
"""Pattern of names in lower case that attributes of nodes have in place of ``hosts``, such as ``num_hosts``."""
SERVERS = "servers"
"""Attribute of a graph: the server of each host, if several hosts are interfaces of one server."""


def leaf_spine(leaves: int, spines: int, *, hosts: int = 1) -> nx.DiGraph[Any]:
    """Return a leaf-spine fabric of switches, every leaf connected to every spine; hosts are an attribute of leaves.

    Parameters
    ----------
    leaves, spines
        Number of switches of each kind; the nodes are ``("leaf", i)`` and ``("spine", j)``.
    hosts
        Hosts per leaf.

    Raises
    ------
    ValueError
        For no leaves, spines or hosts.

    Examples
    --------
    >>> from dfcmodel.lossless import leaf_spine
    >>> graph = leaf_spine(4, 2)
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (6, 16)
    """
    leaves = integer("leaves", leaves, 1, 100_000)
    spines = integer("spines", spines, 1, 100_000)
    hosts = integer("hosts", hosts, 1, 100_000)
    graph = _graph()
    graph.add_nodes_from((("leaf", i) for i in range(leaves)), level=0, hosts=hosts)
    graph.add_nodes_from((("spine", j) for j in range(spines)), level=1, hosts=0)
    cables = itertools.product(range(leaves), range(spines))
    _connect(graph, ((("leaf", i), ("spine", j)) for i, j in cables))
    return graph


def fat_tree(ports: int, *, hosts: int | None = None) -> nx.DiGraph[Any]:
    """Return a three-level fat tree of switches with ``ports`` ports (Al-Fares et al. 2008); hosts are an attribute.

    Parameters
    ----------
    ports
        k, even: k pods of k/2 edge and k/2 aggregation switches, and k^2/4 core switches; the nodes
        are ``("edge", pod, i)``, ``("aggregation", pod, i)`` and ``("core", i, j)``.
    hosts
        Hosts per edge switch; None is k/2.

    Raises
    ------
    ValueError
        For an odd number of ports.

    Examples
    --------
    >>> from dfcmodel.lossless import fat_tree
    >>> graph = fat_tree(4)
    >>> graph.number_of_nodes(), sum(hosts for _, hosts in graph.nodes(data="hosts"))
    (20, 16)
    """
    ports = integer("ports", ports, 2, 1_000)
    if ports % 2:
        raise ValueError(f"ports = {ports}: must be even, half of them lead up")
    half = ports // 2
    hosts = half if hosts is None else hosts
    hosts = integer("hosts", hosts, 1, 100_000)
    graph = _graph()
    for pod, i in itertools.product(range(ports), range(half)):
        graph.add_node(("edge", pod, i), level=0, hosts=hosts)
        graph.add_node(("aggregation", pod, i), level=1, hosts=0)
    for i, j in itertools.product(range(half), repeat=2):
        graph.add_node(("core", i, j), level=2, hosts=0)
    for pod, i, j in itertools.product(range(ports), range(half), range(half)):
        _connect(graph, [(("edge", pod, i), ("aggregation", pod, j))])
        _connect(graph, [(("aggregation", pod, i), ("core", i, j))])
    return graph


def dragonfly(routers: int, global_links: int, *, hosts: int = 1) -> nx.DiGraph[Any]:
    """Return a full-size dragonfly of routers (Kim et al. 2008): joined complete graphs; hosts are an attribute.

    Parameters
    ----------
    routers
        a, routers per group; the nodes are ``(group, router)``.
    global_links
        h, links to other groups per router; there are a h + 1 groups.
    hosts
        Hosts per router.

    Raises
    ------
    ValueError
        For no routers, global links or hosts.

    Examples
    --------
    >>> from dfcmodel.lossless import dragonfly
    >>> graph = dragonfly(4, 2)
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (36, 180)
    """
    routers = integer("routers", routers, 1, 1_000)
    global_links = integer("global_links", global_links, 1, 1_000)
    hosts = integer("hosts", hosts, 1, 100_000)
    groups = routers * global_links + 1
    graph = _graph()
    graph.add_nodes_from(itertools.product(range(groups), range(routers)), level=0, hosts=hosts)
    for group in range(groups):
        for a, b in itertools.combinations(range(routers), 2):
            _connect(graph, [((group, a), (group, b))])
    for low, high in itertools.combinations(range(groups), 2):
        # port k of a group leads to the k-th group after it
        low_port, high_port = high - low - 1, groups - (high - low) - 1
        _connect(graph, [((low, low_port // global_links), (high, high_port // global_links))])
    return graph


def torus(sides: Sequence[int], *, hosts: int = 1) -> nx.DiGraph[Any]:
    """Return a torus of switches: a grid whose rows close to rings; hosts are an attribute of the nodes.

    Parameters
    ----------
    sides
        Switches along each dimension, at least 3 each; the nodes are tuples of coordinates.
    hosts
        Hosts per switch.

    Raises
    ------
    ValueError
        For a side below 3, where the ring would have two cables between the same switches.

    Examples
    --------
    >>> from dfcmodel.lossless import torus
    >>> graph = torus([4, 4])
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (16, 64)
    """
    sizes: Any = sides
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable) or not getattr(sizes, "ndim", 1):
        raise TypeError(f"sides = {format_value(sides)}: must be a list of whole numbers")
    why = "a ring of two would have two cables between the same switches"
    sides = [integer(f"sides[{k}]", side, 3, 100_000, why=why) for k, side in enumerate(sides)]
    hosts = integer("hosts", hosts, 1, 100_000)
    graph = _graph()
    for node in itertools.product(*map(range, sides)):
        graph.add_node(node, level=0, hosts=hosts)
        for k, side in enumerate(sides):
            after = (*node[:k], (node[k] + 1) % side, *node[k + 1 :])
            _connect(graph, [(node, after)])
    return graph


def rail_optimized(servers: int, rails: int, spines: int, *, groups: int = 1) -> nx.DiGraph[Any]:
    """Return a rail-optimized fabric of switches: the k-th interface of a server is at the k-th leaf of its group.

    It is the network between servers. Host n is interface ``n % rails`` of server ``n // rails``. Between interfaces of
    one server traffic takes a link of the server itself (NVLink), which is not part of this graph: `flows_from` and the
    collectives refuse such flows over a `Fabric` of it.

    Parameters
    ----------
    servers
        Servers per group.
    rails
        Interfaces per server, and leaves per group; the nodes are ``("rail", group, k)``.
    spines
        Switches that are connected to all leaves; the nodes are ``("spine", j)``.
    groups
        Number of groups.

    Raises
    ------
    ValueError
        For no servers, rails, spines or groups.

    Examples
    --------
    >>> from dfcmodel.lossless import rail_optimized, with_hosts
    >>> graph = with_hosts(rail_optimized(4, 8, 4, groups=2))
    >>> list(graph.successors(("host", 9))), graph.number_of_nodes()
    ([('rail', 0, 1)], 84)
    """
    servers = integer("servers", servers, 1, 100_000)
    rails = integer("rails", rails, 1, 1_000)
    spines = integer("spines", spines, 1, 100_000)
    groups = integer("groups", groups, 1, 10_000)
    graph = _graph()
    leaves = [("rail", *leaf) for leaf in itertools.product(range(groups), range(rails))]
    graph.add_nodes_from(leaves, level=0, hosts=servers)
    graph.add_nodes_from((("spine", j) for j in range(spines)), level=1, hosts=0)
    _connect(graph, itertools.product(leaves, [("spine", j) for j in range(spines)]))
    interfaces = itertools.product(range(groups), range(servers), range(rails))
    graph.graph[ATTACHED] = [("rail", group, k) for group, _, k in interfaces]
    graph.graph[SERVERS] = [n // rails for n in range(groups * servers * rails)]
    return graph


def with_hosts(graph: nx.DiGraph[Any]) -> nx.DiGraph[Any]:
    """Return a fabric with a node for each of its hosts, ``("host", n)``, connected to its switch in both directions.

    Hosts are numbered switch by switch, for `rail_optimized` server by server.

    Raises
    ------
    ValueError
        For nodes whose ``hosts`` is missing or no whole number, and for a graph of `rail_optimized` whose switches or
        ``hosts`` were changed.

    Examples
    --------
    Number of links of a 3-tier fat tree of 128 hosts, and number of shortest paths between two hosts:

    >>> import networkx as nx
    >>> from dfcmodel import from_networkx
    >>> from dfcmodel.lossless import fat_tree, with_hosts
    >>> graph = with_hosts(fat_tree(8))
    >>> len(from_networkx(graph, rate=1e6, delay=1e-6, buffer=100))
    768
    >>> len(list(nx.all_shortest_paths(graph, ("host", 0), ("host", 127))))
    16
    """
    import networkx as nx

    instance("graph", graph, nx.DiGraph, "a directed graph of networkx")
    counts = complete_host_counts(graph)
    fabric = graph.copy()
    hosts = graph.graph.get(ATTACHED, [node for node, count in counts.items() for _ in range(count)])
    numbers = Counter(hosts)
    for node in (*counts, *numbers):
        if counts.get(node, 0) != numbers[node]:
            mismatch = f"{counts[node]} hosts" if node in counts else "is no node"
            msg = f"{mismatch}, rail_optimized attached {numbers[node]}; make the graph with other arguments"
            raise ValueError(f"graph, {format_value(node)}: {msg}")
    _connect(fabric, [(("host", n), switch) for n, switch in enumerate(hosts)])
    return fabric


def complete_host_counts(graph: nx.DiGraph[Any]) -> dict[Any, int]:
    """Return the attribute ``hosts`` of each node; ValueError, as of `host_counts`, also for a node without it."""
    counts = host_counts(graph)
    for node in graph:
        if node not in counts:
            name = format_value(node)
            raise ValueError(f"graph: each node must have the attribute 'hosts', a number; {name} has none")
    return counts


def host_counts(graph: nx.DiGraph[Any]) -> dict[Any, int]:
    """Return the attribute ``hosts`` of each node that has it.

    Raises
    ------
    ValueError
        For a value that is no whole number of at least 0, and for another name of the attribute, naming the node.
    """
    for node, data in graph.nodes.items():
        for name in data:
            if name != "hosts" and HOSTS_BY_OTHER_NAME.fullmatch(str(name).lower()):
                msg = "is not read; write it as hosts, a number, or leave it out"
                raise ValueError(f"{name} of {format_value(node)}: {msg}")
    counts = {node: data["hosts"] for node, data in graph.nodes.items() if data.get("hosts") is not None}
    return {node: integer(f"hosts of {format_value(node)}", count, 0, MAX_HOSTS) for node, count in counts.items()}


def _graph() -> nx.DiGraph[Any]:
    """Return an empty directed graph."""
    import networkx as nx

    return nx.DiGraph()


def _connect(graph: nx.DiGraph[Any], cables: Any) -> None:
    """Add both directions of each cable."""
    for a, b in cables:
        graph.add_edge(a, b)
        graph.add_edge(b, a)
