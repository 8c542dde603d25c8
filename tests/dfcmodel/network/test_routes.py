"""Routes: shortest ones, and the next hops of many destinations."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dfcmodel import (
    CBR,
    Fabric,
    Flow,
    FlowOptions,
    Link,
    Packets,
    Scenario,
    all_reduce,
    all_to_all,
    all_to_all_rounds,
    chain,
    flows_from,
    from_networkx,
    incast,
    permutation,
    read_workload,
    simulate,
)
from dfcmodel.lossless import fat_tree, leaf_spine, torus, with_hosts
from responsefn import FixedRate, NewReno
from tests.option_objects import grouped


@pytest.mark.parametrize("routes", ["even", "first", [(1, 2, 3)] * 2])
def test_entropy_that_nothing_hashes_is_refused(routes: Any) -> None:
    given = {"source": CBR(1e3), "links": chain(3, rate=1e4, delay=1e-3, buffer=50)}
    with pytest.raises(ValueError, match=r"entropy: must not be numbers with .*, for which nothing is hashed"):
        flows_from([1, 1], [3, 3], routes=routes, **grouped(flows_from, given, entropy=[1, 2]))
    assert len(flows_from([1, 1], [3, 3], routes=routes, **grouped(flows_from, given, entropy="pair"))) == 2


def test_a_warning_names_flows_over_hosts() -> None:
    """Servers of two networks forward nothing; tori of hosts, and routers that are linked to each other, may."""
    ends = [*"abc"], [*"bca"]
    links = [Link(*pair, 1e6, 1e-6, 100.0) for h, n in ("a1", "c1", "c2", "b2") for pair in ((h, n), (n, h))]
    with pytest.warns(
        UserWarning, match=r"'a' to 'b' goes over 'c', at which flows begin or end; 1 of 3 flows go over"
    ):
        flows = flows_from(*ends, source=FixedRate(), links=links)
    assert flows[0].path == ("a", "1", "c", "2", "b")
    paths = [flow.path for flow in flows]
    assert flows_from(*ends, source=FixedRate(), links=links, routes=paths)[0].path == paths[0]  # without a warning
    routers = chain(5, rate=1e6, delay=1e-6, buffer=100.0)
    flows_from([1, 2, 3], [5, 4, 4], source=FixedRate(), links=routers)
    hosts = from_networkx(torus([3, 3]), rate=1e6, delay=1e-6, buffer=100.0)
    all_to_all([*torus([3, 3])], sizes=1, source=FixedRate(), links=hosts)


def test_a_warning_names_sprayed_flows_whose_ends_have_several_links() -> None:
    """Packets of a flow leave over one link of its source, so that hosts with a link to each of four switches spray nothing."""
    planes = [Link(*pair, 1e6, 1e-6, 100.0) for n in range(4) for h in "ab" for pair in ((h, n), (n, h))]
    given = {"source": FixedRate(), "host": "nic", "routes": "spray"}
    with pytest.warns(UserWarning, match="'a' to 'b' takes 1 of its 4 shortest paths; so do 2 of 2 flows"):
        flows = flows_from([*"ab"], [*"ba"], links=planes, **grouped(flows_from, given))
    assert all(not flow.paths for flow in flows)
    planes += [Link(*pair, 1e6, 1e-6, 100.0) for pair in (("c", 0), (0, "c"))]
    with pytest.warns(UserWarning, match="'b' to 'a' takes 1 of its 4 shortest paths; so do 1 of 2 flows"):
        flows_from([*"cb"], [*"aa"], links=planes, **grouped(flows_from, given))


def planes(count: int, hosts: str = "abc") -> list[Link]:
    """Return links of hosts to each of ``count`` switches."""
    return [Link(*pair, 1e6, 1e-6, 100.0) for n in range(count) for h in hosts for pair in ((h, n), (n, h))]


@pytest.mark.parametrize("routes", ["ecmp", "even", "first"])
def test_a_warning_names_connections_that_take_one_of_several_links(routes: str) -> None:
    """A ring over hosts with a link to each of four switches uses a quarter of what they can send."""
    options = {"source": FixedRate(), "routes": routes}
    with pytest.warns(UserWarning, match=f"routes = '{routes}'.*'a' to 'b' takes 1 of 4; so do 12 of 12 flows"):
        all_reduce([*"abc"], 30, links=planes(4), **options)
    step = "DATA\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 9000 0\n"
    with pytest.warns(UserWarning, match="takes 1 of 4"):
        read_workload(step, [*"abc"], links=planes(4), **options)
    all_reduce([*"abc"], 30, links=planes(1), **options)  # without a warning
    by_plane = [
        all_reduce([*"abc"], 30, links=[link for link in planes(4) if n in (link.source, link.target)], **options)
        for n in range(4)
    ]
    flows = sum(by_plane)
    assert {flow.path[1] for flow in flows if flow.path[0] == "a"} == {0, 1, 2, 3}


@pytest.mark.parametrize("routes", ["ecmp", "even", "first"])
@pytest.mark.parametrize("collective", [all_reduce, all_to_all])
def test_a_warning_names_first_links_of_different_rates(collective: Any, routes: str) -> None:
    """Hosts of a server have a fast switch of their own, and a slow link to the network, as far from one another."""
    hosts = [f"h{n}" for n in range(4)]

    def servers(nics: bool) -> list[Link]:
        slow = [pair for h in hosts for pair in ([(h, f"nic {h}"), (f"nic {h}", "leaf")] if nics else [(h, "leaf")])]
        both = {(h, f"server {n // 2}"): 1.8e7 for n, h in enumerate(hosts)} | dict.fromkeys(slow, 1e6)
        return [Link(*ends, rate, 1e-7, 100.0) for pair, rate in both.items() for ends in (pair, pair[::-1])]

    packets = {"packets": 40} if collective is all_reduce else {"sizes": 10}
    given = {"source": FixedRate(), "routes": routes, **packets}
    message = "fewest links, whatever their rates: 'h0' to 'h1' leaves over 'server 0', or over 'leaf' at 0.056 of its"
    with pytest.warns(UserWarning, match=message):
        collective(hosts, links=servers(nics=False), **given)
    flows = collective(hosts, links=servers(nics=True), **given)  # without a warning
    inside = {flow.path[1] for flow in flows if {flow.path[0], flow.path[-1]} == {"h0", "h1"}}
    assert inside == {"server 0"}


def test_hosts_of_a_network_without_switches_are_not_named() -> None:
    """Nodes of a torus send over one another, a message over one of its shortest paths."""
    links = from_networkx(torus([3, 3]), **LINK)
    hosts = list(dict.fromkeys(link.source for link in links))
    assert all_reduce(hosts, 90, source=FixedRate(), links=links)
    assert all_to_all_rounds(hosts, 1, source=FixedRate(), links=links)


# Shortest paths of many flows, against networkx.

LINK = {"rate": 1e6, "delay": 1e-6, "buffer": 100.0}


@pytest.mark.parametrize("routes", ["first", "even", "ecmp", "spray"])
@pytest.mark.parametrize("graph", [with_hosts(fat_tree(4)), with_hosts(leaf_spine(3, 2, hosts=2)), torus([3, 4])])
def test_paths_are_among_the_shortest(graph: nx.DiGraph, routes: str) -> None:
    hosts = [node for node in graph if node[0] == "host"] or list(graph)
    pairs = [(a, b) for a in hosts[:6] for b in hosts if a != b]
    partial = routes == "spray" and hosts == list(graph)  # nodes of a torus have several links
    with pytest.warns(UserWarning, match="takes 1 of its 2") if partial else contextlib.nullcontext():
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
        if routes == "spray":
            every = {
                tuple(path)
                for path in nx.all_shortest_paths(graph, a, b)
                if tuple(path[:2]) == flow.path[:2] and tuple(path[-2:]) == flow.path[-2:]
            }
            assert {flow.path, *flow.paths} == every


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


def test_single_flows_to_each_destination_take_other_spines_in_turn() -> None:
    """One flow from each leaf to each other one: none of the links to a leaf has more than two of seven."""
    graph = with_hosts(leaf_spine(8, 8))
    flows = all_to_all(
        [("host", n) for n in range(8)],
        source=CBR(1.0),
        links=from_networkx(graph, **LINK),
        routes="even",
    )
    for at in (1, 2):  # links up, and links down
        loads = Counter(flow.path[at : at + 2] for flow in flows)
        assert max(loads.values()) <= at
        assert sum(loads.values()) == 56


def test_directed_links_are_followed_in_their_direction() -> None:
    links = chain(4, **LINK)
    assert flows_from([1, 2], [4, 3], source=CBR(1.0), links=links)[0].path == (1, 2, 3, 4)
    with pytest.raises(ValueError, match=r"targets\[1\] = 1: there is no path from 3"):
        flows_from([1, 3], [4, 1], source=CBR(1.0), links=links)
    detour = [*links, Link(4, 1, **LINK), Link(1, 3, **LINK)]
    assert flows_from([4], [3], source=CBR(1.0), links=detour)[0].path == (4, 1, 3)


# Tables of flows between given ends: ends, options, and the errors of `Flow`.

LINKS = from_networkx(with_hosts(leaf_spine(2, 2, hosts=4)), rate=1e6, delay=1e-6, buffer=100.0)
HOSTS = [("host", n) for n in range(8)]
GIVEN = {"source": CBR(1e6), "links": LINKS}


def ends(flows: object) -> list[tuple]:
    """Return sources and targets."""
    return [(flow.path[0], flow.path[-1]) for flow in flows]


def test_collectives_have_their_pairs() -> None:
    assert ends(all_to_all(HOSTS, **GIVEN)) == [(a, b) for a in HOSTS for b in HOSTS if a != b]
    assert ends(incast(HOSTS, HOSTS[3], **GIVEN)) == [(a, HOSTS[3]) for a in HOSTS if a != HOSTS[3]]
    pairs = ends(permutation(HOSTS, seed=4, **GIVEN))
    assert all(a != b for a, b in pairs)
    sources, targets = zip(*pairs, strict=True)
    assert len(set(sources)) == len(set(targets)) == len(pairs)
    assert pairs != ends(permutation(HOSTS, seed=5, **GIVEN))
    assert len(permutation(HOSTS[:2], seed=1, **GIVEN)) == 2  # the identity is shifted


def test_options_are_one_for_all_or_one_for_each() -> None:
    flows = flows_from(
        HOSTS[:3],
        HOSTS[3:6],
        [1, 2, np.inf],
        np.array([0.0, 0.5, 0.5]),
        source=[CBR(1.0), NewReno(), CBR(1.0)],
        links=LINKS,
        options=FlowOptions(priority=np.array([1, 0, 1]), names=["a", "b", "c"], host="direct"),
    )
    expected = [
        Flow("a", flows[0].path, CBR(1.0), size=1.0, start=0.0, priority=1, host="direct"),
        Flow("b", flows[1].path, NewReno(), size=2.0, start=0.5, priority=0, host="direct"),
        Flow("c", flows[2].path, CBR(1.0), start=0.5, priority=1, host="direct"),
    ]
    assert list(flows) == expected
    paths = [(HOSTS[0], ("leaf", 0), HOSTS[1])]
    assert flows_from(HOSTS[:1], HOSTS[1:2], routes=paths, **GIVEN)[0].path == paths[0]


def test_a_table_has_loops_as_single_flows_do() -> None:
    links = [Link(*ends, 1e6, 1e-6, 100) for ends in ("hA", "AB", "BA", "AC")]
    paths = [("h", "A", "B", "A"), ("h", "A", "B", "A", "C"), ("h", "A", "C")]
    source, ttls = CBR(1e5), [16, 3, None]
    table = flows_from(
        ["h"] * 3,
        ["A", "C", "C"],
        20,
        source=source,
        links=links,
        routes=paths,
        options=FlowOptions(ttl=ttls, names=[*"xyz"]),
    )
    single = tuple(
        Flow(name, path, source, size=20, ttl=ttl) for name, path, ttl in zip("xyz", paths, ttls, strict=True)
    )
    assert table == single
    runs = [simulate(Scenario("loops", links, flows, duration=1e-3), Packets(seed=1)) for flows in (table, single)]
    assert runs[0].drops().equals(runs[1].drops())
    assert runs[0].lost_by_flow.tolist() == runs[1].lost_by_flow.tolist() == [20.0, 20.0, 0.0]


# Tables of next hops: the paths that follow, beside those of shortest routes, and what is refused.


FABRIC = Fabric(leaf_spine(4, 3, hosts=2))
ENDS = FABRIC.hosts
OPTIONS: dict[str, Any] = {"source": FixedRate(), "links": FABRIC.links}


def _shortest() -> dict[Any, dict[Any, list[Any]]]:
    """Return the next nodes of all shortest paths, in the order of the links, by another program."""
    graph = nx.DiGraph([(link.source, link.target) for link in FABRIC.links])
    away = {host: nx.shortest_path_length(graph, target=host) for host in ENDS}
    return {
        node: {
            host: [near for near in graph[node] if own[near] == own[node] - 1]
            for host, own in away.items()
            if host != node
        }
        for node in graph
    }


def test_tables_of_all_shortest_paths_are_ecmp() -> None:
    given = all_to_all(ENDS, sizes=3, routes=_shortest(), **OPTIONS)
    assert [flow.path for flow in given] == [flow.path for flow in all_to_all(ENDS, sizes=3, routes="ecmp", **OPTIONS)]
    entropy = {"entropy": list(range(56, 0, -1))}
    given = all_to_all(ENDS, sizes=3, routes=_shortest(), **grouped(all_to_all, OPTIONS, entropy))
    hashed = all_to_all(ENDS, sizes=3, routes="ecmp", **grouped(all_to_all, OPTIONS, entropy))
    assert [flow.path for flow in given] == [flow.path for flow in hashed]


def test_lists_of_several_tables_over_next_hops_are_chosen_as_their_sum() -> None:
    """The second table goes on with the numbers that the switches hash."""
    tables = _shortest()
    one = all_to_all(ENDS, sizes=3, routes=tables, **OPTIONS)
    two = all_to_all(
        ENDS,
        sizes=3,
        routes=_shortest(),
        **OPTIONS,
        options=FlowOptions(names=[f"second {n}" for n in range(len(one))]),
    )
    total, paths = one + two, [flow.path for flow in one]
    assert [flow.path for flow in total][: len(one)] == paths
    assert [flow.path for flow in total][len(one) :] != paths
    listed = FABRIC.scenario("x", [*one, *two], duration=1e-2)
    assert [flow.path for flow in listed.flows] == [flow.path for flow in total]
    by_ecmp = [all_to_all(ENDS, sizes=3, routes="ecmp", **OPTIONS) for _ in range(2)]
    assert [flow.path for flow in by_ecmp[0] + by_ecmp[1]] == [flow.path for flow in total]
    del tables[("leaf", 0)][ENDS[2]][1:]
    other = all_to_all(ENDS, sizes=3, routes=tables, **OPTIONS)
    assert [flow.path for flow in one + other][len(one) :] == [flow.path for flow in other]


def test_a_node_without_an_entry_has_one_way_on() -> None:
    """Hosts have one link, spines need an entry, and the last leaf sends straight to its hosts."""
    far = ENDS[2]
    tables = {("leaf", 0): {far: [("spine", 2)]}, ("spine", 2): {far: [("leaf", 1)]}}
    (flow,) = flows_from([ENDS[0]], [far], sizes=3, routes=tables, **OPTIONS)
    assert flow.path == (ENDS[0], ("leaf", 0), ("spine", 2), ("leaf", 1), far)


def test_weights_of_next_hops_are_shares_of_the_flows() -> None:
    """They were ignored: a mapping from next nodes to weights was a list of the nodes."""
    count, far = 400, ENDS[2]
    further = {("spine", n): {far: [("leaf", 1)]} for n in range(3)}
    for hops, expected in (
        ({("spine", 0): 3, ("spine", 1): 1}, 0.75),
        ([("spine", 0)] * 3 + [("spine", 1)], 0.75),
        ({("spine", 0): 2, ("spine", 1): 2}, 0.5),
    ):
        tables = {("leaf", 0): {far: hops}} | further
        flows = flows_from([ENDS[0]] * count, [far] * count, sizes=3, routes=tables, **OPTIONS)
        share = sum(flow.path[2] == ("spine", 0) for flow in flows) / count
        assert abs(share - expected) < 4.0 * (expected * (1.0 - expected) / count) ** 0.5


def test_a_detour_is_followed() -> None:
    far = ENDS[2]
    ways = ["leaf", 0], ["spine", 2], ["leaf", 3], ["spine", 1], ["leaf", 1]
    path = [tuple(each) for each in ways]
    tables = {a: {far: [b]} for a, b in itertools.pairwise(path)}
    (flow,) = flows_from([ENDS[0]], [far], sizes=3, routes=tables, **OPTIONS)
    assert flow.path == (ENDS[0], *path, far)


LEAF, SPINE, FAR = ("leaf", 0), ("spine", 0), ENDS[2]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, r"targets\[0\] = .*: \('leaf', 0\) has several links and no next hops towards it"),
        ({LEAF: {FAR: [SPINE]}, SPINE: {FAR: [LEAF]}}, "next hops .* lead back; a loop needs ttl, such as ttl=64"),
        ({LEAF: {FAR: [("leaf", 1)]}}, r"routes\[\('leaf', 0\)\]\[.*\] = .*: must be nodes to which \('leaf', 0\) has links"),
        ({LEAF: {FAR: []}}, "must be nodes to which"),
        ({"nowhere": {FAR: [SPINE]}}, "must be nodes to which 'nowhere' has links"),
        ({LEAF: {"nowhere": [SPINE]}}, r"routes\[\('leaf', 0\)\]\['nowhere'\]: 'nowhere' must be a node of the links"),
        *(({LEAF: wrong}, r"routes\[\('leaf', 0\)\]") for wrong in (3, {FAR: 3}, {FAR: "spine"})),
        ({LEAF: {FAR: {SPINE}}}, r"routes\[\('leaf', 0\)\]\[.*\] = .*: must be a list of nodes, as a set has no order"),
        ({LEAF: {FAR: {SPINE: 0.5}}}, r"routes\[.*\]\[.*\]\[\('spine', 0\)\] = 0.5: must be a whole number"),
        ({LEAF: {FAR: {("spine", 9): 1}}}, "must be nodes to which"),
    ],
)  # fmt: skip
def test_what_is_refused(tables: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        flows_from([ENDS[0]], [FAR], sizes=3, routes=tables, **OPTIONS)


def test_next_hops_that_lead_back_are_a_loop_with_a_time_to_live() -> None:
    tables = {
        LEAF: {FAR: [SPINE]},
        SPINE: {FAR: [LEAF], HOSTS[0]: [LEAF]},
        ("leaf", 1): {HOSTS[0]: [SPINE]},
    }
    given = {"routes": tables, "ttl": [7, None], **GIVEN}
    caught, other = flows_from([HOSTS[0], FAR], [FAR, HOSTS[0]], sizes=3, **grouped(flows_from, given))
    assert caught == Flow(f"{HOSTS[0]}->{FAR}", (HOSTS[0], LEAF, SPINE, LEAF), GIVEN["source"], size=3, ttl=7)
    assert caught.path == (HOSTS[0], *[LEAF, SPINE] * 4)
    assert other.path[-1] == HOSTS[0]
    assert other.name == f"{FAR}->{HOSTS[0]}"
    twice = flows_from([HOSTS[0]] * 2, [FAR] * 2, sizes=3, **grouped(flows_from, {**given, "ttl": 7}))
    assert [flow.name for flow in twice] == [f"{n}: {caught.name}" for n in range(2)]
