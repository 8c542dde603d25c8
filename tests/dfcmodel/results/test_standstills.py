"""What stands still at the end, and transfers that are not complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    Poisson,
    Replay,
    Scenario,
    chain,
    simulate,
)
from hopflow import Status
from responsefn import NewReno
from tests.oracles.engines import ENGINES, plain_simulate

# Deadlocks by progress and by what holds the pauses, whatever a switch counts; runs that merely stopped or are slow.

C = 5e6
"""Packets/s: 40 Gb/s in packets of 1000 bytes."""
RING = ("A->B", "B->C", "C->D", "D->A")
RULES = [
    PFC((0,), xoff=40, xon=38, counts="output"),
    PFC((0,), xoff=40, xon=38, counts="switch"),
    Pause(high=40, low=38),
]
NAMES = ["output", "switch", "pause"]
PACKETS = Packets(seed=1)


def ring(rule, *, third: bool = True, size: float = np.inf) -> Scenario:
    """Return the ring of Hu et al., HotNets 2016, Fig. 4: two flows pass, a third one makes it stand still."""
    paths = [("h1", *"ABCD", "d1"), ("h2", *"CDAB", "d2"), ("h3", *"BC", "d3")]
    ends = [
        *zip("ABCD", "BCDA", strict=True),
        *(path[:2] for path in paths),
        *(path[-2:] for path in paths),
    ]
    links = [Link(*each, C, 1e-6, 5000, rule) for each in ends]
    flows = [
        Flow(str(n), path, CBR(C), size=size, host="unshaped", start=n * 1e-7)
        for n, path in enumerate(paths[: 2 + third], start=1)
    ]
    return Scenario("ring", links, flows, duration=4e-3, packet_size=1000)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize(
    ("simulate", "method"),
    [(simulate, PACKETS), (plain_simulate, Packets(seed=1)), (simulate, Fluid(steps_per_delay=16))],
    ids=["packets", "oracle", "fluid"],
)
def test_a_ring_that_stands_still_is_deadlocked_whatever_the_switches_count(
    rule, simulate, method
) -> None:
    scenario = ring(rule)
    if simulate is plain_simulate:
        scenario = replace(scenario, duration=4e-4)
    run = simulate(scenario, method, sample=5e-5)
    assert run.status is Status.DEADLOCKED
    assert run.deadlock.cycle == RING
    assert set(run.deadlock.stuck) == {
        *RING, "h1->A", "h2->C", "h3->B", "host of 1", "host of 2", "host of 3",
    }  # fmt: skip
    assert "stuck behind them: h1->A" in str(run.summary()["deadlock"])
    assert (run.remaining["still"] == 1).all()
    late = run.time > run.deadlock.since + 2e-5  # what was sent before has arrived by then
    assert np.ptp(run.delivered[:, late], axis=1).max() == 0.0


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_both_packet_engines_record_what_remains(rule) -> None:
    scenario = replace(ring(rule), duration=3e-4)
    run, slow = (run(scenario, Packets(seed=1)) for run in ENGINES)
    assert len(run.remaining) > 9
    np.testing.assert_array_equal(run.remaining, slow.remaining)
    np.testing.assert_array_equal(run.emitted, slow.emitted)
    np.testing.assert_array_equal(run.inside, slow.inside)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize("method", [PACKETS, Fluid()], ids=["packets", "fluid"])
def test_a_ring_that_moves_is_completed(rule, method) -> None:
    run = simulate(ring(rule, third=False), method)
    assert len(run.remaining) > 0
    assert run.deadlock is None
    assert run.status is Status.COMPLETED


@pytest.mark.parametrize("method", [PACKETS, Fluid()], ids=["packets", "fluid"])
def test_sources_that_stopped_leave_a_completed_run(method) -> None:
    """Nothing moves in the last quarter, and nothing waits."""
    scenario = ring(RULES[0], third=False, size=2000.0)
    run = simulate(scenario, method)
    late = run.time >= 0.75 * run.time[-1] * (1.0 - 1e-9)
    assert np.ptp(run.delivered[:, late], axis=1).max() == 0.0
    assert len(run.paused) > 0
    assert len(run.remaining) == 0
    assert run.status is Status.COMPLETED
    assert run.unfinished == ()


@pytest.mark.parametrize("method", [PACKETS, Fluid(steps_per_delay=16)], ids=["packets", "fluid"])
def test_links_that_move_beside_a_deadlock_are_not_among_those_that_are_stuck(method) -> None:
    scenario = ring(RULES[1])
    links = (*scenario.links, *chain(2, rate=C, delay=1e-6, buffer=5000, discipline=RULES[1]))
    flows = (*scenario.flows, Flow("other", (1, 2), CBR(0.9 * C), host="unshaped"))
    run = simulate(replace(scenario, links=links, flows=flows), method)
    assert run.status is Status.DEADLOCKED
    assert "1->2" not in run.deadlock.stuck
    assert "host of other" not in run.deadlock.stuck
    assert run.delivered[3, -1] == pytest.approx(0.9 * C * run.time[-1], rel=1e-2)


def test_where_pauses_are_not_recorded_progress_decides() -> None:
    stuck = simulate(ring(RULES[1]), PACKETS)
    unknown = replace(stuck, paused=None)
    assert unknown.status is Status.DEADLOCKED
    assert unknown.deadlock.cycle == ()
    assert str(unknown.deadlock).startswith("no cycle known: nothing has left A->B")
    moving = simulate(ring(RULES[1], third=False), PACKETS)
    assert replace(moving, paused=None).status is Status.COMPLETED


@pytest.mark.parametrize("method", [PACKETS, Fluid()], ids=["packets", "fluid"])
def test_a_link_slower_than_the_run_is_no_deadlock(method) -> None:
    """A packet takes 40 % of the run on the last link, so that queues before it are paused and still for its last quarter."""
    rule = PFC((0,), xoff=2, xon=1, headroom=20)
    links = [*chain(3, rate=1e4, delay=1e-4, buffer=200, discipline=rule)]
    links.append(Link(3, 4, 100.0, 1e-4, 200, rule))
    flow = Flow("a", (1, 2, 3, 4), CBR(1e4), host="unshaped")
    run = simulate(Scenario("slow", links, [flow], duration=0.025), method)
    assert run.pauses().lasting.any()
    assert run.remaining["still"].any()
    assert run.status is Status.COMPLETED


def test_a_pause_whose_end_is_under_way_holds_nothing() -> None:
    """The circle of a deadlocked run, one of its pauses about to end: nothing is known to last."""
    run = simulate(ring(RULES[0]), PACKETS)
    paused = run.paused.copy()
    paused["resumed"][np.isinf(paused["end"])] = 1
    assert run.deadlock is not None
    assert replace(run, paused=paused).deadlock is None


# Transfers that are not complete at the end, and what they wait for.

METHODS = [Packets(seed=1), Fluid()]
NAMES_UNFINISHED = ["packets", "fluid"]


def transfers(*flows: Flow, buffer: float = 20.0, duration: float = 1.0) -> Scenario:
    links = chain(3, rate=1e3, delay=1e-2, buffer=buffer)
    return Scenario("transfers", links, flows, duration=duration)


@pytest.mark.parametrize("method", METHODS, ids=NAMES_UNFINISHED)
def test_reasons_of_sources_without_a_window(method) -> None:
    scenario = transfers(
        Flow("done", (1, 2, 3), CBR(100.0), size=20.0, start=0.5, host="unshaped"),
        Flow("sending", (1, 2, 3), CBR(200.0), size=500.0, host="unshaped"),
        Flow("lost", (2, 3), CBR(5e3), size=1500.0),
        Flow("late", (1, 2, 3), CBR(100.0), size=10.0, start=1.0, host="unshaped"),
        Flow("endless", (1, 2, 3), CBR(10.0), host="unshaped"),
    )
    run = simulate(scenario, method)
    found = {each.name: each for each in run.unfinished}
    assert {name: each.waits_for for name, each in found.items()} == {
        "sending": "still sending",
        "lost": "lost packets, which its source never sends again",
        "late": "starts after the end",
    }
    assert found["sending"].sent == pytest.approx(200.0, abs=1.0)  # one more at its start
    assert found["sending"].delivered < found["sending"].sent
    assert (found["lost"].sent, found["late"].sent) == (1500.0, 0.0)
    assert run.status is Status.COMPLETED
    line = str(run.summary()["unfinished"])
    assert line.startswith("3 of 4 transfers: sending (sent 20")
    assert "unfinished" in run._repr_html_()


@pytest.mark.parametrize("method", METHODS, ids=NAMES_UNFINISHED)
def test_a_window_sender_whose_packets_are_all_lost_waits_for_its_timer(method) -> None:
    """They come to a buffer that 20 times the rate of its link keep full, and nothing is sent until the timer expires."""
    scenario = transfers(
        Flow("flood", (2, 3), CBR(2e4)),
        Flow("a", (1, 2, 3), NewReno(), size=3.0, start=0.1, host="unshaped"),
        duration=0.5,
    )
    run = simulate(scenario, method)
    assert run.lost[1].sum() > 0.9  # of its first packet, in a fluid a part passes
    assert [each.waits_for for each in run.unfinished] == ["waits for its retransmission timer"]
    early = simulate(scenario, method, duration=0.105)  # on the first link
    assert [each.waits_for for each in early.unfinished] == ["still sending"]


@pytest.mark.parametrize("method", METHODS, ids=NAMES_UNFINISHED)
def test_a_paused_transfer_names_who_pauses_it(method) -> None:
    rule = PFC((0,), xoff=10, xon=5)
    links = [
        *chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=rule),
        Link(3, 4, 10.0, 1e-3, 200, rule),
    ]
    flow = Flow("a", (1, 2, 3, 4), CBR(1e4), size=1000.0, host="unshaped")
    run = simulate(Scenario("slow", links, [flow], duration=0.5), method)
    (found,) = run.unfinished
    assert found.waits_for.startswith("paused by")
    assert "3->4" in found.waits_for
    assert run.status is Status.COMPLETED


def test_many_transfers_are_counted_by_reason() -> None:
    flows = [Flow(f"{n}", (2, 3), CBR(1e3), size=400.0) for n in range(8)]
    run = simulate(transfers(*flows), Packets(seed=1))
    n = len(run.unfinished)
    assert n > 3
    reason = "lost packets, which its source never sends again"
    line = str(run.summary()["unfinished"])
    assert line.startswith(f"{n} of 8 transfers. {reason}: {n}. The first one: ")
    assert line.endswith(str(run.unfinished[0]))


@pytest.mark.parametrize(
    "source", [CBR(5e3), Poisson(5e3), Replay((0.0, 0.1), 100)], ids=["CBR", "Poisson", "Replay"]
)
def test_what_a_source_lost_that_has_ended_before_its_size_is_never_sent_again(source) -> None:
    flow = Flow("a", (2, 3), source, size=1500.0, stop=0.2)
    found = {}
    for duration in (0.15, 0.5):
        (found[duration],) = simulate(
            transfers(flow, duration=duration), Packets(seed=1)
        ).unfinished
    assert 0.0 < found[0.5].delivered < found[0.5].sent < 1500.0
    ended = isinstance(source, Replay)  # its trace, before the stop
    reasons = ["still sending", "lost packets, which its source never sends again"]
    assert found[0.15].waits_for == reasons[ended]
    assert found[0.5].waits_for == reasons[1]
