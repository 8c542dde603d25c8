"""What is said of runs that lost packets or in which nothing moves, and tables of drops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.network.drop_causes import CAUSES
from hopflow import Status, mbps
from responsefn import CUBIC, FixedRate, NewReno
from tests.oracles.engines import ENGINES, plain_simulate

# Where packets were lost, and what dropped them, as a summary says it.

METHODS_LOSS_SUMMARIES = [dfc.Fluid(), dfc.Packets(seed=1)]


def into_one(discipline, senders: int = 8, source=None, host: str = "unshaped") -> dfc.Scenario:
    links = [dfc.Link(f"h{n}", "s", 3e6, 1e-6, 5000, discipline) for n in range(senders)]
    links.append(dfc.Link("s", "d", 3e6, 1e-6, 5000, discipline))
    flows = [
        dfc.Flow(f"{n}", (f"h{n}", "s", "d"), source or dfc.CBR(3e6), size=1000, host=host) for n in range(senders)
    ]
    return dfc.Scenario("into one", links, flows, duration=5e-3)


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
def test_losses_at_a_senders_own_link_are_marked(method) -> None:
    """A sender without a host puts its packets into the first buffer; behind an access link they come at its rate."""
    links = dfc.Link("a", "b", 1000.0, 1e-3, 5), dfc.Link("b", "c", 500.0, 1e-3, 5)
    scenario = dfc.Scenario("two", links, [dfc.Flow("f", ("a", "b", "c"), dfc.CBR(2000.0))], duration=1.0)
    run = simulate(scenario, method)
    own, network = (run.lost.sum(axis=(0, 2))[n] for n in (0, 1))
    assert own > network > 0.0
    said = f"a: {own:.0f} (at the senders' own link), b: {network:.0f}"
    assert run.summary()["lost at"] == said
    hosted = replace(scenario, flows=(replace(scenario.flows[0], host="unshaped"),))
    assert "own link" not in simulate(hosted, method).summary()["lost at"]


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
def test_losses_of_hosts_that_dfc_does_not_slow_down_name_the_remedy(method) -> None:
    links = dfc.chain(3, rate=1e3, delay=5e-3, buffer=50, discipline=dfc.DFC())
    scenario = dfc.Scenario("dfc", links, [dfc.Flow("f", (1, 2, 3), NewReno())], duration=3.0)
    said = simulate(scenario, method).summary()["lost at"]
    assert said.endswith('(at the senders\' own link: DFC slows a host down only with host="shaped")')
    shaped = replace(scenario, flows=(replace(scenario.flows[0], host="shaped"),))
    assert "lost at" not in simulate(shaped, method).summary()


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
@pytest.mark.parametrize(
    ("rule", "source", "remark"),
    [
        (dfc.Pause(50, 25), FixedRate(), ', which is paused: pauses stop a sender only with host="nic")'),
        (dfc.Pause(50, 25), dfc.CBR(41_667.0), ', which is paused: pauses stop a sender only with host="nic")'),
        (dfc.FIFO(), FixedRate(), ': FixedRate waits for its link only with host="nic")'),
    ],
)
def test_losses_of_senders_that_nothing_stops_name_the_remedy(method, rule, source, remark: str) -> None:
    """A server of 1 Gb/s sends to clients of 100 Mb/s and 1 Gb/s; the switch pauses it for the slow one."""
    links = [dfc.Link("server", "switch", "1Gbps", "1us", 1000), dfc.Link("switch", "fast", "1Gbps", "1us", 200)]
    links.append(dfc.Link("switch", "slow", "100Mbps", "1us", 200, rule))
    flows = [dfc.Flow(name, ("server", "switch", name), source) for name in ("slow", "fast")]
    scenario = dfc.Scenario("clients", links, flows, duration="100ms")
    assert f"(at the senders' own link{remark}" in simulate(scenario, method).summary()["lost at"]
    hosted = replace(scenario, flows=[replace(flow, host="nic") for flow in flows])
    run = simulate(hosted, method)
    assert "own link" not in run.summary().get("lost at", "")
    if rule.pauses:
        late = run.time > 0.05
        rates = np.ptp(run.delivered[:, late], axis=1) / np.ptp(run.time[late]) * 1500 * 8 / 1e6
        np.testing.assert_allclose(rates, 100.0, rtol=0.05)  # both at the rate of the slow one


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
def test_where_nothing_is_lost_no_place_is_named(method) -> None:
    scenario = dfc.Scenario("one", (dfc.Link(1, 2, 1e3, 1e-3, 5),), [dfc.Flow("f", (1, 2), dfc.CBR(100.0))], 1.0)
    run = simulate(scenario, method)
    assert "lost at" not in run.summary()


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
def test_packets_that_a_marking_manager_drops_are_said_to_be(method) -> None:
    run = simulate(into_one(dfc.RampMarking(at="arrival")), method)
    assert run.peak_queue.max() < 4999.0
    assert "(dropped by the manager, as these flows do not react to marks)" in run.summary()["lost at"]
    red = dfc.Scenario("red", (dfc.Link(1, 2, 1e3, 1e-3, 500, dfc.RED()),), [dfc.Flow("f", (1, 2), NewReno())], 5.0)
    flows = (replace(red.flows[0], max_window=40.0),)
    said = simulate(replace(red, flows=flows), method).summary()["lost at"]
    assert "dropped by the manager before the buffer was full" in said


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES)
def test_drops_by_manager_and_for_want_of_room_are_told_apart(method) -> None:
    """Manager and pauses are of one class: the counts of causes add up to the losses."""
    rule = dfc.PFC(
        (0,),
        xoff=60,
        xon=30,
        headroom=1,
        manager=dfc.RampMarking(100, 5000, 0.5, at="arrival"),
        managed=0,
    )
    run = simulate(into_one(rule), method)
    table = run.drops()
    by_cause = {
        cause: float(table.packets[(table.cause == cause) & (table.link == "s->d")].sum())
        for cause in np.unique(table.cause)
    }
    assert set(by_cause) == {"buffer", "manager"}
    assert sum(by_cause.values()) == pytest.approx(run.lost[:, -1].sum(), rel=1e-12)
    assert float(table.packets.sum()) == pytest.approx(run.lost.sum(), rel=1e-12)
    assert f"{by_cause['manager']:.0f} dropped by the manager" in run.summary()["lost at"]
    assert f"{by_cause['buffer']:.0f} without room" in run.summary()["lost at"]


def test_too_little_room_for_a_pause_is_named() -> None:
    """Of two links of 8,333 packets/s 2 x 2 ms each: 67 packets, where 20 find room."""
    rule = dfc.Pause(high=80, low=60)
    links = [dfc.Link(n, "sw", mbps(100), 2e-3, 100, rule) for n in "ab"]
    links.append(dfc.Link("sw", "c", mbps(50), 2e-3, 100, rule))
    flows = [dfc.Flow("1", ("a", "sw", "c"), CUBIC()), dfc.Flow("2", ("b", "sw", "c"), NewReno())]
    run = simulate(dfc.Scenario("pauses", links, flows, duration=2.0), level="fluid")
    said = "Pause(high=80) leaves room for 20 packets, up to 67 can arrive until links obey"
    assert said in run.summary()["lost at"]


def test_many_places_are_summed() -> None:
    run = simulate(into_one(dfc.RED(), senders=9, host="direct", source=NewReno()), dfc.Packets(seed=1))
    many = replace(run, lost=np.ones_like(run.lost))
    said = many.summary()["lost at"]
    assert said.count(",") == 6
    assert "4 other nodes" in said


def test_the_largest_queue_names_the_link_or_a_node_with_several() -> None:
    scenario = into_one(dfc.RampMarking(at="arrival"))
    run = simulate(scenario, level="fluid")
    assert run.summary()["largest queue"].endswith("of link s->d")
    more = replace(scenario, links=(*scenario.links, dfc.Link("s", "e", 1e3, 1e-3, 5)))
    assert simulate(more, level="fluid").summary()["largest queue"].endswith("at node s")


@pytest.mark.parametrize("method", METHODS_LOSS_SUMMARIES, ids=["fluid", "packets"])
@pytest.mark.parametrize("kind", ["PFC", "switch", "Pause"])
def test_a_queue_that_cannot_exceed_its_threshold_names_the_room_to_pause(kind, method) -> None:
    """With no packet of room above the threshold it never pauses; in the fluid any room is enough for that."""

    def into_one(room: float) -> dfc.Scenario:
        rule = dfc.Pause(high=30.5, low=15)
        if kind != "Pause":
            rule = dfc.PFC((0,), 30.5, 15, headroom=room, counts="switch" if kind == "switch" else "output")
        buffer = f"{1500 * (30.5 + room):.0f} B" if kind == "Pause" else 1000
        links = [dfc.Link(name, "s", 1e6, 1e-5, 1000, rule) for name in "ab"] + [
            dfc.Link("s", "r", 1e6, 1e-6, buffer, rule)
        ]
        flows = [dfc.Flow(name, (name, "s", "r"), dfc.CBR(1e6), host="unshaped") for name in "ab"]
        return dfc.Scenario("two into one", links, flows, duration=5e-3)

    room = 0.4 if isinstance(method, dfc.Packets) or kind == "Pause" else 0.0
    run = simulate(into_one(room), method)
    (loss,) = run.lossless_losses[-1:]
    inputs = 2 if kind == "Pause" else 1  # PFC has the room of one input
    assert loss.given == pytest.approx(room, abs=1e-9)
    assert loss.headroom <= inputs * 25.0
    if isinstance(method, dfc.Packets):
        assert len(run.paused) == 0
        assert loss.headroom == pytest.approx(inputs * (20.0 + 2.0))
    assert simulate(into_one(loss.headroom), method).lossless_losses == ()


# Deadlocks by progress and by what holds the pauses, whatever a switch counts; runs that merely stopped or are slow.

C = 5e6
"""Packets/s: 40 Gb/s in packets of 1000 bytes."""
RING = ("A->B", "B->C", "C->D", "D->A")
RULES = [
    dfc.PFC((0,), xoff=40, xon=38, counts="output"),
    dfc.PFC((0,), xoff=40, xon=38, counts="switch"),
    dfc.Pause(high=40, low=38),
]
NAMES = ["output", "switch", "pause"]
PACKETS = dfc.Packets(seed=1)


def ring(rule, *, third: bool = True, size: float = np.inf) -> dfc.Scenario:
    """Return the ring of Hu et al., HotNets 2016, Fig. 4: two flows pass, a third one makes it stand still."""
    paths = [("h1", *"ABCD", "d1"), ("h2", *"CDAB", "d2"), ("h3", *"BC", "d3")]
    ends = [
        *zip("ABCD", "BCDA", strict=True),
        *(path[:2] for path in paths),
        *(path[-2:] for path in paths),
    ]
    links = [dfc.Link(*each, C, 1e-6, 5000, rule) for each in ends]
    flows = [
        dfc.Flow(str(n), path, dfc.CBR(C), size=size, host="unshaped", start=n * 1e-7)
        for n, path in enumerate(paths[: 2 + third], start=1)
    ]
    return dfc.Scenario("ring", links, flows, duration=4e-3, packet_size=1000)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize(
    ("simulate", "method"),
    [
        (simulate, PACKETS),
        (plain_simulate, dfc.Packets(seed=1)),
        (simulate, dfc.Fluid(steps_per_delay=16)),
    ],
    ids=["packets", "oracle", "fluid"],
)
def test_a_ring_that_stands_still_is_deadlocked_whatever_the_switches_count(rule, simulate, method) -> None:
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
    run, slow = (run(scenario, dfc.Packets(seed=1)) for run in ENGINES)
    assert len(run.remaining) > 9
    np.testing.assert_array_equal(run.remaining, slow.remaining)
    np.testing.assert_array_equal(run.emitted, slow.emitted)
    np.testing.assert_array_equal(run.inside, slow.inside)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize("method", [PACKETS, dfc.Fluid()], ids=["packets", "fluid"])
def test_a_ring_that_moves_is_completed(rule, method) -> None:
    run = simulate(ring(rule, third=False), method)
    assert len(run.remaining) > 0
    assert run.deadlock is None
    assert run.status is Status.COMPLETED


@pytest.mark.parametrize("method", [PACKETS, dfc.Fluid()], ids=["packets", "fluid"])
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


@pytest.mark.parametrize("method", [PACKETS, dfc.Fluid(steps_per_delay=16)], ids=["packets", "fluid"])
def test_links_that_move_beside_a_deadlock_are_not_among_those_that_are_stuck(method) -> None:
    scenario = ring(RULES[1])
    links = (*scenario.links, *dfc.chain(2, rate=C, delay=1e-6, buffer=5000, discipline=RULES[1]))
    flows = (*scenario.flows, dfc.Flow("other", (1, 2), dfc.CBR(0.9 * C), host="unshaped"))
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


@pytest.mark.parametrize("method", [PACKETS, dfc.Fluid()], ids=["packets", "fluid"])
def test_a_link_slower_than_the_run_is_no_deadlock(method) -> None:
    """A packet takes 40 % of the run on the last link, so that queues before it are paused and still for its last quarter."""
    rule = dfc.PFC((0,), xoff=2, xon=1, headroom=20)
    links = [*dfc.chain(3, rate=1e4, delay=1e-4, buffer=200, discipline=rule)]
    links.append(dfc.Link(3, 4, 100.0, 1e-4, 200, rule))
    flow = dfc.Flow("a", (1, 2, 3, 4), dfc.CBR(1e4), host="unshaped")
    run = simulate(dfc.Scenario("slow", links, [flow], duration=0.025), method)
    assert run.pauses().lasting.any()
    assert run.remaining["still"].any()
    assert run.status is Status.COMPLETED


@pytest.mark.parametrize(
    ("rule", "delay", "duration"),
    [
        (dfc.Pause(high=40, low=20, quanta=65535), 1e-6, 8e-4),
        (dfc.Credits(buffer=200), 4e-4, 1.5e-3),
    ],
    ids=["quanta", "credits on their way"],
)
def test_a_wait_for_quanta_or_messages_is_no_deadlock(rule, delay, duration) -> None:
    """Nothing moves in the last quarter: quanta of 839 us began before it, or credits need longer than it to arrive."""
    links = [dfc.Link(*ends, C, delay, 5000, rule) for ends in (("a", "s"), ("b", "s"), ("s", "r"))]
    flows = [dfc.Flow(name, (name, "s", "r"), FixedRate()) for name in "ab"]
    scenario = dfc.Scenario("one switch", links, flows, duration=duration, packet_size=1000)
    run = simulate(scenario, PACKETS)
    assert run.remaining["still"].all()
    assert run.deadlock is None
    assert run.status is Status.COMPLETED
    later = simulate(replace(scenario, duration=2.0 * duration), PACKETS)
    assert (later.delivered[:, -1] > run.delivered[:, -1]).all()


def test_a_ring_with_quanta_is_deadlocked() -> None:
    """The pauses of a ring are renewed, as its packets wait for each other."""
    run = simulate(ring(dfc.Pause(high=40, low=38, quanta=65535)), PACKETS)
    assert run.status is Status.DEADLOCKED
    assert run.deadlock.cycle == RING


def test_a_pause_whose_end_is_under_way_holds_nothing() -> None:
    """The circle of a deadlocked run, one of its pauses about to end: nothing is known to last."""
    run = simulate(ring(RULES[0]), PACKETS)
    paused = run.paused.copy()
    paused["resumed"][np.isinf(paused["end"])] = 1
    assert run.deadlock is not None
    assert replace(run, paused=paused).deadlock is None


# Transfers that are not complete at the end, and what they wait for.

METHODS_STANDSTILLS = [dfc.Packets(seed=1), dfc.Fluid()]
NAMES_UNFINISHED = ["packets", "fluid"]


def transfers(*flows: dfc.Flow, buffer: float = 20.0, duration: float = 1.0) -> dfc.Scenario:
    links = dfc.chain(3, rate=1e3, delay=1e-2, buffer=buffer)
    return dfc.Scenario("transfers", links, flows, duration=duration)


@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_reasons_of_sources_without_a_window(method) -> None:
    scenario = transfers(
        dfc.Flow("done", (1, 2, 3), dfc.CBR(100.0), size=20.0, start=0.5, host="unshaped"),
        dfc.Flow("sending", (1, 2, 3), dfc.CBR(200.0), size=500.0, host="unshaped"),
        dfc.Flow("lost", (2, 3), dfc.CBR(5e3), size=1500.0),
        dfc.Flow("late", (1, 2, 3), dfc.CBR(100.0), size=10.0, start=1.0, host="unshaped"),
        dfc.Flow("endless", (1, 2, 3), dfc.CBR(10.0), host="unshaped"),
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


@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_a_window_sender_whose_packets_are_all_lost_waits_for_its_timer(method) -> None:
    """They come to a buffer that 20 times the rate of its link keep full, and nothing is sent until the timer expires."""
    scenario = transfers(
        dfc.Flow("flood", (2, 3), dfc.CBR(2e4)),
        dfc.Flow("a", (1, 2, 3), NewReno(), size=3.0, start=0.1, host="unshaped"),
        duration=0.5,
    )
    run = simulate(scenario, method)
    assert run.lost[1].sum() > 0.9  # of its first packet, in a fluid a part passes
    assert [each.waits_for for each in run.unfinished] == ["waits for its retransmission timer"]
    early = simulate(scenario, method, duration=0.105)  # on the first link
    assert [each.waits_for for each in early.unfinished] == ["still sending"]


@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_a_paused_transfer_names_who_pauses_it(method) -> None:
    rule = dfc.PFC((0,), xoff=10, xon=5)
    links = [
        *dfc.chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=rule),
        dfc.Link(3, 4, 10.0, 1e-3, 200, rule),
    ]
    flow = dfc.Flow("a", (1, 2, 3, 4), dfc.CBR(1e4), size=1000.0, host="unshaped")
    run = simulate(dfc.Scenario("slow", links, [flow], duration=0.5), method)
    (found,) = run.unfinished
    assert found.waits_for.startswith("paused by")
    assert "3->4" in found.waits_for
    assert run.status is Status.COMPLETED


def test_many_transfers_are_counted_by_reason() -> None:
    flows = [dfc.Flow(f"{n}", (2, 3), dfc.CBR(1e3), size=400.0) for n in range(8)]
    run = simulate(transfers(*flows), dfc.Packets(seed=1))
    n = len(run.unfinished)
    assert n > 3
    reason = "lost packets, which its source never sends again"
    line = str(run.summary()["unfinished"])
    assert line.startswith(f"{n} of 8 transfers. {reason}: {n}. The first one: ")
    assert line.endswith(str(run.unfinished[0]))


@pytest.mark.parametrize(
    "source",
    [dfc.CBR(5e3), dfc.Poisson(5e3), dfc.Replay((0.0, 0.1), 100)],
    ids=["CBR", "Poisson", "Replay"],
)
def test_what_a_source_lost_that_has_ended_before_its_size_is_never_sent_again(source) -> None:
    flow = dfc.Flow("a", (2, 3), source, size=1500.0, stop=0.2)
    found = {}
    for duration in (0.15, 0.5):
        (found[duration],) = simulate(transfers(flow, duration=duration), dfc.Packets(seed=1)).unfinished
    assert 0.0 < found[0.5].delivered < found[0.5].sent < 1500.0
    ended = isinstance(source, dfc.Replay)  # its trace, before the stop
    reasons = ["still sending", "lost packets, which its source never sends again"]
    assert found[0.15].waits_for == reasons[ended]
    assert found[0.5].waits_for == reasons[1]


# Drops by flow, link and cause.


def incast(rule, *, senders: int = 4, buffer: float = 2000.0, host: str = "unshaped") -> dfc.Scenario:
    """Return senders at line rate into one link; links are 300 packets long."""
    links = [dfc.Link(f"h{n}", "s", 3e6, 1e-4, buffer, rule) for n in range(senders)]
    links.append(dfc.Link("s", "d", 3e6, 1e-4, buffer, rule))
    flows = [dfc.Flow(f"{n}", (f"h{n}", "s", "d"), dfc.CBR(3e6), host=host) for n in range(senders)]
    return dfc.Scenario("incast", links, flows, duration=5e-3, packet_size=1000)


def causes(run) -> dict[str, float]:
    table = run.drops()
    return {
        str(cause): float(table.packets[(table.cause == cause) & ~table.ack].sum()) for cause in np.unique(table.cause)
    }


@pytest.mark.parametrize("counts", ["output", "switch"])
@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_too_little_headroom_is_a_status_with_the_room_that_is_enough(method, counts) -> None:
    rule = dfc.PFC((0,), xoff=60, xon=30, headroom=100, counts=counts)
    run = simulate(incast(rule, buffer=20_000), method)
    assert run.status is Status.LOST_LOSSLESS
    assert run.status.ok
    loss = next(each for each in run.lossless_losses if each.link == "s->d")
    assert (loss.priority, loss.given, loss.acks) == (0, 100.0, 0.0)
    assert loss.packets == pytest.approx(run.lost[:, -1].sum(), rel=1e-12)
    assert loss.first == pytest.approx(run.first_loss.min(), abs=1e-12)
    assert str(loss).startswith("s->d, class 0")
    enough = np.ceil(max(each.headroom for each in run.lossless_losses))
    assert 100 < enough < 2 * 600 + 100  # at most what a round trip at line rate brings
    wide = simulate(incast(replace(rule, headroom=enough), buffer=20_000), method)
    assert wide.lost.sum() == 0.0
    assert wide.status is Status.COMPLETED
    half = simulate(incast(replace(rule, headroom=(100 + enough) // 2), buffer=20_000), method)
    assert half.status is Status.LOST_LOSSLESS  # so that the room was not plenty


@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_pause_with_too_small_a_buffer_says_which_is_enough(method) -> None:
    rule = dfc.Pause(high=100, low=50)
    run = simulate(incast(rule, buffer=300), method)
    assert run.status is Status.LOST_LOSSLESS
    loss = next(each for each in run.lossless_losses if each.link == "s->d")
    assert (loss.priority, loss.given) == (-1, 200.0)
    assert "above high would have been enough" in str(loss)
    wide = simulate(incast(rule, buffer=100 + np.ceil(loss.headroom)), method)
    assert wide.lost.sum() == 0.0
    assert wide.status is Status.COMPLETED


@pytest.mark.parametrize("method", METHODS_STANDSTILLS, ids=NAMES_UNFINISHED)
def test_other_losses_are_no_losses_of_a_lossless_class(method) -> None:
    """By a manager, or at the first link of senders that nothing pauses; or of a class that is not lossless."""
    rule = dfc.PFC((0,), xoff=60, xon=30, headroom=700, manager=dfc.RED(10, 40, weight=0.1))
    run = simulate(incast(rule, buffer=20_000), method)
    assert set(causes(run)) == {"manager"}
    assert run.status is Status.COMPLETED
    two = [dfc.Flow(n, ("h", "s", "d"), dfc.CBR(3e6), host="direct") for n in "ab"]
    links = [dfc.Link(*ends, 3e6, 1e-6, 100, dfc.PFC((0,), 30, 20)) for ends in (("h", "s"), ("s", "d"))]
    run = simulate(dfc.Scenario("one NIC", links, two, duration=1e-3), method)
    assert set(causes(run)) == {"own link"}
    assert run.lost.sum() > 0.0
    assert run.status is Status.COMPLETED
    lossy = incast(dfc.PFC((3,), xoff=60, xon=30))
    run = simulate(lossy, method)
    assert set(causes(run)) == {"buffer"}
    assert not run.drops().lossless.any()
    assert run.status is Status.COMPLETED


def test_a_summary_names_the_losses_of_a_policer() -> None:
    flow = dfc.Flow("a", (1, 2), dfc.CBR(500.0))
    link = dfc.Link(1, 2, 1e3, 1e-3, 20)
    scenario = dfc.Scenario("policed", [link], [flow], duration=2.0, elements=[dfc.Policer("1->2", 200.0, 10.0)])
    run = simulate(scenario, dfc.Packets())
    assert set(causes(run)) == {"policer"}
    assert run.summary()["lost at"].endswith("(beyond the rate of a policer)")


def test_every_cause_of_drops_has_words() -> None:
    assert all(words and words[0].islower() for words in CAUSES.values())


def test_random_losses_are_told_from_those_of_a_full_buffer() -> None:
    scenario = incast(dfc.PFC((0,), xoff=60, xon=30, headroom=700), buffer=20_000)
    run = simulate(scenario, dfc.Packets(seed=1, loss={"s->d": 0.01}))
    found = causes(run)
    assert set(found) == {"random"}
    assert found["random"] == run.lost.sum() > 50
    assert run.status is Status.COMPLETED
    assert "at random on the link" in run.summary()["lost at"]
    plain = dfc.chain(2, rate=1e3, delay=1e-3, buffer=20)
    flow = dfc.Flow("a", (1, 2), dfc.CBR(1.5e3), host="unshaped")
    both = simulate(
        dfc.Scenario("both", plain, [flow, replace(flow, name="b")], duration=2.0),
        dfc.Packets(seed=1, loss={"1->2": 0.1}),
    )
    found = causes(both)
    assert set(found) == {"buffer", "random"}
    assert sum(found.values()) == both.lost.sum()
    # 1 in 10 of what two access links send: four standard deviations of a binomial number
    assert found["random"] == pytest.approx(400.0, abs=4 * np.sqrt(400.0))


@pytest.mark.parametrize("rule", [dfc.PFC((0,), 60, 30, headroom=100), dfc.Pause(high=100, low=50)], ids=str)
def test_both_packet_engines_record_the_same_drops(rule) -> None:
    buffer = 300.0 if isinstance(rule, dfc.Pause) else 2000.0
    scenario = replace(incast(rule, buffer=buffer), duration=1e-3)
    method = dfc.Packets(seed=1, loss={"s->d": 0.02})
    run, slow = (run(scenario, method) for run in ENGINES)
    assert set(causes(run)) == {"buffer", "random"}
    assert len(run.excess) > 0
    np.testing.assert_array_equal(run.excess, slow.excess)
    np.testing.assert_array_equal(run.dropped, slow.dropped)


def test_a_run_without_a_record_of_causes_says_so() -> None:
    run = replace(simulate(incast(dfc.Pause(high=100, low=50)), level="fluid"), dropped=None)
    assert run.lossless_losses == ()
    with pytest.raises(ValueError, match="drops of 'incast': this run has no record"):
        run.drops()
