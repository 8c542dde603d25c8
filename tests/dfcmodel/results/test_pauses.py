"""Pauses over time, deadlocks, how far pauses spread, and who waited for whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.lossless import buffer_cycles, deadlock, leaf_spine, torus
from dfcmodel.results import Trajectory
from dfcmodel.results.pauses import _path
from hopflow import Status
from responsefn import FixedRate
from tests.oracles.engines import ENGINES, plain_simulate

PAUSE = dfc.Pause(high=50.0, low=25.0)


def overloaded(nodes: int = 4, **changes: object) -> dfc.Scenario:
    """Return two flows of 8000 packets/s whose last link carries 10,000."""
    links = dfc.chain(nodes, rate=1e4, delay=1e-3, buffer=200.0, discipline=replace(PAUSE, **changes))
    path = tuple(range(1, nodes + 1))
    flows = [
        dfc.Flow("a", path, dfc.CBR(8e3), host="direct"),
        dfc.Flow("b", path[-2:], dfc.CBR(8e3), host="direct"),
    ]
    return dfc.Scenario("overloaded", links, flows, duration=0.5)


def chain_of(run: Trajectory) -> str:
    """Return the longest chain of pauses, as the summary has it."""
    return str(run.summary()["pauses"]).partition("longest chain at a time: ")[2]


def test_first_pause_begins_when_the_queue_has_grown_and_the_message_has_come() -> None:
    """6000 packets/s too many fill 50 packets after the first flow has come over two links."""
    run = simulate(overloaded(), method=dfc.Fluid(20))
    table = run.pauses()
    assert (str(table.link[0].values), str(table.by[0].values)) == ("2->3", "3->4")
    begins = 2e-3 + 50.0 / 6e3 + 1e-3  # the local flow alone fills nothing
    half_a_packet = 0.5e-4  # per link that the first flow crosses; and thresholds are seen at steps
    assert float(table.begin[0]) == pytest.approx(begins, abs=2 * half_a_packet + run.step)


def test_pauses_that_end_as_they_begin_are_in_no_chain() -> None:
    """Where one threshold is both, a packet that leaves as another comes asks for a pause and for its end."""
    run = simulate(overloaded(), sample=2.5e-4, level="fluid")
    table = run.paused.copy()
    table["end"][:4] = table["begin"][:4]
    assert chain_of(replace(run, paused=table)) == chain_of(replace(run, paused=table[4:]))


def test_paused_links_send_nothing_and_others_do() -> None:
    """What a link carried is its rate at the times when it had packets and was not paused."""
    run = simulate(overloaded(), sample=2.5e-4, level="fluid")
    table = run.pauses().to_pandas()
    own = table[table.link == "2->3"]
    assert len(own) > 10
    assert (own.begin.to_numpy()[1:] >= own.end.to_numpy()[:-1]).all()
    np.testing.assert_allclose(own.duration, own.end - own.begin)
    still = own.duration.sum() / run.time[-1]
    assert run.carried[:, 1].sum() <= 1e4 * run.time[-1] * (1.0 - still) + 1e-6
    # the last link is saturated: 8000 of its 10,000 packets/s are the local flow's
    assert run.carried[0, 2] / run.time[-1] == pytest.approx(2e3, rel=0.1)


@pytest.mark.parametrize("quanta", [None, 300])
def test_a_full_log_of_pauses_does_not_change_the_run(quanta, monkeypatch) -> None:
    scenario = overloaded(quanta=quanta)
    run = simulate(scenario, level="fluid")
    monkeypatch.setattr("dfcmodel.engine.plan.SWITCHES", 2)
    short = simulate(scenario, level="fluid")
    np.testing.assert_array_equal(run.paused, short.paused)
    np.testing.assert_array_equal(run.queued, short.queued)
    np.testing.assert_array_equal(run.in_transit, short.in_transit)
    assert len(run.paused) > 10


def test_reports_of_progress_do_not_split_pauses(monkeypatch) -> None:
    whole = simulate(overloaded(), level="fluid")
    monkeypatch.setattr("dfcmodel.engine.run.BLOCK", 5_000)
    np.testing.assert_array_equal(whole.paused, simulate(overloaded(), level="fluid").paused)


def test_deadlock_of_a_torus_is_named_and_is_one_of_the_predicted_cycles() -> None:
    possible = deadlock(torus([4, 4]))
    cycle = next(possible.cycles())
    run = simulate(possible.scenario(cycle), level="fluid")
    assert run.status is Status.DEADLOCKED
    assert run.status.ok
    names = {f"{'.'.join(map(str, a))}->{'.'.join(map(str, b))}" for a, b in cycle}
    assert set(run.deadlock.cycle) == names
    assert ", ".join(run.deadlock.cycle) in str(run.summary()["deadlock"])
    graph = run.scenario.to_networkx()
    assert next(buffer_cycles(graph, [flow.path for flow in run.scenario.flows]))
    # for ever: nothing is delivered after it
    after = run.time > run.deadlock.since + 1e-4
    assert np.ptp(run.delivered[:, after], axis=1).max() == 0.0


def test_a_circle_of_links_that_still_pass_packets_is_no_deadlock() -> None:
    stuck = deadlock(torus([4])).scenario(pause=dfc.Pause(high=100.0, low=50.0, paused_rate=10.0))
    run = simulate(stuck, level="fluid")
    assert run.status is Status.COMPLETED
    assert run.deadlock is None
    assert run.pauses().lasting.any()


def test_a_ring_without_overload_has_no_pauses() -> None:
    links = dfc.ring(4, rate=1e4, delay=1e-3, buffer=200.0, discipline=PAUSE)
    run = simulate(
        dfc.Scenario("ring", links, [dfc.Flow("a", (1, 2, 3), dfc.CBR(5e3), host="direct")], duration=0.1),
        level="fluid",
    )
    assert run.pauses().sizes["pause"] == 0
    assert run.deadlock is None
    assert "pauses" not in run.summary()


def test_longest_chain_names_the_queue_that_began_it() -> None:
    run = simulate(overloaded(6), level="fluid")
    assert chain_of(run) == "1->2, 2->3, 3->4, 4->5, 5->6"


@pytest.mark.parametrize("signalling", [0.0, 0.3e-3])
def test_both_packet_engines_record_the_same_pauses(signalling: float, monkeypatch) -> None:
    """Also where the log of the compiled one is full again and again."""
    scenario = overloaded(signalling=signalling)
    run, slow = (run(scenario, dfc.Packets(seed=1)) for run in ENGINES)
    assert len(run.paused) > 20
    np.testing.assert_array_equal(run.paused, slow.paused)
    monkeypatch.setattr("dfcmodel.packets.engine.SWITCHES", 8)
    short = simulate(scenario, dfc.Packets(seed=1))
    np.testing.assert_array_equal(run.paused, short.paused)
    np.testing.assert_array_equal(run.queued, short.queued)


def test_pauses_of_packets_are_those_of_the_fluid_to_some_packets() -> None:
    """Times of the same link's first pauses; chains of paused links; hosts are paused as links are."""
    scenario = overloaded()
    fluid, packets = simulate(scenario, level="fluid"), simulate(scenario, dfc.Packets(seed=1))
    tables = [run.pauses().to_pandas() for run in (fluid, packets)]
    firsts = [table[table.link == "2->3"].iloc[0] for table in tables]
    assert firsts[1].by == "3->4"
    # 6000 packets/s too many: a packet more or less in the queue is 0.17 ms
    assert firsts[1].begin == pytest.approx(firsts[0].begin, abs=3 / 6e3)
    assert firsts[1].duration == pytest.approx(firsts[0].duration, rel=0.2)
    assert {*tables[1].link} == {*tables[0].link}
    assert chain_of(packets) == chain_of(fluid)


def test_more_pauses_at_once_than_are_recorded_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("dfcmodel.packets.engine.SWITCHES", 1)
    run: Trajectory = simulate(overloaded(), dfc.Packets(seed=1), sample=0.5)
    assert run.status.ok
    with pytest.raises(ValueError, match=r"pauses of 'overloaded': .* use a shorter sample"):
        run.pauses()


EACH_ENGINE = pytest.mark.parametrize(
    ("simulate", "method"),
    [
        (simulate, dfc.Fluid()),
        (simulate, dfc.Packets(seed=1)),
        (plain_simulate, dfc.Packets(seed=1)),
    ],
    ids=["fluid", "packets", "oracle"],
)


def faulty(**changes: object) -> dfc.Scenario:
    """Return a tree with a port that fails at 50 ms: two inputs, of which one also feeds another link."""
    rule = replace(PAUSE, **changes)
    links = [dfc.Link(a, b, 1e4, 1e-3, 200.0, PAUSE) for a, b in ((1, 3), (2, 3), (3, 4), (4, 6))]
    links.append(dfc.Link(4, 5, 1e4, 1e-3, 200.0, replace(rule, storm=0.05)))
    flows = [
        dfc.Flow("a", (1, 3, 4, 5), dfc.CBR(3e3), host="unshaped"),
        dfc.Flow("b", (2, 3, 4, 6), dfc.CBR(2e3), host="unshaped"),
    ]
    return dfc.Scenario("fault", links, flows, duration=0.3)


@EACH_ENGINE
def test_a_port_that_pauses_for_ever_is_a_storm_and_named(simulate, method) -> None:
    """All that feeds it stands still, also the flow that does not go over it; pauses begin a message later."""
    run = simulate(faulty(signalling=3e-4), method)
    assert run.status is Status.STORM
    assert run.status.ok
    assert run.deadlock is None
    assert run.storm.ports == ("4->5",)
    assert run.storm.since == pytest.approx(0.05 + 1e-3 + 3e-4, abs=1e-12)
    assert set(run.storm.stopped) == {"1->3", "2->3", "3->4", "host of a", "host of b"}
    assert "4->5: asks for pauses for ever since 0.0513 s" in str(run.summary()["storm"])
    assert np.ptp(run.delivered[:, run.time > 0.0513 + 4e-3], axis=1).max() < 1e-9
    assert run.delivered[:, 49] == pytest.approx(np.array([3e3, 2e3]) * (0.05 - 4e-3), abs=4.0)
    assert run.imbalance.max() <= 1e-12
    early = simulate(faulty(signalling=3e-4), method, duration=0.05)
    assert early.status is Status.COMPLETED


@EACH_ENGINE
def test_a_storm_of_one_class_lets_the_other_go_on(simulate, method) -> None:
    rule = dfc.PFC(classes=(3,), xoff=30.0, xon=15.0)
    links = list(dfc.chain(4, rate=1e4, delay=1e-3, buffer=400.0, discipline=rule))
    links[2] = replace(links[2], discipline=replace(rule, storm=0.05))
    flows = [
        dfc.Flow("storage", (1, 2, 3, 4), dfc.CBR(4e3), priority=3, host="unshaped"),
        dfc.Flow("web", (1, 2, 3, 4), dfc.CBR(4e3), host="unshaped"),
    ]
    run = simulate(dfc.Scenario("class", links, flows, duration=0.2), method)
    assert run.status is Status.STORM
    assert run.storm.stopped == ("host of storage", "1->2", "2->3")
    sent = run.delivered[:, -1] - run.delivered[:, 99]
    assert sent == pytest.approx([0.0, 4e3 * 0.1], abs=1.0)


# Who waited for whom.


def _incast(hosts: int = 4):
    fabric = dfc.Fabric(
        leaf_spine(3, 1, hosts=hosts),
        buffer="1 MB",
        discipline=dfc.PFC(xoff=10, xon=5, counts="switch"),
    )
    flows = dfc.incast(fabric.hosts, fabric.hosts[0], sizes=300, source=FixedRate(), links=fabric.links)
    return simulate(fabric.scenario("incast", flows, 0.01), dfc.Packets(seed=1), sample=1e-3)


def test_the_largest_origin_of_an_incast_is_the_leaf_of_its_receiver() -> None:
    """Of four hosts at a leaf, its link to the spine is an origin as well: that is shared by four."""
    found = dfc.pause_propagation(_incast())
    leaf = "('leaf', 0)"
    assert next(iter(found.origins)) == leaf
    others = {(f"('leaf', {n})", "('spine', 0)") for n in (1, 2)}
    assert {("('spine', 0)", leaf), *others} <= set(found.graph.edges)
    assert all(f"('host', {n})" in found.waited for n in range(1, 12))


def test_an_incast_of_one_host_at_each_leaf_begins_at_the_spine() -> None:
    found = dfc.pause_propagation(_incast(hosts=1))
    assert list(found.origins) == ["('spine', 0)"]
    assert set(found.waited) == {f"('{kind}', {n})" for kind in ("leaf", "host") for n in (1, 2)}


def test_seconds_and_counts_are_those_of_the_table_of_pauses() -> None:
    run = _incast()
    found, table = dfc.pause_propagation(run), run.pauses()
    edges = list(found.graph.edges(data=True))
    assert sum(data["pauses"] for *_, data in edges) == table.sizes["pause"]
    seconds = sum(data["seconds"] for *_, data in edges)
    assert seconds == pytest.approx(float(table.duration.sum()), rel=1e-9)
    assert sum(found.waited.values()) == pytest.approx(seconds, rel=1e-12)
    assert list(found.waited.values()) == sorted(found.waited.values(), reverse=True)
    assert found.summary()["pauses"].startswith(f"{table.sizes['pause']}, of links out of ")
    assert {(row.paused, row.asked, row.seconds) for row in found.edges.itertuples()} == {
        (a, b, data["seconds"]) for a, b, data in edges
    }
    longest = found.edges.iloc[0]
    assert longest.seconds == found.edges.seconds.max()
    assert f"{longest.asked} paused {longest.paused}" in found.summary()
    assert f"sum over links out of {next(iter(found.waited))}" in found.summary()


def test_a_deadlock_has_no_origin() -> None:
    found = dfc.pause_propagation(simulate(deadlock(torus([4])).scenario(), level="fluid"))
    assert found.origins == {}
    assert str(found.summary()["origin"]).startswith("none: ")
    assert {(str(n), str((n + 1) % 4)) for n in range(4)} <= set(found.graph.edges)
    found.plot()


ALL = -1  # in place of a class in `Trajectory.paused`
PAUSE_ROWS = {
    "the queue of 2 is long": (("1->2", "2->3", 0, 0.01, 0.02), True),
    "so is that of 3": (("2->3", "3->4", 0, 0.03, 0.05), True),
    "2 waits for 3": (("1->2", "2->3", 0, 0.04, 0.06), False),
    "in another class": (("1->2", "2->3", 5, 0.045, 0.048), True),
    "of all classes": (("1->2", "2->3", ALL, 0.046, 0.047), False),
    "2 begins to wait for 3 at the same time": (("1->2", "2->3", 0, 0.03, 0.031), False),
    "its link is released at the same time": (("1->2", "2->3", 0, 0.05, 0.054), True),
    "3 pauses all classes": (("2->3", "3->4", ALL, 0.07, np.inf), True),
    "the host of a flow": (("host of 9", "3->4", 0, 0.02, 0.025), True),
    "2 waits in class 5": (("1->2", "2->3", 5, 0.08, np.inf), False),
}
"""Link, link that asked, class, begin and end in s, and whether no link of the node that asked was paused."""


def test_origins_are_judged_at_the_time_of_each_pause() -> None:
    links = dfc.chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=dfc.Pause(high=50, low=25))
    flows = [dfc.Flow(f"{n}", (3, 4), dfc.CBR(1e2)) for n in range(10)]
    run = simulate(dfc.Scenario("pauses", links, flows, duration=0.1), level="fluid")
    place = {link.name: n for n, link in enumerate(links)} | {"host of 9": -10}
    rows = [
        (place[link], place[by], priority, 0, begin, end, 0)
        for (link, by, priority, begin, end), _ in PAUSE_ROWS.values()
    ]
    found = dfc.pause_propagation(replace(run, paused=np.array(rows, dtype=run.paused.dtype)))
    expected = {"2": 0.0, "3": 0.0}
    for (_, by, _, begin, end), is_origin in PAUSE_ROWS.values():
        expected[by[0]] += (min(end, 0.1) - begin) * is_origin
    assert found.origins == pytest.approx(expected, rel=1e-12)
    assert list(found.origins) == ["3", "2"]
    assert found.edges.groupby("asked").origin_seconds.sum().to_dict() == pytest.approx(expected)
    said = "17 ms of pauses asked while none of its own links was paused"
    assert found.summary()["origin 2"] == said


def _line_with_outputs(counts: str, *, idle_first: bool, storm: float | None = None) -> dfc.Scenario:
    """Return flows over z, a, b to y, whose last link is overloaded or in a storm; a and b have an idle output too."""
    rule = dfc.PFC((0,), xoff=20, xon=10, counts=counts)
    outputs = [[("a", "u"), ("a", "b")], [("b", "x"), ("b", "y")]]
    ends = [("h0", "z"), ("h1", "b"), ("z", "a")]
    ends += [pair for pairs in outputs for pair in (pairs if idle_first else pairs[::-1])]
    links = [dfc.Link(*pair, 1e5, 1e-6, 3000, rule) for pair in ends]
    links.append(dfc.Link("y", "end", 1e5, 1e-6, 3000, dfc.PFC((0,), xoff=20, xon=10, storm=storm)))
    rate = 9e4 if storm is None else 2e4
    paths = [(("h0", "z", "a", "b", "y", "end"), rate), (("h1", "b", "y", "end"), rate)]
    paths += [(("h1", "b", "x"), 1e3), (("h0", "z", "a", "u"), 1e3)]
    flows = [dfc.Flow(f"{n}", path, dfc.CBR(speed)) for n, (path, speed) in enumerate(paths)]
    return dfc.Scenario("line", links, flows, duration=0.05)


@pytest.mark.parametrize("method", [dfc.Fluid(), dfc.Packets(seed=1)], ids=["fluid", "packets"])
@pytest.mark.parametrize("idle_first", [False, True])
def test_a_switch_that_counts_all_outputs_names_the_congested_one(method, idle_first: bool) -> None:
    """Not the first of its links: that one may be idle. Chains and storms go on over the link that is paused."""
    run = simulate(_line_with_outputs("switch", idle_first=idle_first), method)
    by_output = simulate(_line_with_outputs("output", idle_first=idle_first), method)
    assert chain_of(run) == chain_of(by_output)
    assert chain_of(run).endswith("z->a, a->b, b->y")
    by = {str(link): str(by) for link, by in zip(run.pauses().link.values, run.pauses().by.values, strict=True)}
    assert by["a->b"] == "b->y"  # all of its packets wait for it
    assert (by["h1->b"], by["z->a"]) == ("node b", "node a")  # they have packets for two links
    stormy = simulate(_line_with_outputs("switch", idle_first=idle_first, storm=0.01), method)
    assert set(stormy.storm.stopped) == {"h0->z", "h1->b", "z->a", "a->b", "b->y"}
    assert chain_of(stormy) == "h0->z, z->a, a->b, b->y, y->end"
    stopped = simulate(_line_with_outputs("output", idle_first=idle_first, storm=0.01), method).storm.stopped
    assert set(stopped) == set(stormy.storm.stopped)


def test_pauses_of_sprayed_flows_name_the_node_whose_links_they_share() -> None:
    rule = dfc.PFC((0,), xoff=20, xon=10, counts="switch")
    fabric = dfc.Fabric(leaf_spine(3, 2, hosts=2), buffer="1 MB", discipline=rule)
    flows = dfc.incast(fabric.hosts, fabric.hosts[0], sizes=200, source=FixedRate(), links=fabric.links, routes="spray")
    run = simulate(fabric.scenario("incast", flows, 0.002), dfc.Packets(seed=1), sample=1e-4)
    by = dict(zip(run.pauses().link.values.tolist(), run.pauses().by.values.tolist(), strict=True))
    assert by["('host', 2)->('leaf', 1)"] == "node ('leaf', 1)"
    assert by["('leaf', 1)->('spine', 1)"] == "('spine', 1)->('leaf', 0)"


def test_a_path_is_the_longest_one_and_ends_before_a_circle() -> None:
    diamond = {0: {1, 2}, 1: {3}, 2: {4}, 4: {3}, 3: set()}
    assert _path(diamond.__getitem__, 0, ()) == (0, 2, 4, 3)
    assert _path(diamond.__getitem__, 0, (4,)) == (0, 1, 3)
    circle = {n: {(n + 1) % 5} for n in range(5)}
    assert _path(circle.__getitem__, 3, ()) == (3, 4, 0, 1, 2)
    assert _path(circle.__getitem__, 3, (3, 1)) == (3, 4, 0)


def test_a_node_that_is_paused_once_can_be_an_origin() -> None:
    """Hashed flows of an all-reduce: leaves pause hosts long before a spine pauses any leaf."""
    fabric = dfc.Fabric(leaf_spine(4, 4, hosts=4), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
    flows = dfc.all_reduce(fabric.hosts, 2000, "halving-doubling", source=FixedRate(), links=fabric.links)
    run = simulate(fabric.scenario("all-reduce", flows, 0.01), dfc.Packets(seed=1), sample=1e-3)
    found, links = dfc.pause_propagation(run), run.scenario.links
    first = str(links[run.paused["by"][0]].source)
    assert first in found.waited
    assert first in found.origins
    expected: dict[str, float] = {}
    for each in run.paused:
        own = [q for q in run.paused if q["link"] >= 0]
        own = [q for q in own if links[q["link"]].source == links[each["by"]].source]
        if not any(q["begin"] <= each["begin"] < q["end"] for q in own):
            node = str(links[each["by"]].source)
            seconds = min(each["end"], run.time[-1]) - each["begin"]
            expected[node] = expected.get(node, 0.0) + seconds
    assert found.origins == pytest.approx(expected, rel=1e-9)


def test_the_figure_names_the_nodes() -> None:
    axes = dfc.pause_propagation(_incast()).plot()
    assert "('leaf', 0)" in {text.get_text() for text in axes.texts}
    assert axes.get_title() == "incast"


def test_a_run_without_pauses_says_so() -> None:
    links = dfc.chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=dfc.Pause(high=50, low=25))
    run = simulate(
        dfc.Scenario("calm", links, [dfc.Flow("a", (1, 2, 3), dfc.CBR(1e3))], duration=0.05),
        level="fluid",
    )
    found = dfc.pause_propagation(run)
    assert (found.waited, found.origins) == ({}, {})
    assert found.summary()["pauses"] == "0, of links out of 0 nodes"
    assert [text.get_text() for text in found.plot().texts] == ["no pauses"]
