"""Shortest paths of many flows, against networkx."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from dfcmodel import CBR, Link, chain, flows_from, from_networkx
from dfcmodel.lossless import fat_tree, leaf_spine, torus, with_hosts
from dfcmodel.network.shortest_routes import CHOICES, hashed

LINK = {"rate": 1e6, "delay": 1e-6, "buffer": 100.0}


@pytest.mark.parametrize("routes", CHOICES)
@pytest.mark.parametrize(
    "graph", [with_hosts(fat_tree(4)), with_hosts(leaf_spine(3, 2, hosts=2)), torus([3, 4])]
)
def test_paths_are_among_the_shortest(graph: nx.DiGraph, routes: str) -> None:
    hosts = [node for node in graph if node[0] == "host"] or list(graph)
    pairs = [(a, b) for a in hosts[:6] for b in hosts if a != b]
    flows = flows_from(
        *zip(*pairs, strict=True),
        source=CBR(1.0),
        links=from_networkx(graph, **LINK),
        routes=routes,
    )
    for (a, b), flow in zip(pairs, flows, strict=True):
        assert (flow.path[0], flow.path[-1]) == (a, b)
        assert len(flow.path) == nx.shortest_path_length(graph, a, b) + 1
        assert all(graph.has_edge(*hop) for hop in flow.hops)


def test_flows_in_turn_load_spines_evenly_and_hashed_ones_use_all() -> None:
    graph = with_hosts(leaf_spine(2, 4, hosts=8))
    left, right = [("host", n) for n in range(8)], [("host", n) for n in range(8, 16)]
    pairs = [(a, b) for a in left for b in right]
    links = from_networkx(graph, **LINK)
    for routes, counts in (("even", {16}), ("first", {64}), ("ecmp", None)):
        flows = flows_from(*zip(*pairs, strict=True), source=CBR(1.0), links=links, routes=routes)
        loads = Counter(flow.path[2] for flow in flows)
        if counts is None:
            # 64 flows over 4 spines: each has 16, standard deviation 3.5
            assert len(loads) == 4
            assert max(loads.values()) <= 16 + 4 * 3.5
        else:
            assert set(loads.values()) == counts


def test_directed_links_are_followed_in_their_direction() -> None:
    links = chain(4, **LINK)
    assert flows_from([1, 2], [4, 3], source=CBR(1.0), links=links)[0].path == (1, 2, 3, 4)
    with pytest.raises(ValueError, match=r"targets\[1\] = 1: there is no path from 3"):
        flows_from([1, 3], [4, 1], source=CBR(1.0), links=links)
    detour = [*links, Link(4, 1, **LINK), Link(1, 3, **LINK)]
    assert flows_from([4], [3], source=CBR(1.0), links=detour)[0].path == (4, 1, 3)


def test_the_hash_differs_by_flow_and_by_node() -> None:
    flow, node = np.divmod(np.arange(4000), 40)
    values = hashed(flow, node)
    assert len(set(values.tolist())) == 4000
    counts = np.bincount(values % 8, minlength=8)
    assert abs(counts - 500).max() < 5 * 21  # standard deviation 21
