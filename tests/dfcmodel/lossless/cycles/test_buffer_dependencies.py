"""Cycles of buffer dependencies and routings without them."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from dfcmodel import Packets, simulate
from dfcmodel.lossless import (
    Route,
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
from dfcmodel.lossless.cycles import cycle_searches
from dfcmodel.lossless.cycles.buffer_dependencies import (
    dependencies_of_routes,
    dependencies_of_shortest_paths,
)
from dfcmodel.lossless.cycles.free_routings import ranks
from dfcmodel.lossless.results import Dependencies
from dfcmodel.lossless.topologies import shortest_paths
from dfcmodel.lossless.topologies.shortest_paths import ShortestPaths, endpoint_numbers

# Dependencies of buffers beside those of paths that networkx lists one by one, and cycles beside all of them.


def arcs(found: Dependencies) -> set[tuple[Any, Any]]:
    first, second = found.waits.nonzero()
    return {(found.channels[i], found.channels[j]) for i, j in zip(first, second, strict=True)}


def test_numbers_of_numpy_are_classes() -> None:
    plain = Route(("a", "b", "c"), [3, 2]).channels()
    assert Route(("a", "b", "c"), np.array([3, 2])).channels() == plain == [("a", "b", 3), ("b", "c", 2)]
    assert Route(("a", "b", "c"), np.int64(3)).channels() == Route(("a", "b", "c"), 3).channels()


def test_cycles_that_exist_only_between_switches_are_named() -> None:
    """Spines never send: of a fabric with hosts as nodes the verdict was of paths between all nodes, without a word."""
    cables = [(f"leaf{n}", f"spine{m}") for n in range(2) for m in range(2)] + [("h0", "leaf0"), ("h1", "leaf1")]
    fabric = nx.Graph(cables).to_directed()
    with pytest.warns(UserWarning, match="all 6 nodes, and impossible between the 2 with one neighbour, such as 'h0'"):
        found = deadlock(fabric)
    assert "between 6 nodes" in found.summary()["routing"]
    assert deadlock(fabric, ends=["h0", "h1"]).is_free
    deadlock(nx.path_graph(4).to_directed())  # free in any case
    deadlock(nx.cycle_graph(5).to_directed())
    hosts = [(f"h{n}", n) for n in range(5)]
    deadlock(nx.Graph([*nx.cycle_graph(5).edges, *hosts]).to_directed())  # possible between the hosts, too


def test_a_route_that_ends_within_itself_is_no_routing_loop() -> None:
    """One round of a loop was free of deadlock, without a word; its packets go on."""
    graph = nx.DiGraph(["ha", "ab", "bc", "ca"])
    with pytest.raises(
        ValueError, match=r"ends at 'a', which it has visited; of a routing loop write two rounds, \['a'"
    ):
        deadlock(graph, [["h", "a", "b", "c", "a"]])
    assert not deadlock(graph, [["h", "a", "b", "c", "a", "b", "c", "a"]]).is_free
    assert not deadlock(graph, [["h", "a", "b", "c", "a", "b"]]).is_free


def test_traffic_that_bounces_off_a_standby_switch_needs_a_class_of_its_own() -> None:
    """Dual ToR (SONiC, doc/qos/tunnel_dscp_remapping.md): a standby ToR sends packets back up, in queue 3 or in 2."""
    cables = ["src t1", "t1 torA", "t1 torB", "torA s1", "torB s2"]
    graph = nx.Graph(cable.split() for cable in cables).to_directed()
    bounced = [["src", "t1", "torA", "t1", "torB", "s2"], ["src", "t1", "torB", "t1", "torA", "s1"]]
    found = deadlock(graph, bounced)
    assert [set(cycle) for cycle in found.cycles()] == [
        {("t1", "torA"), ("torA", "t1"), ("t1", "torB"), ("torB", "t1")}
    ]
    assert deadlock(graph, [Route(path, [3, 3, 2, 2, 3]) for path in bounced]).is_free


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


# Minimal cycles beside networkx's, by the compiled search and by plain Python.


def strong(nodes: int, p: float, seed: int) -> sp.csr_matrix:
    """Return a random graph of which every vertex lies on a cycle."""
    graph = nx.gnp_random_graph(nodes, p, seed=seed, directed=True)
    part = max(nx.strongly_connected_components(graph), key=len)
    return sp.csr_matrix(nx.to_scipy_sparse_array(graph.subgraph(part)))


@pytest.mark.parametrize("seed", range(5))
def test_each_vertex_is_tried_and_no_cycle_has_a_chord(seed: int) -> None:
    waits = strong(40, 0.06, seed)
    graph = nx.DiGraph(waits)
    found = list(cycle_searches.minimal_cycles(waits))
    assert len({frozenset(cycle) for cycle in found}) == len(found) <= waits.shape[0]
    for cycle in found:
        assert nx.DiGraph(graph.subgraph(cycle)).number_of_edges() == len(cycle)
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise([*cycle, cycle[0]]))


def test_the_compiled_search_gives_the_same_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = strong(60, 0.08, 1)
    plain = list(cycle_searches.minimal_cycles(waits))
    monkeypatch.setattr(cycle_searches, "INTERPRETED", 0)
    assert list(cycle_searches.minimal_cycles(waits)) == plain


def test_a_shortest_cycle_is_as_long_as_the_distances_say() -> None:
    waits = strong(40, 0.06, 2)
    graph = nx.DiGraph(waits)
    before, queue, cycle = np.full(waits.shape[0], -1), *np.empty((2, waits.shape[0]), dtype=int)
    for vertex in graph:
        length = cycle_searches.close_cycle(waits.indptr, waits.indices, vertex, before, queue, cycle)
        back = nx.single_source_shortest_path_length(graph.reverse(copy=False), vertex)
        assert length == 1 + min(dict(back)[v] for v in graph.successors(vertex))
        assert (before == -1).all()


def test_all_cycles_of_a_dragonfly_are_listed() -> None:
    """As many closed walks of four and five buffers as matrix powers count; a cycle for each buffer at most."""
    found = dependencies_of_shortest_paths(dragonfly(8, 2))
    cyclic = found.cyclic()
    waits = sp.csr_matrix(found.waits[cyclic][:, cyclic])
    cycles = list(found.cycles())
    assert 0 < len(cycles) <= len(cyclic)
    assert {v for cycle in cycles for v in cycle} <= set(cyclic.tolist())
    power, walks = waits, {}
    for length in range(2, 8):
        power = sp.csr_matrix(power @ waits)
        walks[length] = int(power.diagonal().sum())
    shortest = min(map(len, cycles))
    assert walks[shortest] > 0
    assert all(walks[length] == 0 for length in range(2, shortest))


# Ends of traffic, and consecutive links of shortest paths between them.


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
def test_dependencies_are_those_of_all_shortest_paths_of_shortest_paths(monkeypatch, interpreted) -> None:
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
        crossed = {(int(paths.tail[k]), int(paths.head[k])) for k in np.flatnonzero(paths.is_crossed)}
        pairs = [(a, b) for a, b in itertools.permutations(ends, 2) if nx.has_path(graph, a, b)]
        assert crossed == {
            link for a, b in pairs for path in nx.all_shortest_paths(graph, a, b) for link in itertools.pairwise(path)
        }
        assert paths.unconnected == len(ends) * (len(ends) - 1) - len(pairs)


def test_only_ends_send() -> None:
    """Between two leaves no frame goes from spine to spine."""
    graph = nx.DiGraph([("a", "s"), ("s", "b"), ("b", "t"), ("t", "a")])
    assert not dependencies_of_shortest_paths(graph).is_free
    assert dependencies_of_shortest_paths(graph, ends=["a", "b"]).is_free


def test_ends_are_those_given_or_the_nodes_with_hosts_or_all() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    np.testing.assert_array_equal(endpoint_numbers(graph, None), [0, 1, 2])
    np.testing.assert_array_equal(endpoint_numbers(graph, ["c", "a", "c"]), [0, 2])
    nx.set_node_attributes(graph, {"b": 4, "c": 0}, "hosts")
    with pytest.raises(ValueError, match=r"^1 node with hosts: must be at least 2 nodes"):
        endpoint_numbers(graph, None)
    graph.nodes["c"]["hosts"] = 1
    np.testing.assert_array_equal(endpoint_numbers(graph, None), [1, 2])


@pytest.mark.parametrize("ends", [[], [(0, 0)], [(0, 0), (0, 0)]])
def test_without_traffic_nothing_is_proved(ends) -> None:
    """A torus, whose shortest paths deadlock, is not free of deadlock because no two ends are named."""
    for answer in (deadlock, up_down):
        with pytest.raises(ValueError, match=r"^ends = \[.*\]: must be at least 2 nodes"):
            answer(torus([4, 4]), ends=ends)


def test_ends_without_a_path_are_counted_and_one_path_is_needed() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    found = deadlock(graph)
    assert (found.is_free, found.dependencies.unconnected) == (True, 3)  # b to a, c to a, c to b
    assert "none between 3 ordered pairs of ends" in str(found)
    assert "ordered pairs" not in str(deadlock(torus([3, 3])))
    with pytest.raises(ValueError, match="graph: must have a path between two of its 2 ends"):
        deadlock(nx.DiGraph([("a", "b"), ("c", "d")]), ends=["a", "c"])


def test_buffers_in_use_are_those_on_the_paths() -> None:
    found = deadlock(torus([4, 4]), ends=[(0, 0), (0, 1)])
    assert {channel[:2] for channel in found.dependencies.channels} == {((0, 0), (0, 1)), ((0, 1), (0, 0))}
    corner = deadlock(torus([4, 4]), ends=[(0, 0), (1, 1)])
    i, j = (int(k[0]) for k in corner.dependencies.waits.nonzero())
    hops = corner.dependencies.route_through(i, j).channels()
    assert (corner.dependencies.channels[i], corner.dependencies.channels[j]) in itertools.pairwise(hops)


# Named cycles deadlock in simulation, at both levels; free routings of the same traffic do not.

METHODS = [None, Packets(seed=1)]


@pytest.mark.parametrize("method", METHODS, ids=["fluid", "packets"])
@pytest.mark.parametrize("graph", [torus([4, 4]), dragonfly(4, 2)], ids=["torus", "dragonfly"])
def test_a_named_cycle_deadlocks_and_free_routes_between_the_same_ends_do_not(graph, method) -> None:
    """Nothing is lost in either; in the deadlock nothing is delivered any more, packets are left."""
    found = deadlock(graph)
    for cycle, _ in zip(found.cycles(), range(3), strict=False):
        stuck = simulate(found.scenario(cycle), method)
        assert float(stuck.efficiency[:, -20:].max()) == 0.0
        assert float(stuck.occupancy[:, -1].min()) > 50.0
        assert float(stuck.losses.sum()) == 0.0
        free, number = up_down(graph), found.dependencies.channels.index
        places = [number((*link, 0)) for link in cycle]
        routes = [found.dependencies.route_through(i, j) for i, j in zip(places, [*places[1:], places[0]], strict=True)]
        same = line_rate_scenario(free.route(r.nodes[0], r.nodes[-1]) for r in routes)
        moving = simulate(same, method)
        assert float(moving.efficiency[:, -20:].mean("time").min()) > 0.1
        assert float(moving.losses.sum()) == 0.0


def test_a_cycle_of_one_of_several_classes_names_it_and_keeps_to_it() -> None:
    """Dimension-order routes of a torus, with a class per dimension: a way round along the second one."""

    def way_round(x: int, y: int) -> Route:
        return Route([(x - 1, y), (x, y), (x, (y + 1) % 4), (x, (y + 2) % 4), (x + 1, (y + 2) % 4)], [0, 2, 2, 3])

    routes = [way_round(1, y) for y in range(4)]
    graph = nx.DiGraph([link for route in routes for link in itertools.pairwise(route.nodes)])
    found = deadlock(graph, routes)
    assert found.summary()["a cycle"].split(", (")[0] == "(1, 0)->(1, 1) (class 2)"
    paths = [flow.path for flow in found.scenario().flows]
    assert sorted(paths) == sorted((f"1.{y}", f"1.{(y + 1) % 4}", f"1.{(y + 2) % 4}") for y in range(4))
    assert simulate(found.scenario(), Packets(seed=1)).deadlock is not None
    ring = deadlock(nx.cycle_graph(4, create_using=nx.DiGraph))
    assert found.passage(0.5, room=1).mean == pytest.approx(ring.passage(0.5, room=1).mean)


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
