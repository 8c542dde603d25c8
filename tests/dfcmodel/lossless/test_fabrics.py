"""Fabrics, and topology files."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from benchmarks.many_flows import fat_tree_scenario
from dfcmodel import Fluid, Packets, scenario_schema, simulate
from dfcmodel.lossless import Route, deadlock, dragonfly, fat_tree, leaf_spine, torus, with_hosts
from dfcmodel.lossless.topology_files import KEYS, OF_A_SCENARIO, load_topology, read_topology

# Topologies beside their published counts, and their deadlocks beside what is known of each.


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


def test_hosts_are_nodes_with_one_cable_each() -> None:
    graph = with_hosts(fat_tree(8))
    hosts = [("host", n) for n in range(128)]
    assert set(graph) - set(fat_tree(8)) == set(hosts)
    assert all(graph.out_degree(host) == graph.in_degree(host) == 1 for host in hosts)
    assert all(graph.out_degree(node) == 8 for node in fat_tree(8))


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


@pytest.mark.slow
def test_a_thousand_flows_over_a_fat_tree_of_128_hosts_run_in_the_fluid_and_in_packets() -> None:
    """Balance in both; no link above its rate; both see the same queues."""
    scenario = fat_tree_scenario()
    runs = [simulate(scenario, method, sample=5e-4) for method in (Fluid(), Packets(seed=1))]
    rates = dict.fromkeys(scenario.senders, 0.0)
    for link in scenario.links:
        rates[link.source] += link.rate
    for run in runs:
        assert run.imbalance.max() <= 1e-12
        assert run.status.ok
        assert (run.delivered[:, -1] > 0.0).mean() > 0.95
        used = run.carried.sum(axis=0) / scenario.duration / np.array(list(rates.values()))
        assert used.max() <= 1.0 + 1e-9
    # the same queues are long; when they overflow, and so how much is lost at each (0.5), is chance
    assert np.corrcoef([run.mean_queue.sum(axis=0) for run in runs])[0, 1] > 0.85
    assert np.corrcoef([run.carried.sum(axis=0) for run in runs])[0, 1] > 0.98
    # the fluid's ACKs do not queue behind the packets of the other direction: it delivers more
    sent = [run.delivered[:, -1].sum() for run in runs]
    assert sent[1] < sent[0] < 1.5 * sent[1]


# Topologies from TOML files.


def test_cables_are_links_both_ways_and_flows_are_routes() -> None:
    graph, routes = read_topology("""
        cables = [["a", "b"]]
        links = [{source = "b", target = "c"}]
        hosts = ["a", "c"]
        flows = [{path = ["a", "b", "c"], priority = 3}]
    """)
    assert sorted(graph.edges) == [("a", "b"), ("b", "a"), ("b", "c")]
    assert dict(graph.nodes(data="hosts")) == {"a": 1, "b": None, "c": 1}
    assert routes == [Route(["a", "b", "c"], 3)]


def test_a_scenario_is_a_topology() -> None:
    assert set(scenario_schema()["properties"]) <= {*KEYS, *OF_A_SCENARIO}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "links, cables: must be given"),
        ('cables = [["a", "b"]]\nroutes = [["a", "b"]]', "key = 'routes': must be one of 'cables'"),
        ('cable = [["a", "b"]]', "did you mean 'cables'"),
        ('cables = [["a"]]', r"cables\[0\] = \['a'\]: must be two nodes"),
        ("cables = 3", "cables = 3: must be a list"),
        ('links = [{source = "a"}]', r"links\[0\].*a source and a target"),
        ('cables = [["a", "b"]]\nhosts = ["c"]', r"hosts\[0\] = 'c': no link"),
        ('cables = [["a", "b"]]\nflows = [{}]', r"flows\[0\] = \{\}: must have a path"),
        ('cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priority = 1.5}]', "whole number"),
    ],
)
def test_wrong_files_are_refused_by_key(tmp_path, text: str, said: str) -> None:
    path = tmp_path / "net.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        load_topology(path)
    assert str(path) in str(error.value)
