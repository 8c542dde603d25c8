"""Senders and receivers: the compiled engine and the oracle, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.recoveries import (
    LinuxRecovery,
    NewRenoRecovery,
    PRRRecovery,
    RackRecovery,
    RenoRecovery,
    SackRecovery,
    TahoeRecovery,
)
from responsefn import AIMD, CUBIC, DCTCP, NewReno, Reno, Vegas, WindowRule, hystart
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.dfcmodel.packets.test_equal_deliveries import RATE, shared
from tests.oracles.engines import (
    ENGINES,
    NAMES,
    check_records,
    equal_records,
    plan_scenario,
    run_engine,
    run_reference,
)
from tests.oracles.packets.receivers import Packet, Receiver

# Senders of the reference: slow start, recovery and the timer, counted by hand.


def test_slow_start_doubles_every_round_trip(one_link) -> None:
    """Round trip 21 ms plus an ACK's 1/37.5 ms: windows 1, 2, 4, 8 of data after each."""
    plan = plan_of(one_link, dfc.Packets(seed=1))
    run = run_reference(plan)
    first = run.window[0, 0]
    per_trip = [run.window[int(k * 0.0211 / 0.01) + 1, 0] for k in range(3)]
    assert first in {1.0, 2.0, 10.0}
    np.testing.assert_array_equal(np.array(per_trip[1:]) / per_trip[:-1], 2.0)


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
def test_a_transfer_arrives_whole_whatever_is_lost(one_link, recovery: str) -> None:
    link = replace(one_link.links[0], buffer=5.0)
    flow = replace(one_link.flows[0], size=500.0)
    scenario = replace(one_link, links=(link,), flows=(flow,), duration=20.0)
    run = run_reference(plan_of(scenario, dfc.Packets(seed=1, recovery=recovery)))
    assert run.total[0] == 500.0
    assert run.drops[0] > 0
    assert run.finished[0] > 500 / 1000.0


@pytest.mark.slow
def test_hystart_leaves_slow_start_before_the_queue_overflows() -> None:
    """RFC 9406, 1: slow start can overshoot the ideal rate and lose a window of packets; HyStart++ does so less.

    A path of 100 packets with a queue of 300: at a window of 128 the queue is 28 ms long, where 12.5 ms end slow start.
    """
    lost, rules = [], (NewReno(), hystart(NewReno()))
    for rule in rules:
        links = (dfc.Link("s", "in", 5e3, 1e-3, 1e5), dfc.Link("in", "out", 1000.0, 0.049, 300.0))
        flow = dfc.Flow("f", ("s", "in", "out"), rule, 1e5)
        plan = plan_of(dfc.Scenario("start", links, (flow,), duration=1.6), dfc.Packets(seed=1))
        run = equal_records(plan)
        lost.append(run.drops.sum())
    assert 0 < lost[1] < 0.1 * lost[0]
    assert simulate(plan.scenario, level="fluid").lost.sum() < 0.1 * lost[0]


# Receivers: cumulative and selective acknowledgements.


def answers(numbers, *, selective: bool):
    """Return (number, blocks) of the ACKs that packets of these numbers get."""
    receiver = Receiver(selective)
    found = []
    for number in numbers:
        packet = Packet(0, number, 0.0)
        receiver.take(packet)
        ack = receiver.answer(packet)
        found.append((ack.number, ack.blocks))
    return found


def test_acknowledgements_are_cumulative() -> None:
    got = [number for number, _ in answers((0, 1, 3, 4, 2, 5), selective=False)]
    assert got == [0, 1, 1, 1, 4, 5]


def test_blocks_say_what_arrived_out_of_order_the_latest_first() -> None:
    """RFC 2018, section 4: the first block holds the packet that caused the ACK."""
    got = answers((0, 2, 5, 3, 1), selective=True)
    assert [blocks for _, blocks in got] == [
        (), ((2, 3),), ((5, 6), (2, 3)), ((2, 4), (5, 6)), ((5, 6),),
    ]  # fmt: skip
    assert got[-1][0] == 3


def test_an_echo_lasts_until_the_sender_has_reduced_its_window() -> None:
    """RFC 3168, 6.1.3: CE sets ECE, CWR clears it; a packet with both sets it anew."""
    receiver = Receiver(selective=False)
    got = []
    for number, marked, reduced in (
        (0, False, False), (1, True, False), (2, False, False), (3, False, True), (4, True, True),
    ):  # fmt: skip
        packet = Packet(0, number, 0.0, marked=marked, reduced=reduced)
        receiver.take(packet)
        got.append(receiver.answer(packet).marked)
    assert got == [False, True, True, False, True]


def test_an_accurate_echo_is_of_each_packet() -> None:
    """RFC 8257, 3.2."""
    receiver = Receiver(selective=False, accurate=True)
    got = []
    for number, marked in enumerate((False, True, False, True, True)):
        packet = Packet(0, number, 0.0, marked=marked)
        receiver.take(packet)
        got.append(receiver.answer(packet).marked)
    assert got == [False, True, False, True, True]


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_the_ack_of_a_single_packet_comes_when_its_timer_expires(one_link, simulate: Any) -> None:
    """RFC 1122, 4.2.3.2: a transfer of one packet ends a delay later, and no more."""
    flows = (replace(one_link.flows[0], size=1.0),)
    trips = []
    for delayed in (False, True):
        scenario = replace(one_link, flows=(replace(flows[0], delayed_acks=delayed),))
        run = simulate(scenario, method=dfc.Packets(ack_delay=0.04), duration=0.5)
        trips.append(run.round_trip[0, -1])
        assert run.timeouts.sum() == 0
    assert trips[1] - trips[0] == pytest.approx(0.04, abs=1e-12)


def test_delayed_acks_slow_growth_by_the_square_root_of_two() -> None:
    """Rate ~ sqrt(3 / (2 b p)) (Padhye et al. 1998, eq. 20): b = 2 against b = 1, timeouts aside.

    Ten independent stretches have a standard error of about 2 % each.
    """
    rates = []
    for delayed in (False, True):
        links = (dfc.Link("a", "b", 1e5, 0.05, 1e3),)
        flow = dfc.Flow("f", ("a", "b"), NewReno(), delayed_acks=delayed)
        scenario = dfc.Scenario("lossy", links, (flow,), duration=2000.0)
        method = dfc.Packets(seed=1, recovery="sack", loss={"a->b": 1e-3}, ack_delay=0.01)
        rates.append(np.ptp(simulate(scenario, method=method, sample=10.0).delivered[0]))
    assert rates[1] / rates[0] == pytest.approx(np.sqrt(0.5), rel=0.05)


# The built-in recoveries, run function by function in the reference, are those of its own classes and of the engine.


RECOVERIES = {
    "tahoe": TahoeRecovery(),
    "reno": RenoRecovery(),
    "newreno": NewRenoRecovery(),
    "sack": SackRecovery(),
    "prr": PRRRecovery(),
    "rack": RackRecovery(),
    "linux-6.12": LinuxRecovery(),
}


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[] if (seed - n) % 8 == 1 else pytest.mark.slow)
        for n, name in enumerate(RECOVERIES)
        for seed in range(1, 9)
    ],
)
def test_functions_of_a_recovery_and_its_class_in_the_reference_are_equal(name: str, seed: int) -> None:
    """With delayed ACKs, pacing, idle times, random losses and random waits in turn."""
    scenario = random_scenario(("fifo", "red", "ecn", "codel")[seed % 4], seed)
    options = ({}, {"delayed_acks": True}, {"pacing": True}, {"size": 60.0, "idle": 0.05})[seed % 4]
    flows = tuple(replace(flow, **options) if isinstance(flow.source, WindowRule) else flow for flow in scenario.flows)
    scenario = replace(scenario, flows=flows, duration=1.0)
    lose = {scenario.links[0].name: 0.02} if seed % 2 else None
    plans = [
        plan_of(
            scenario,
            dfc.Packets(seed=seed, recovery=recovery, loss=lose),
            0.0 if seed % 3 else 2e-4,
        )
        for recovery in (name, RECOVERIES[name])
    ]
    own_class = run_reference(plans[0])
    check_records(own_class, run_reference(plans[1]))
    check_records(own_class, run_engine(plans[1]))
    assert own_class.loss_events.sum() > 0


# Proportional rate reduction: both engines are equal, and the window falls ACK by ACK as RFC 6937 has it.


@pytest.mark.parametrize(("jitter", "pacing", "loss"), [(0.0, False, 2e-3), (5e-4, False, 0.1), (5e-4, True, 2e-3)])
def test_both_engines_are_bit_equal(jitter: float, pacing: bool, loss: float) -> None:
    scenario = shared((NewReno(), CUBIC(), Vegas()), 20.0, 2.0, pacing=pacing, delayed_acks=True)
    plan = plan_of(scenario, dfc.Packets(seed=3, recovery="prr", loss={"in->out": loss}), jitter=jitter)
    run = equal_records(plan)
    assert run.drops.sum() > 0
    assert (run.imbalance == 0.0).all()


def sent_in_recovery(rule: WindowRule, recovery: str) -> tuple[np.ndarray, float]:
    """Return when packets were sent after the first one was sent again, in packet times, and the window.

    One packet is lost: the window has just grown to one packet more than 80 on the path, 1 in
    transmission and 20 waiting.
    """
    scenario = shared((rule,), 20.0, 4.0)
    trace = dfc.trace_packets(scenario, "s0->in", dfc.Packets(seed=1, recovery=recovery))
    data = trace.events[~trace.events["ack"]]
    again = np.flatnonzero(np.diff(np.maximum.accumulate(data["number"]), prepend=-1) == 0)
    calm = again[np.diff(again, append=10**9) > 200][1]  # the second event: slow start is over
    times = (data["sent"][calm:] - data["sent"][calm]) * RATE
    return times, float(data["number"][:calm].max() - data["number"][calm] + 1)


@pytest.mark.parametrize("b", [0.5, 0.3])
def test_packets_are_sent_in_proportion_over_the_round_trip(b: float) -> None:
    """RFC 6937, Sect. 3: after d ACKs ceil(d ssthresh / RecoverFS) packets were sent, the first one again.

    Sack1 is silent until the part b of the window has left, and then sends a packet per ACK.
    """
    rule = AIMD(b=b)
    times, flight = sent_in_recovery(rule, "prr")
    number = np.arange(40)
    np.testing.assert_allclose(times[:40], number / (1.0 - b), atol=2.0)  # limited transmit: 2 more
    silent, _ = sent_in_recovery(rule, "sack")
    assert silent[1] > 0.9 * b * flight
    np.testing.assert_allclose(np.diff(silent[1:30]), 1.0, rtol=1e-9)


# Losses by time: the reference and the compiled engine are equal on networks that lose and mark packets.

RULES = [NewReno(), CUBIC(), DCTCP(), Reno(), AIMD()]


def network(seed: int) -> dfc.Scenario:
    """Return flows of any window rule over two links with small buffers."""
    rng = np.random.default_rng([8985, seed])
    links = [
        replace(link, discipline=(dfc.FIFO(), dfc.RED(5.0, 15.0, ecn=True), dfc.StepMarking(5.0))[seed % 3])
        for link in dfc.chain(3, rate=float(rng.uniform(200, 2000)),
                          delay=float(rng.uniform(1e-4, 0.05)), buffer=int(rng.integers(2, 40)))
    ]  # fmt: skip
    flows = [
        dfc.Flow(
            f"{n}", [(1, 2, 3), (1, 2), (2, 3)][rng.integers(3)], RULES[(seed + n) % 5],
            max_window=float(rng.integers(4, 80)), start=float(rng.uniform(0.0, 0.3)),
            size=float(rng.integers(1, 300)), handshake=[True, "data", False][(seed + n) % 3],
            delayed_acks=bool(rng.integers(2)), pacing=bool(rng.integers(2)),
        )
        for n in range(3)
    ]  # fmt: skip
    return dfc.Scenario("late packets", links, flows, duration=2.0)


@pytest.mark.parametrize("seed", range(8))
def test_both_engines_find_the_same_losses(seed: int) -> None:
    loss = {"1->2": 0.05} if seed % 2 else None
    plan = plan_scenario(
        network(seed), dfc.Packets(seed=seed + 1, recovery="rack", loss=loss), duration=2.0,
        sample=0.05, packet_jitter=1e-4 * (seed % 4 == 1),
    )  # fmt: skip
    found = equal_records(plan)
    assert loss is None or found.loss_events.sum() > 0


# Sources without window: packets of equal intervals, on and off.


@pytest.mark.parametrize(("source", "packets"), [(dfc.CBR(400.0), 400.0), (dfc.OnOff(400.0, 0.1, 0.3), 100.0)])
def test_a_source_sends_at_its_mean_rate(one_link, source, packets: float) -> None:
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=4.0), dfc.Packets(seed=1)))
    assert run.total[0] / 4.0 == pytest.approx(packets, rel=0.02)


def test_random_times_have_their_means(one_link) -> None:
    source = dfc.OnOff(800.0, 0.02, 0.02, random=True)
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=20.0), dfc.Packets(seed=1)))
    assert run.total[0] / 20.0 == pytest.approx(400.0, rel=0.15)  # 500 cycles: 3 s.d. are 0.13


@pytest.mark.parametrize(
    ("recovery", "jitter"),
    [("tahoe", 0.0), ("reno", 2e-4), ("newreno", 0.0), ("sack", 2e-4), ("prr", 0.0)],
)
def test_transfers_after_idle_times_run_bit_equal_in_both_engines(recovery: str, jitter: float) -> None:
    """Transfers with losses, idle times longer and shorter than a round trip, random and not, delayed ACKs."""
    scenario = random_scenario("fifo", 3)
    flows = tuple(
        replace(flow, size=23.0 + n, idle=(0.2, 1e-3)[n % 2], random_idle=n % 3 > 0, delayed_acks=n == 1)
        if isinstance(flow.source, WindowRule)
        else flow
        for n, flow in enumerate(scenario.flows)
    )
    plan = plan_of(replace(scenario, flows=flows), dfc.Packets(seed=3, recovery=recovery), jitter)
    run = equal_records(plan)
    assert (run.imbalance == 0.0).all()
    again = [f for f, flow in enumerate(flows) if flow.idle < 1.0]
    assert all(run.total[f] > 1.5 * flows[f].size for f in again)
    assert len(again) > 1


def test_a_transfer_begins_an_idle_time_after_the_last_ack_of_the_one_before(one_link) -> None:
    """A window of one packet: a transfer of three takes three round trips, and the idle time follows."""
    (flow,) = one_link.flows
    flow = replace(flow, max_window=1.0, size=3.0, idle=0.2507)  # nothing arrives on the edge of a sample
    trip = 0.02 + 1e-3
    method = dfc.Packets(seed=1, ack_transmission=False)
    run = run_engine(plan_of(replace(one_link, flows=(flow,)), method))
    starts = np.arange(0.0, 2.0, 3 * trip + 0.2507)
    delivered = np.add.outer(starts, 0.011 + trip * np.arange(3)).ravel()
    expected, _ = np.histogram(delivered, np.arange(0.0, 2.005, 0.01))
    np.testing.assert_array_equal(run.delivered[:-1, 0], expected)
    assert run.finished[0] == pytest.approx(delivered[2])  # of the first transfer


def test_exponential_idle_times_have_their_mean(one_link) -> None:
    (flow,) = one_link.flows
    flow = replace(flow, max_window=1.0, size=1.0, idle=0.05, random_idle=True)
    run = run_engine(plan_of(replace(one_link, flows=(flow,), duration=40.0), dfc.Packets(seed=2)))
    cycle = 40.0 / run.total[0]  # a round trip and an idle time; 560 cycles: 3 s.d. are 13 %
    assert cycle - 0.021 == pytest.approx(0.05, rel=0.15)
