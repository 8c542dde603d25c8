"""Tables of next hops: the paths that follow, beside those of shortest routes, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import pytest

from dfcmodel import Fabric, Flow, all_to_all, flows_from
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

FABRIC = Fabric(leaf_spine(4, 3, hosts=2))
HOSTS = FABRIC.hosts
GIVEN: dict[str, Any] = {"source": FixedRate(), "links": FABRIC.links}


def _shortest() -> dict[Any, dict[Any, list[Any]]]:
    """Return the next nodes of all shortest paths, in the order of the links, by another program."""
    graph = nx.DiGraph([(link.source, link.target) for link in FABRIC.links])
    away = {host: nx.shortest_path_length(graph, target=host) for host in HOSTS}
    return {
        node: {
            host: [near for near in graph[node] if own[near] == own[node] - 1]
            for host, own in away.items()
            if host != node
        }
        for node in graph
    }


def test_tables_of_all_shortest_paths_are_ecmp() -> None:
    given = all_to_all(HOSTS, sizes=3, routes=_shortest(), **GIVEN)
    assert [flow.path for flow in given] == [
        flow.path for flow in all_to_all(HOSTS, sizes=3, routes="ecmp", **GIVEN)
    ]
    entropy = {"entropy": list(range(56, 0, -1))}
    given = all_to_all(HOSTS, sizes=3, routes=_shortest(), **GIVEN, **entropy)
    hashed = all_to_all(HOSTS, sizes=3, routes="ecmp", **GIVEN, **entropy)
    assert [flow.path for flow in given] == [flow.path for flow in hashed]


def test_a_node_without_an_entry_has_one_way_on() -> None:
    """Hosts have one link, spines need an entry, and the last leaf sends straight to its hosts."""
    far = HOSTS[2]
    tables = {("leaf", 0): {far: [("spine", 2)]}, ("spine", 2): {far: [("leaf", 1)]}}
    (flow,) = flows_from([HOSTS[0]], [far], sizes=3, routes=tables, **GIVEN)
    assert flow.path == (HOSTS[0], ("leaf", 0), ("spine", 2), ("leaf", 1), far)


def test_a_detour_is_followed() -> None:
    far = HOSTS[2]
    ways = ["leaf", 0], ["spine", 2], ["leaf", 3], ["spine", 1], ["leaf", 1]
    path = [tuple(each) for each in ways]
    tables = {a: {far: [b]} for a, b in itertools.pairwise(path)}
    (flow,) = flows_from([HOSTS[0]], [far], sizes=3, routes=tables, **GIVEN)
    assert flow.path == (HOSTS[0], *path, far)


LEAF, SPINE, FAR = ("leaf", 0), ("spine", 0), HOSTS[2]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, r"targets\[0\] = .*: \('leaf', 0\) has several links and no next hops towards it"),
        ({LEAF: {FAR: [SPINE]}, SPINE: {FAR: [LEAF]}}, "next hops .* lead back; a loop needs ttl, such as ttl=64"),
        ({LEAF: {FAR: [("leaf", 1)]}}, r"routes\[\('leaf', 0\)\]\[.*\] = .*: must be nodes to which \('leaf', 0\) has links"),
        ({LEAF: {FAR: []}}, "must be nodes to which"),
        ({"nowhere": {FAR: [SPINE]}}, "must be nodes to which 'nowhere' has links"),
    ],
)  # fmt: skip
def test_what_is_refused(tables: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flows_from([HOSTS[0]], [FAR], sizes=3, routes=tables, **GIVEN)


def test_next_hops_that_lead_back_are_a_loop_with_a_time_to_live() -> None:
    tables = {
        LEAF: {FAR: [SPINE]},
        SPINE: {FAR: [LEAF], HOSTS[0]: [LEAF]},
        ("leaf", 1): {HOSTS[0]: [SPINE]},
    }
    given = {"routes": tables, "ttl": [7, None], **GIVEN}
    caught, other = flows_from([HOSTS[0], FAR], [FAR, HOSTS[0]], sizes=3, **given)
    assert caught == Flow(
        f"{HOSTS[0]}->{FAR}", (HOSTS[0], LEAF, SPINE, LEAF), GIVEN["source"], size=3, ttl=7
    )
    assert caught.path == (HOSTS[0], *[LEAF, SPINE] * 4)
    assert other.path[-1] == HOSTS[0]
    assert other.name == f"{FAR}->{HOSTS[0]}"
    twice = flows_from([HOSTS[0]] * 2, [FAR] * 2, sizes=3, **{**given, "ttl": 7})
    assert [flow.name for flow in twice] == [f"{n}: {caught.name}" for n in range(2)]


@pytest.mark.parametrize("tables", [{LEAF: 3}, {LEAF: {FAR: 3}}, {LEAF: {FAR: "spine"}}])
def test_what_are_no_tables(tables: Any) -> None:
    with pytest.raises(TypeError, match=r"routes\[\('leaf', 0\)\]"):
        flows_from([HOSTS[0]], [FAR], sizes=3, routes=tables, **GIVEN)
