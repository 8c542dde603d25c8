"""Named cycles deadlock in simulation, at both levels; free routings of the same traffic do not."""

from __future__ import annotations

import networkx as nx
import pytest

from dfcmodel import Packets, simulate
from dfcmodel.lossless import (
    buffer_cycles,
    deadlock,
    dragonfly,
    line_rate_scenario,
    torus,
    up_down,
)

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
