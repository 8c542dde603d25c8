"""Ends of traffic, and consecutive links of shortest paths between them."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from dfcmodel.lossless import shortest_paths, torus
from dfcmodel.lossless.buffer_dependencies import dependencies_of_shortest_paths
from dfcmodel.lossless.shortest_paths import ShortestPaths, numbers_of_ends


def test_each_pair_of_links_has_a_shortest_path_over_it() -> None:
    """Beside networkx's lengths of shortest paths."""
    graph = torus([4, 3])
    nodes, paths = list(graph), ShortestPaths(graph, None)
    assert paths.waits.nnz > 0
    for i, j in zip(*paths.waits.nonzero(), strict=True):
        path = [nodes[v] for v in paths.path(i, j)]
        assert len(path) - 1 == nx.shortest_path_length(graph, path[0], path[-1])
        links = list(itertools.pairwise(path))
        first, second = ((nodes[paths.tail[k]], nodes[paths.head[k]]) for k in (i, j))
        assert (first, second) in itertools.pairwise(links)


@pytest.mark.parametrize("interpreted", [10**9, pytest.param(0, marks=pytest.mark.slow)])
def test_dependencies_are_those_of_all_shortest_paths(monkeypatch, interpreted) -> None:
    """Beside networkx's list of them, on random graphs with some nodes as ends; as Python and compiled."""
    monkeypatch.setattr(shortest_paths, "INTERPRETED", interpreted)
    for seed in range(5):
        graph = nx.gnp_random_graph(14, 0.2, seed=seed, directed=True)
        ends = list(graph)[: 14 - 2 * seed]
        paths, wanted = ShortestPaths(graph, ends), set()
        for a, b in itertools.permutations(ends, 2):
            if nx.has_path(graph, a, b):
                for path in nx.all_shortest_paths(graph, a, b):
                    wanted.update(zip(path, path[1:], path[2:], strict=False))
        found = {
            (int(paths.tail[i]), int(paths.head[i]), int(paths.head[j]))
            for i, j in zip(*paths.waits.nonzero(), strict=True)
        }
        assert found == wanted
        assert len(wanted) > 10


def test_only_ends_send() -> None:
    """Between two leaves no frame goes from spine to spine."""
    graph = nx.DiGraph([("a", "s"), ("s", "b"), ("b", "t"), ("t", "a")])
    assert not dependencies_of_shortest_paths(graph).is_free
    assert dependencies_of_shortest_paths(graph, ends=["a", "b"]).is_free


def test_ends_are_those_given_or_the_nodes_with_hosts_or_all() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    np.testing.assert_array_equal(numbers_of_ends(graph, None), [0, 1, 2])
    np.testing.assert_array_equal(numbers_of_ends(graph, ["c", "a", "c"]), [0, 2])
    nx.set_node_attributes(graph, {"b": 4, "c": 0}, "hosts")
    np.testing.assert_array_equal(numbers_of_ends(graph, None), [1])


def test_unknown_ends_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ends\[1\] = 'x': not a node"):
        dependencies_of_shortest_paths(nx.DiGraph([(0, 1)]), ends=[0, "x"])
