"""Deadlocks, and routings without them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from dfcmodel import Packets, simulate
from dfcmodel.lossless import (
    buffer_cycles,
    class_per_hop,
    class_per_turn,
    deadlock,
    dragonfly,
    fat_tree,
    line_rate_scenario,
    torus,
    up_down,
)
from dfcmodel.lossless.free_routings import ranks

# Named cycles deadlock in simulation, at both levels; free routings of the same traffic do not.

METHODS = [None, Packets(seed=1)]


@pytest.mark.parametrize("method", METHODS, ids=["fluid", "packets"])
@pytest.mark.parametrize("graph", [torus([4, 4]), dragonfly(4, 2)], ids=["torus", "dragonfly"])
def test_a_named_cycle_deadlocks_and_free_routes_between_the_same_ends_do_not(
    graph, method
) -> None:
    """Nothing is lost in either; in the deadlock nothing is delivered any more, packets are left."""
    found = deadlock(graph)
    for cycle, _ in zip(found.cycles(), range(3), strict=False):
        stuck = simulate(found.scenario(cycle), method)
        assert float(stuck.efficiency[:, -20:].max()) == 0.0
        assert float(stuck.occupancy[:, -1].min()) > 50.0
        assert float(stuck.losses.sum()) == 0.0
        free, number = up_down(graph), found.dependencies.channels.index
        places = [number((*link, 0)) for link in cycle]
        routes = [
            found.dependencies.route_through(i, j)
            for i, j in zip(places, [*places[1:], places[0]], strict=True)
        ]
        same = line_rate_scenario(free.route(r.nodes[0], r.nodes[-1]) for r in routes)
        moving = simulate(same, method)
        assert float(moving.efficiency[:, -20:].mean("time").min()) > 0.1
        assert float(moving.losses.sum()) == 0.0


def test_cycles_are_links_and_have_classes_where_there_are_several() -> None:
    ring = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
    assert list(buffer_cycles(ring)) == [[(0, 1), (1, 2), (2, 0)]]
    from dfcmodel.lossless import Route

    routes = [Route([0, 1, 2, 0, 1], 1), Route([0, 1], 0)]
    assert list(buffer_cycles(ring, routes)) == [[(0, 1, 1), (1, 2, 1), (2, 0, 1)]]


def test_the_table_names_a_cycle_and_the_plot_shows_it() -> None:
    found = deadlock(torus([3, 3]))
    assert "possible" in repr(found)
    assert "a cycle" in repr(found)
    assert found.plot().get_title().endswith("a cycle of buffers")
    assert "impossible" in repr(deadlock(nx.DiGraph([(0, 1), (1, 2)])))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: deadlock(nx.cycle_graph(3)), r"graph = Graph: .*to_directed"),
        (lambda: deadlock(nx.MultiDiGraph([(0, 1)])), "graph = MultiDiGraph"),
        (lambda: deadlock(nx.DiGraph([(0, 1)]), [[0, 1]], ends=[0]), "ends: only for routes=None"),
        (lambda: deadlock(nx.DiGraph([(0, 1)])).scenario(), "there is no cycle"),
        (
            lambda: deadlock(torus([3, 3])).scenario([((0, 0), (0, 1)), ((1, 1), (1, 2))]),
            "does not wait for",
        ),
    ],
)
def test_wrong_input_is_refused(call, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


# Routings without deadlock: no cycles, and no longer than the rule makes them.

FABRICS = {
    "torus": torus([4, 5]),
    "cube": torus([3, 3, 3]),
    "dragonfly": dragonfly(4, 2),
    "fat tree": fat_tree(4),
    "Petersen": nx.petersen_graph().to_directed(),
}


def paths_of(graph: nx.DiGraph) -> list[list[Any]]:
    every = (path for _, ways in nx.all_pairs_shortest_path(graph) for path in ways.values())
    return [path for path in every if len(path) > 1]


@pytest.mark.parametrize("name", FABRICS)
def test_up_down_routes_are_the_shortest_of_their_kind(name: str) -> None:
    """Beside networkx on pairs (node, whether the route has gone down)."""
    graph = FABRICS[name]
    free, rank, states = up_down(graph), ranks(graph), nx.DiGraph()
    for a, b in graph.edges:
        if rank[b] < rank[a]:
            states.add_edge((a, "up"), (b, "up"))
        else:
            states.add_edge((a, "up"), (b, "down"))
            states.add_edge((a, "down"), (b, "down"))
    for row, source in enumerate(free.ends):
        lengths = nx.single_source_shortest_path_length(states, (source, "up"))
        for column, target in enumerate(free.ends):
            ways = [lengths[target, way] for way in ("up", "down") if (target, way) in lengths]
            assert free.lengths[row, column] == min(ways)
            if source != target:
                nodes = free.route(source, target).nodes
                assert (nodes[0], nodes[-1], len(nodes) - 1) == (source, target, min(ways))
                assert nx.is_path(graph, nodes)
    assert free.stretch >= 1.0
    assert not list(buffer_cycles(graph, free.routes()))


def test_up_down_routes_of_a_tree_are_shortest_paths() -> None:
    free = up_down(fat_tree(4))
    assert (free.lengths == free.shortest).all()


@pytest.mark.parametrize("name", ["torus", "cube", "dragonfly", "Petersen"])
def test_classes_break_the_cycles_of_shortest_paths(name: str) -> None:
    graph = FABRICS[name]
    paths = paths_of(graph)
    by_hop, by_turn = class_per_hop(paths), class_per_turn(graph, paths)
    for routes in (by_hop, by_turn):
        assert [list(route.nodes) for route in routes] == paths
        assert not list(buffer_cycles(graph, routes))
    longest = max(len(path) for path in paths) - 1
    assert max(max(route.classes) for route in by_hop) + 1 == longest
    assert max(max(route.classes) for route in by_turn) + 1 <= (longest + 1) // 2 + 1


def test_a_root_is_checked_and_every_node_must_be_reached() -> None:
    with pytest.raises(ValueError, match="root = 'x': not a node"):
        up_down(torus([3, 3]), root="x")
    with pytest.raises(ValueError, match="no path to 2"):
        up_down(nx.DiGraph([(0, 1), (1, 0), (2, 3), (3, 2)]), root=0)


def test_a_route_that_does_not_exist_is_refused() -> None:
    graph = nx.DiGraph([(0, 1), (1, 2)])
    free = up_down(graph, root=0)
    with pytest.raises(ValueError, match="no route leads up and then down from 2 to 0"):
        free.route(2, 0)
    with pytest.raises(ValueError, match="source = 7: not an end"):
        free.route(7, 0)
