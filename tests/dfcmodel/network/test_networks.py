"""Networks and scenarios, and the phases of their events."""

from __future__ import annotations

import itertools
import re
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    INT,
    PFC,
    RED,
    ByteBuffer,
    Fabric,
    Fair,
    Flow,
    Jitter,
    Link,
    Packets,
    Pause,
    Scenario,
    chain,
    choose_level,
    dumbbell,
    from_networkx,
    parking_lot,
    ring,
    simulate,
    takano2006,
    tree,
)
from dfcmodel.lossless import deadlock, leaf_spine
from dfcmodel.network.links import Links
from hopflow import gbps
from responsefn import CUBIC, DCQCN, HPCC, TIMELY, FixedRate, NewReno, NS2Vegas, RateRule, Reno
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario

# Links and scenarios: paths, graphs, immutability, refused fields.

ONE_LINK = {"source": "a", "target": "b", "rate": 1e4, "delay": 1e-3, "buffer": 100}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"target": "a"}, ["target", "a->a"]),
        ({"rate": 370e12}, ["rate", "a->b", "mbps"]),
        ({"rate": 10e9}, ["rate", "a->b", "'370Mbps'", "<= 5e+09"]),
        ({"rate": "9000Tbps", "delay": 0.0}, ["delay"]),
        ({"rate": float("nan")}, ["rate", "nan"]),
        ({"rate": -1.0}, ["rate", "-1"]),
        ({"delay": 0.0}, ["delay", "0"]),
        ({"delay": 100.0}, ["delay", "ms"]),
        ({"buffer": 0.5}, ["buffer", "0.5"]),
        ({"buffer": float("inf")}, ["buffer", "inf", "<= 1e+09"]),
        ({"discipline": "red"}, ["discipline", "'red'", "FIFO"]),
        ({"discipline": Pause()}, ["high", "a->b", "= 900", "< 100", "high = 50", "low = 25"]),
        ({"discipline": Pause(high=100, low=9)}, ["high", "a->b", "= 100", "< 100", "FIFO"]),
        ({"discipline": Pause(high=9, low=9), "buffer": 2}, ["high", "= 9", "< 2", "high = 1"]),
    ],
)
def test_link_fields(refused, change, parts) -> None:
    refused(parts, lambda: Link(**{**ONE_LINK, **change}))


@pytest.mark.parametrize(
    ("count", "shared", "room"),
    [(1, True, 20.0), (2, True, 20.0), (1, False, 20.0), (2, False, 40.0)],
)
def test_a_pause_must_be_able_to_come(refused, count, shared, room) -> None:
    """What fits into a buffer, or into those of all flows, is never above `high`, or just above it."""
    flows = [Flow(str(n), "abc", CBR(2e3 / count), host="unshaped") for n in range(count)]

    def network(high):
        last = Link("b", "c", 1e3, 1e-3, 20, Pause(high=high, low=9), shared)
        return Scenario("x", (Link("a", "b", 2e3, 1e-3, 1e3), last), flows, duration=0.1)

    refused(["high", "b->c", f"< {room:g}"], lambda: network(room))
    waits = simulate(network(room - 0.001), level="fluid").occupancy.max("time")
    assert float(waits[1]) == pytest.approx(room, abs=1e-6)  # drops are rounded up to the quantum
    assert waits[0] > 1  # it comes at link a's own rate, and waits there only while that is paused


def test_a_pause_on_a_link_that_no_flow_takes() -> None:
    one = takano2006("1")
    unused = Link("off", 1, 1e3, 1e-3, 20, Pause(), shared=False)
    assert replace(one, links=(*one.links, unused)).links[-1] == unused


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"duration": -1.0}, ["duration", "-1"]),
        ({"min_rto": 0.0}, ["min_rto"]),
        ({"packet_size": 0.0}, ["packet_size"]),
        ({"flows": ()}, ["flows"]),
        ({"links": ()}, ["links"]),
    ],
)
def test_scenario_fields(refused, change, parts) -> None:
    refused(parts, lambda: replace(takano2006("1"), **change))


def test_names_are_there_once(refused) -> None:
    scenario = takano2006("1")
    refused(["links", "'1->2'"], lambda: replace(scenario, links=scenario.links * 2))
    refused(["flows", "'target'"], lambda: replace(scenario, flows=scenario.flows[:1] * 2))


LINK = {"rate": 1000.0, "delay": 0.01, "buffer": 50}


def test_there_and_back_through_networkx() -> None:
    links = (
        Link("a", "b", 1000.0, 0.01, 50),
        Link("b", "c", 2000.0, 0.02, 70, DFC(diffusion=0.2), shared=False),
    )
    scenario = Scenario("test", links, (Flow("one", "abc", Reno()),))
    assert from_networkx(scenario.to_networkx()) == links


def test_a_default_of_a_graphml_file_is_refused() -> None:
    """By GraphML an edge without the data has the default; networkx leaves it an attribute of the graph."""
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="r" for="edge" attr.name="rate" '
        'attr.type="double"><default>5000</default></key><graph edgedefault="directed"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    with pytest.raises(ValueError, match="rate of edge_default of the graph: defaults are not read"):
        from_networkx(nx.parse_graphml(text), **LINK)


@pytest.mark.parametrize(
    ("edge", "node"),
    [
        (
            {"LinkLabel": "a", "LinkType": "Fibre", "id": "e1", "key": 0},
            {"Country": "CH", "Latitude": 1.0, "Longitude": 2},
        ),
        ({"srcIfName": "Gi0/1", "dst_port": 3, "color": "red"}, {"lat": 1.0, "lon": 2.0, "ipv4_address": "10.0.0.1"}),
        ({"taillabel": "eth0", "penwidth": 2, "ospf_cost": 1}, {"graphPosX": 5, "size": 3, "r": 1, "g": 2, "b": 3}),
    ],
)
@pytest.mark.parametrize("build", [lambda graph: from_networkx(graph, **LINK), Fabric])
def test_labels_positions_and_drawings_are_no_properties(edge: dict, node: dict, build: Any) -> None:
    """Attributes of the Topology Zoo, of exports of NetBox and containerlab, of DOT and of Gephi."""
    graph = leaf_spine(2, 2)
    nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, edge))
    nx.set_node_attributes(graph, dict.fromkeys(graph, node))
    build(graph)


@pytest.mark.parametrize("name", ["weight", "cost", "metric", "igp_metric"])
@pytest.mark.parametrize("build", [lambda graph: from_networkx(graph, **LINK), Fabric, deadlock])
def test_a_warning_names_metrics_of_edges_by_which_no_path_is_chosen(name: str, build: Any) -> None:
    """Only where they differ: paths of the fewest links are then not those of the smallest sum."""
    graph = leaf_spine(2, 2)
    nx.set_edge_attributes(graph, 3, name)
    build(graph)  # without a warning
    graph.edges[("leaf", 0), ("spine", 1)][name] = 10
    with pytest.warns(UserWarning, match=f"{name} of edges is not read: shortest paths are those of the fewest links"):
        build(graph)


def test_paths() -> None:
    scenario = takano2006("4S")
    target, background = scenario.flows
    assert scenario.nodes == tuple(range(1, 17))
    assert scenario.senders == tuple(range(1, 16))
    assert scenario.path(background) == scenario.links[7:]
    assert scenario.path_index(target) == tuple(range(15))
    assert scenario.base_rtt(target) == pytest.approx(2 * 16 * 1e-4)  # the access link is one
    assert scenario.link(3, 4) is scenario.links[2]


def test_everything_is_immutable() -> None:
    scenario = takano2006("1")
    with pytest.raises(FrozenInstanceError):
        scenario.links[0].rate = 1.0
    assert hash(scenario) == hash(takano2006("1"))
    boxed = Flow("a", (1, 2), CBR(np.array(1e3)))
    assert hash(boxed) == hash(Flow("a", (1, 2), CBR(1e3)))


def test_whole_numbers_are_times_too() -> None:
    """Starts and timeouts as int, float32 or float64 give one run."""

    def run(start, min_rto):
        links = chain(3, rate=1e3, delay=5e-3, buffer=8)
        flows = [Flow("a", (1, 2, 3), Reno(), start=0), Flow("b", (1, 2, 3), Reno(), start=start)]
        return simulate(Scenario("s", links, flows, duration=2, min_rto=min_rto), level="fluid")

    first, second = run(1, 0.25), run(np.float32(1.0), np.float32(0.25))
    assert first.lost.sum() > 0
    np.testing.assert_array_equal(first.delivered, second.delivered)


def test_numbers_of_links_may_be_arrays_without_dimensions() -> None:
    """They are kept as numbers, which can be told apart as keys."""
    link = Link("a", "b", np.array(1e3), np.array(0.01), np.array(50.0))  # type: ignore[arg-type]
    assert link == Link("a", "b", 1e3, 0.01, 50.0)
    assert [type(value) for value in (link.rate, link.delay, link.buffer)] == [float] * 3
    assert Scenario("one", [link], [Flow("f", ("a", "b"), CBR(10.0))]).link_table.kind_of.tolist() == [0]


OTHER_VALUES = {
    "rate": 2e3, "delay": 0.02, "buffer": ByteBuffer("150 kB"), "discipline": PFC(), "shared": False,
}  # fmt: skip


@pytest.mark.parametrize("name", [column.name for column in fields(Link) if column.name not in ("source", "target")])
def test_links_of_one_kind_are_equal_in_every_field(name: str) -> None:
    """A field without another value here is new: links that differ in it alone must keep their own values."""
    link = Link("a", "b", 1e3, 0.01, 100.0)
    other = replace(link, source="b", target="c", **{name: OTHER_VALUES[name]})
    columns = Links.of([link, other, replace(link, source="c", target="d")])
    assert columns.kind_of.tolist() == [0, 1, 0]
    assert [getattr(kind, name) for kind in columns.kinds] == [getattr(link, name), OTHER_VALUES[name]]


def test_a_printed_scenario_is_a_table() -> None:
    """`repr` has all that makes two scenarios equal; a table fits on a terminal."""
    lines = str(takano2006("1")).splitlines()
    assert lines[0] == "Scenario"
    assert len(lines) == 1 + len(takano2006("1").summary())


# Topologies and the scenarios of takano2006 by name.


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"name": "7"}, ["name", "'7'", "'4S'"]),
        ({"name": "1", "tcp": "cubic"}, ["tcp", "'cubic'", "'newreno'"]),
        ({"name": "4V'", "tcp": "reno"}, ["tcp", "'reno'", "4V'", "vegas"]),
        ({"name": "4R", "tcp": "tahoe"}, ["tcp", "'tahoe'", "4R", "reno"]),
        ({"name": "4N", "tcp": "reno"}, ["tcp", "'reno'", "newreno"]),
        ({"name": "1", "host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"name": "1", "host": "shaped", "dfc": False}, ["host", "'shaped'", "FIFO"]),
    ],
)
def test_scenario_names(refused, arguments, parts) -> None:
    refused(parts, lambda: takano2006(**arguments))


def test_tcp_that_the_name_says_anyway_is_fine() -> None:
    assert takano2006("4R", tcp="reno") == takano2006("4R")


ACCESS = {"access_rate": 1e4, "access_delay": 1e-3}


@pytest.mark.parametrize(
    ("links", "graph"),
    [
        (chain(4, **LINK), nx.path_graph([1, 2, 3, 4], create_using=nx.DiGraph)),
        (ring(5, **LINK), nx.cycle_graph([1, 2, 3, 4, 5], create_using=nx.DiGraph)),
        (tree(3, **LINK), nx.DiGraph([(i, i // 2) for i in range(2, 16)])),
        (dumbbell(2, **LINK, **ACCESS), nx.DiGraph([("s1", "left"), ("s2", "left"), ("left", "right"), ("right", "d1"), ("right", "d2")])),
        (parking_lot(2, **LINK, **ACCESS), nx.DiGraph([("s1", 1), ("s2", 2), (1, 2), (2, 3), (2, "d2"), (3, "d3")])),
    ],
)  # fmt: skip
def test_shapes(links, graph) -> None:
    assert {(link.source, link.target) for link in links} == set(graph.edges)


@pytest.mark.parametrize(("name", "buffer"), [("4V", 1800), ("4V'", 400)])
def test_vegas_scenarios(name: str, buffer: int) -> None:
    scenario = takano2006(name, dfc=False)
    assert {link.buffer for link in scenario.links} == {buffer}
    assert {link.discipline for link in scenario.links} == {FIFO()}
    assert all(flow.source == NS2Vegas() for flow in scenario.flows)


# Phase effects: which flows may have them, and that random times remove them.


ALIKE = (NewReno(), NewReno())


def pair(near: float = 2e-3, far: float = 9e-3, rules=ALIKE, **shared) -> Scenario:
    """Return two flows that share a link of 1000 packets/s behind links of their own."""
    links = (
        Link("a", "c", 1e4, near, 1e4), Link("b", "c", 1e4, far, 1e4),
        replace(Link("c", "d", 1e3, 0.01, 20.0), **shared),
    )  # fmt: skip
    flows = tuple(Flow(name, (name, "c", "d"), rule, max_window=200.0) for name, rule in zip("ab", rules, strict=True))
    return Scenario("pair", links, flows, duration=20.0)


@pytest.mark.parametrize(
    ("scenario", "found"),
    [
        (pair(), True),  # round-trip times differ
        (pair(far=2e-3, rules=(NewReno(), CUBIC())), True),
        (pair(far=2e-3), False),  # alike
        (pair(discipline=Fair()), False),  # a queue of their own
        (pair(discipline=RED(5.0, 15.0, 0.1)), False),  # drops at random
        (pair(rules=(NewReno(), CBR(300.0))), False),  # one window
        (pair(rate=1e6), False),  # a bottleneck each
    ],
)  # fmt: skip
def test_flows_that_differ_at_one_queue_are_found(scenario: Scenario, found: bool) -> None:
    """A choice of the level gives packets of both a random time of one packet at the queue, 1 ms."""
    limits = simulate(scenario, Packets(seed=1)).limits
    assert any(limit.startswith("phase effects: flows a, b") for limit in limits) == found
    chosen = choose_level(scenario)
    assert isinstance(chosen.method, Packets)
    assert chosen.packet_jitter == (1e-3 if found else 0.0)


def senders(rate: float, elements=(), far: float = 1e-3, **shared) -> Scenario:
    """Return two transfers from hosts of their own over a link of 1000 packets/s."""
    links = [Link(name, "c", 1e3, delay, 1e4) for name, delay in (("a", 1e-3), ("b", far))]
    links.append(replace(Link("c", "d", 1e3, 1e-3, 200), **shared))
    flows = [Flow(name, (name, "c", "d"), CBR(rate), size=2000) for name in "ab"]
    return Scenario("senders", links, flows, duration=6.0, elements=elements)


def at_line_rate() -> Scenario:
    """Return the same transfers at the rate of network interfaces."""
    scenario = senders(1e3)
    return replace(scenario, flows=[replace(flow, source=FixedRate(), host="nic") for flow in scenario.flows])


@pytest.mark.parametrize(
    ("scenario", "jitter", "found"),
    [
        (senders(700.0), None, True),
        (senders(700.0), "1pkt", True),  # delays packets of windows
        (senders(700.0, far=7.2e-3), None, True),
        (at_line_rate(), None, True),
        (senders(700.0, discipline=PFC(xoff=40, xon=20)), None, False),  # nothing is lost
        (senders(700.0, elements=[Jitter(f"{name}->c", bound=1e-3) for name in "ab"]), None, False),
        (senders(400.0), None, False),  # no overload
    ],
)
def test_equal_senders_that_lose_unequal_parts_are_named(scenario: Scenario, jitter: str | None, found: bool) -> None:
    """Without random times one of two equal senders loses nothing, and the other all that is lost."""
    run = simulate(scenario, Packets(seed=1, recovery="selective"), packet_jitter=jitter, sample=1.0)
    named = [limit for limit in run.limits if limit.startswith("phase effects: flows a, b without windows")]
    assert bool(named) == found
    lost = run.lost_by_flow
    assert (lost.min() < 0.01 * lost.max()) == found
    if found:
        assert re.search(r"lose 0(\.0005)? to 0\.4", named[0])
        assert "Jitter in Scenario(elements=)" in named[0]


def differing(scenario: Scenario, **values) -> Scenario:
    """Return a scenario with other options of flow b."""
    a, b = scenario.flows
    return replace(scenario, flows=[a, replace(b, **values)])


@pytest.mark.parametrize(
    ("scenario", "recovery", "found"),
    [
        (differing(at_line_rate(), start=1e-4), "selective", True),
        (differing(at_line_rate(), start=0.1), "go-back-n", True),
        (differing(at_line_rate(), size=2500), "selective", True),
        (differing(at_line_rate(), source=CBR(1e3)), "none", True),
        (differing(senders(700.0), start=3e-4), "none", True),
        (differing(senders(700.0), source=CBR(811.0)), "none", False),  # the phases change
        (differing(senders(700.0), source=CBR(140.0), start=0.5), "none", False),  # loses less, as it sends less
        (differing(at_line_rate(), start=3.0), "selective", False),  # one after the other
        (differing(senders(700.0, discipline=Fair()), start=3e-4), "none", False),
    ],
)
def test_constant_rates_that_lose_unequal_parts_are_named(scenario: Scenario, recovery: str, found: bool) -> None:
    """Also where starts, sizes or sources differ: losses are compared with those of arrivals in random order."""
    run = simulate(scenario, Packets(seed=1, recovery=recovery), sample=1.0)
    assert any(limit.startswith("phase effects: flows a, b without windows") for limit in run.limits) == found


def test_constant_rates_in_changing_phases_are_not_named() -> None:
    """Six senders of unrelated rates, starts and sizes lose the same part of their packets, within a factor of 2."""
    rng = np.random.default_rng(2)
    rates = 250.0 + 100.0 * rng.random(6)
    links = [Link(f"{n}", "c", 1e3, delay, 1e4) for n, delay in enumerate(5e-3 * rng.random(6) + 1e-4)]
    links.append(Link("c", "d", 1e3, 1e-3, 50))
    flows = [
        Flow(f"{n}", (f"{n}", "c", "d"), CBR(rate), size=900 + 200 * n, start=0.2 * n) for n, rate in enumerate(rates)
    ]
    run = simulate(Scenario("unrelated", links, flows, duration=9.0), Packets(seed=1, recovery="none"), sample=1.0)
    assert run.lost_by_flow.min() > 100.0
    assert not [limit for limit in run.limits if limit.startswith("phase effects")]


def test_a_packet_run_names_them_unless_it_has_random_times() -> None:
    """Random times of one packet move the share by more than their runs differ."""
    scenario = pair(far=2.5e-3)  # 0.18 where random times have 0.42 +- 0.02
    plain = simulate(scenario, Packets(seed=1))
    (limit,) = plain.limits
    assert limit.startswith("phase effects: flows a, b")
    assert "limit, phase effects" in plain.summary()
    runs = [simulate(scenario, Packets(seed=n), packet_jitter=1e-3) for n in range(1, 7)]
    assert all(run.limits == () for run in runs)
    first, second = scenario.flows
    one = replace(scenario, flows=(first, replace(second, size=1.0)))
    assert simulate(one, Packets(seed=1)).limits == ()  # the other one loses nothing
    lost = simulate(scenario, Packets(seed=1, loss={"c->d": 1e-3}))
    assert lost.limits == ()  # random losses break the phases

    def share(run) -> float:
        first, second = run.delivered[:, -1] - run.delivered[:, 5000]
        return float(first / (first + second))

    spread = np.array([share(run) for run in runs])
    assert abs(share(plain) - spread.mean()) > 3.0 * spread.std(ddof=1)


# What rate rules take from the network: its packets, and its longest round-trip time.


def with_rules(*rules: RateRule, size: float = 4096.0, delay: float = 1e-6) -> Scenario:
    """Return a scenario of flows over two links of 10 Gb/s, each rule on a path that is longer by a link."""
    rate = gbps(10, packet_size=size)
    nodes = ["a", *(f"s{n}" for n in range(len(rules))), "b"]
    links = [Link(*ends, rate, delay, 1000, INT()) for ends in itertools.pairwise(nodes)]
    flows = [Flow(f"{n}", tuple(nodes[n:]), rule) for n, rule in enumerate(rules)]
    return Scenario("rules", links, flows, duration=1e-3, packet_size=size)


@pytest.mark.parametrize("size", [1000.0, 1500.0, 4096.0])
def test_parameters_in_bits_or_bytes_are_in_packets_of_the_network(size: float) -> None:
    """10 MB, 40 and 400 Mb/s of DCQCN; 10 Mb/s and 16 kB of TIMELY; 80 bytes of HPCC."""
    given = (DCQCN(), TIMELY(), HPCC(), DCQCN(additive="80Mbps", counter=50.0))
    dcqcn, timely, hpcc, own = (flow.source for flow in with_rules(*given, size=size).flows)
    assert size * dcqcn.counter == pytest.approx(10e6, rel=1e-12)
    assert 8.0 * size * dcqcn.additive == pytest.approx(40e6, rel=1e-12)
    assert 8.0 * size * dcqcn.hyper == pytest.approx(400e6, rel=1e-12)
    assert 8.0 * size * timely.delta == pytest.approx(10e6, rel=1e-12)
    assert size * timely.segment == pytest.approx(16e3, rel=1e-12)
    assert size * hpcc.additive == pytest.approx(80.0, rel=1e-12)
    assert 8.0 * size * own.additive == pytest.approx(80e6, rel=1e-12)
    assert own.counter == 50.0  # a number of packets of any size
    assert own.notification == DCQCN().notification


def test_a_rule_in_other_packets_is_another_one() -> None:
    packets = DCQCN(counter=float(DCQCN().counter))  # a number
    assert packets != DCQCN()
    assert with_rules(DCQCN(), size=1500.0).flows[0].source == DCQCN()
    assert with_rules(packets, size=1500.0).flows[0].source == packets
    rates = [
        simulate(with_rules(rule, size=4096.0), Packets(seed=1)).scenario.flows[0].source.counter
        for rule in (DCQCN(), packets)
    ]
    assert rates == pytest.approx([10e6 / 4096, 10e6 / 1500])


def test_base_rtt_is_the_longest_one_of_the_network() -> None:
    """Two links of 10 Gb/s: two packets and two ACKs of 40 bytes, and four propagation delays; three links for the longer path."""
    short, fixed, long = (
        with_rules(*rules).flows[-1].source.base_rtt for rules in ((HPCC(),), (HPCC(base_rtt=5e-6),), (HPCC(), HPCC()))
    )
    for links, found in ((2, short), (3, long)):
        assert found == pytest.approx(links * (2e-6 + 8.0 * (4096 + 40) / 10e9), rel=1e-9)
    assert fixed == 5e-6
    scenario = with_rules(HPCC())
    again = replace(scenario, packet_size=1000.0).flows[0].source
    assert again.base_rtt == pytest.approx(2 * (2e-6 + 8.0 * (1000 + 40) / 10e9), rel=1e-9)
    assert HPCC() == HPCC(base_rtt=None)
    with pytest.raises(ValueError, match="base_rtt of HPCC\\(\\) = None: must be given"):
        HPCC().start(1e6)


def test_hpcc_reaches_its_target_on_a_path_that_it_is_not_told() -> None:
    """A load of eta / (1 - W_AI / W), without a queue."""
    scenario = replace(with_rules(HPCC(), size=1000.0, delay=1e-5), duration=4e-3)
    run = simulate(scenario, Packets(seed=1), sample=1e-4)
    rate = scenario.links[0].rate
    window = 0.95 * rate * scenario.flows[0].source.base_rtt
    part = run.mean_goodput(since=2e-3)[0] / rate
    assert part == pytest.approx(0.95 / (1.0 - 80 / 1000 / window), rel=1e-3)
    assert run.peak_queue.max() <= 1.0


@pytest.mark.parametrize("rule", [DCQCN(), HPCC(), DCQCN(additive="80Mbps"), HPCC(additive=0.5)])
def test_files_keep_what_the_network_gives(rule: RateRule) -> None:
    scenario = with_rules(rule)
    text = write_scenario(scenario)
    assert read_scenario(text) == scenario
    assert "base_rtt" not in text
    other = read_scenario(text.replace("packet_size = 4096.0", "packet_size = 1000.0"))
    expected = replace(scenario, packet_size=1000.0).flows[0].source
    assert other.flows[0].source == expected
