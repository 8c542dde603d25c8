"""Dependencies of buffers beside those of paths that networkx lists one by one, and cycles beside all of them."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dfcmodel.lossless import Dependencies, Route, torus
from dfcmodel.lossless.buffer_dependencies import (
    dependencies_of_routes,
    dependencies_of_shortest_paths,
)


def arcs(found: Dependencies) -> set[tuple[Any, Any]]:
    first, second = found.waits.nonzero()
    return {(found.channels[i], found.channels[j]) for i, j in zip(first, second, strict=True)}


def random_graph(seed: int) -> nx.DiGraph:
    """A random digraph; some of its nodes have hosts."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(9, 0.3, seed=seed, directed=True)
    nx.set_node_attributes(graph, {n: int(rng.random() < 0.6) for n in graph}, "hosts")
    return graph


@pytest.mark.parametrize("seed", range(30))
def test_dependencies_are_those_of_all_shortest_paths(seed: int) -> None:
    graph = random_graph(seed)
    ends = [node for node, hosts in graph.nodes(data="hosts") if hosts] or list(graph)
    if not any(hosts for _, hosts in graph.nodes(data="hosts")):
        ends = []
    paths = [
        path
        for a, b in itertools.permutations(ends, 2)
        if nx.has_path(graph, a, b)
        for path in nx.all_shortest_paths(graph, a, b)
    ]
    expected = arcs(dependencies_of_routes(graph, paths))
    found = dependencies_of_shortest_paths(graph)
    assert arcs(found) == expected
    first, second = found.waits.nonzero()
    for i, j in zip(first, second, strict=True):
        assert list(found.route_through(i, j).nodes) in paths
        hops = found.route_through(i, j).channels()
        assert (found.channels[i], found.channels[j]) in itertools.pairwise(hops)


@pytest.mark.parametrize("seed", range(30))
def test_cycles_are_minimal_and_all_buffers_on_cycles_are_tried(seed: int) -> None:
    """Beside networkx's list of all simple cycles."""
    graph = nx.gnp_random_graph(7, 0.35, seed=seed, directed=True)
    found = dependencies_of_shortest_paths(graph)
    waits = nx.DiGraph(found.waits)
    every = [frozenset(cycle) for cycle in nx.simple_cycles(waits, length_bound=8)]
    cycles = [frozenset(cycle) for cycle in found.cycles()]
    assert len(cycles) == len(set(cycles))
    assert found.is_free == (not every) == (not cycles)
    for cycle in cycles:
        assert not any(other < cycle for other in every)
    if every:
        assert min(map(len, cycles)) == min(map(len, every))


def test_each_buffer_of_a_cycle_waits_for_the_next() -> None:
    found = dependencies_of_shortest_paths(torus([4, 3]))
    for cycle in itertools.islice(found.cycles(), 50):
        for i, j in itertools.pairwise([*cycle, cycle[0]]):
            assert found.waits[i, j]


def test_classes_are_buffers_of_their_own() -> None:
    """Round a ring, a frame that changes its class never waits for the buffer it came from."""
    ring = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
    around = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert not dependencies_of_routes(ring, around).is_free
    assert dependencies_of_routes(ring, [Route(path, [0, 1]) for path in around]).is_free
    assert not dependencies_of_routes(ring, [Route(path, 3) for path in around]).is_free


@pytest.mark.parametrize(
    ("routes", "said"),
    [
        ([[0, 1], [1, 0]], r"routes\[1\]: the graph has no link 1 -> 0"),
        ([[0]], r"routes\[0\] = \[0\]: must have two nodes"),
        ([Route([0, 1, 2], [0])], r"classes = \[0\].*one for each of 2 links"),
    ],
)
def test_wrong_routes_are_refused(routes: list, said: str) -> None:
    graph = nx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match=said):
        dependencies_of_routes(graph, routes)
