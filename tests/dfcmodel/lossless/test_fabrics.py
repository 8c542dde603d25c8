"""Topologies beside their published counts, and their deadlocks beside what is known of each."""

from __future__ import annotations

import networkx as nx
import pytest

from dfcmodel.lossless import deadlock, dragonfly, fat_tree, leaf_spine, torus


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_fat_tree_has_the_switches_of_its_definition(k: int) -> None:
    """5 k^2 / 4 switches with k ports and k^3 / 4 hosts (Al-Fares et al. 2008)."""
    graph = fat_tree(k)
    hosts = dict(graph.nodes(data="hosts"))
    assert len(graph) == 5 * k**2 // 4
    assert sum(hosts.values()) == k**3 // 4
    assert all(graph.out_degree(node) + hosts[node] == k for node in graph)


@pytest.mark.parametrize(("a", "h"), [(2, 1), (4, 2), (6, 3)])
def test_groups_of_a_dragonfly_are_connected_once(a: int, h: int) -> None:
    """a h + 1 groups; h global links at every router (Kim et al. 2008)."""
    graph = dragonfly(a, h)
    assert len(graph) == a * (a * h + 1)
    links = [(low[0], high[0]) for low, high in graph.edges if low[0] != high[0]]
    assert len(links) == len(set(links)) == (a * h + 1) * a * h
    assert all(degree == a - 1 + h for _, degree in graph.out_degree)


def test_a_torus_is_regular() -> None:
    graph = torus([3, 4, 5])
    assert len(graph) == 60
    assert all(degree == 6 for _, degree in graph.out_degree)
    assert nx.diameter(graph) == 1 + 2 + 2


def test_trees_are_free_and_rings_are_not() -> None:
    """Shortest paths of fat trees and leaf-spine fabrics only go up and down."""
    assert deadlock(fat_tree(6)).is_free
    assert deadlock(leaf_spine(5, 3)).is_free
    assert not deadlock(torus([4, 4])).is_free
    assert not deadlock(dragonfly(4, 2)).is_free


def test_a_leaf_spine_fabric_with_a_failed_link_can_bounce() -> None:
    """Shortest paths from the cut-off leaf to itself do not exist, so they stay free; detours that bounce
    from spine to leaf to spine make cycles (Shpiner et al. 2016).
    """
    graph = leaf_spine(3, 2)
    graph.remove_edges_from([(("leaf", 0), ("spine", 0)), (("spine", 0), ("leaf", 0))])
    assert deadlock(graph).is_free
    leaf, spine = ([(kind, i) for i in range(3)] for kind in ("leaf", "spine"))
    bounces = [
        [leaf[1], spine[0], leaf[2], spine[1], leaf[0]],
        [leaf[2], spine[1], leaf[1], spine[0], leaf[2]],
        [leaf[1], spine[1], leaf[2], spine[0], leaf[1]],
        [leaf[2], spine[0], leaf[1], spine[1], leaf[0]],
    ]
    found = deadlock(graph, bounces)
    assert not found.is_free


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fat_tree(5), "ports = 5: must be even"),
        (lambda: torus([4, 2]), r"sides\[1\]"),
        (lambda: leaf_spine(0, 1), "leaves"),
        (lambda: dragonfly(4, 0), "global_links"),
    ],
)
def test_wrong_sizes_are_refused(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
