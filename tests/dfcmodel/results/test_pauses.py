"""Pauses over time, deadlocks, and how far pauses spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Flow, Fluid, Link, Packets, Pause, Scenario, chain, ring, simulate
from dfcmodel.lossless import buffer_cycles, deadlock, torus
from dfcmodel.results import Trajectory
from hopflow import Status
from tests.oracles.engines import ENGINES, plain_simulate

PAUSE = Pause(high=50.0, low=25.0)


def overloaded(nodes: int = 4, **changes: object) -> Scenario:
    """Return two flows of 8000 packets/s whose last link carries 10,000."""
    links = chain(nodes, rate=1e4, delay=1e-3, buffer=200.0, discipline=replace(PAUSE, **changes))
    path = tuple(range(1, nodes + 1))
    flows = [
        Flow("a", path, CBR(8e3), host="direct"),
        Flow("b", path[-2:], CBR(8e3), host="direct"),
    ]
    return Scenario("overloaded", links, flows, duration=0.5)


def chain_of(run: Trajectory) -> str:
    """Return the longest chain of pauses, as the summary has it."""
    return str(run.summary()["pauses"]).partition("longest chain at a time: ")[2]


def test_first_pause_begins_when_the_queue_has_grown_and_the_message_has_come() -> None:
    """6000 packets/s too many fill 50 packets after the first flow has come over two links."""
    run = simulate(overloaded(), method=Fluid(20))
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
    monkeypatch.setattr("dfcmodel.engine.plans.SWITCHES", 2)
    short = simulate(scenario, level="fluid")
    np.testing.assert_array_equal(run.paused, short.paused)
    np.testing.assert_array_equal(run.queued, short.queued)
    np.testing.assert_array_equal(run.in_transit, short.in_transit)
    assert len(run.paused) > 10


def test_reports_of_progress_do_not_split_pauses(monkeypatch) -> None:
    whole = simulate(overloaded(), level="fluid")
    monkeypatch.setattr("dfcmodel.engine.driver.BLOCK", 5_000)
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
    stuck = deadlock(torus([4])).scenario(pause=Pause(high=100.0, low=50.0, paused_rate=10.0))
    run = simulate(stuck, level="fluid")
    assert run.status is Status.COMPLETED
    assert run.deadlock is None
    assert run.pauses().lasting.any()


def test_a_ring_without_overload_has_no_pauses() -> None:
    links = ring(4, rate=1e4, delay=1e-3, buffer=200.0, discipline=PAUSE)
    run = simulate(
        Scenario("ring", links, [Flow("a", (1, 2, 3), CBR(5e3), host="direct")], duration=0.1),
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
    run, slow = (run(scenario, Packets(seed=1)) for run in ENGINES)
    assert len(run.paused) > 20
    np.testing.assert_array_equal(run.paused, slow.paused)
    monkeypatch.setattr("dfcmodel.packets.records.SWITCHES", 8)
    short = simulate(scenario, Packets(seed=1))
    np.testing.assert_array_equal(run.paused, short.paused)
    np.testing.assert_array_equal(run.queued, short.queued)


def test_pauses_of_packets_are_those_of_the_fluid_to_some_packets() -> None:
    """Times of the same link's first pauses; chains of paused links; hosts are paused as links are."""
    scenario = overloaded()
    fluid, packets = simulate(scenario, level="fluid"), simulate(scenario, Packets(seed=1))
    tables = [run.pauses().to_pandas() for run in (fluid, packets)]
    firsts = [table[table.link == "2->3"].iloc[0] for table in tables]
    assert firsts[1].by == "3->4"
    # 6000 packets/s too many: a packet more or less in the queue is 0.17 ms
    assert firsts[1].begin == pytest.approx(firsts[0].begin, abs=3 / 6e3)
    assert firsts[1].duration == pytest.approx(firsts[0].duration, rel=0.2)
    assert {*tables[1].link} == {*tables[0].link}
    assert chain_of(packets) == chain_of(fluid)


def test_more_pauses_at_once_than_are_recorded_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("dfcmodel.packets.records.SWITCHES", 1)
    run: Trajectory = simulate(overloaded(), Packets(seed=1), sample=0.5)
    assert run.status.ok
    with pytest.raises(ValueError, match=r"pauses of 'overloaded': .* use a shorter sample"):
        run.pauses()


def faulty(**changes: object) -> Scenario:
    """Return a tree with a port that fails at 50 ms: two inputs, of which one also feeds another link."""
    rule = replace(PAUSE, **changes)
    links = [Link(a, b, 1e4, 1e-3, 200.0, PAUSE) for a, b in ((1, 3), (2, 3), (3, 4), (4, 6))]
    links.append(Link(4, 5, 1e4, 1e-3, 200.0, replace(rule, storm=0.05)))
    flows = [
        Flow("a", (1, 3, 4, 5), CBR(3e3), host="unshaped"),
        Flow("b", (2, 3, 4, 6), CBR(2e3), host="unshaped"),
    ]
    return Scenario("fault", links, flows, duration=0.3)


@pytest.mark.parametrize(
    ("simulate", "method"),
    [(simulate, Fluid()), (simulate, Packets(seed=1)), (plain_simulate, Packets(seed=1))],
    ids=["fluid", "packets", "oracle"],
)
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


@pytest.mark.parametrize(
    ("simulate", "method"),
    [(simulate, Fluid()), (simulate, Packets(seed=1)), (plain_simulate, Packets(seed=1))],
    ids=["fluid", "packets", "oracle"],
)
def test_a_storm_of_one_class_lets_the_other_go_on(simulate, method) -> None:
    rule = PFC(classes=(3,), xoff=30.0, xon=15.0)
    links = list(chain(4, rate=1e4, delay=1e-3, buffer=400.0, discipline=rule))
    links[2] = replace(links[2], discipline=replace(rule, storm=0.05))
    flows = [
        Flow("storage", (1, 2, 3, 4), CBR(4e3), priority=3, host="unshaped"),
        Flow("web", (1, 2, 3, 4), CBR(4e3), host="unshaped"),
    ]
    run = simulate(Scenario("class", links, flows, duration=0.2), method)
    assert run.status is Status.STORM
    assert run.storm.stopped == ("host of storage", "1->2", "2->3")
    sent = run.delivered[:, -1] - run.delivered[:, 99]
    assert sent == pytest.approx([0.0, 4e3 * 0.1], abs=1.0)
