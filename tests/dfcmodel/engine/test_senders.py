"""Senders of the fluid: windows, tables of packets, what remains of losses."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    RED,
    Flow,
    Fluid,
    Link,
    OnOff,
    Priority,
    Scenario,
    chain,
    simulate,
)
from dfcmodel.engine import driver
from dfcmodel.engine.kernel.endpoints import released
from dfcmodel.engine.kernel.loss_records import up_to_next_change
from dfcmodel.engine.kernel.records import FLOW, HOLE, SACK, STRETCH, Step
from dfcmodel.engine.kernel.tcp import tcp_receiver, tcp_sender
from dfcmodel.engine.sender_tables import source_events_of
from hopflow import maximum, minimum
from responsefn import TIMELY, NewReno, Vegas, WindowRule, catalogue
from responsefn.responses.rule_events import numbers_of, signature_of
from tests.oracles.engines import compile_scenario, plain_simulate
from tests.oracles.fluid import runs as reference

# Random waits of senders: the fluid's delays beside those of single packets, as ns-2 draws them.

NUMBER = 20_000


def delays_of_packets(spacing: float, longest: float) -> np.ndarray:
    """Return the waits of packets: one that finds no wait begins one, and all leave at its end."""
    random = np.random.default_rng(1)
    found, end = np.empty(NUMBER), -1.0
    for n in range(NUMBER):
        if n * spacing >= end:
            end = n * spacing + random.uniform(0.0, longest)
        found[n] = end - n * spacing
    return found


def delays_of_fluid(spacing: float, longest: float) -> np.ndarray:
    """Return how long ago what has been let go was emitted, in each step."""
    flow = SimpleNamespace(
        jitter=longest, ack_lag=100, start=0, wait_begin=0.0, wait_end=0.0, waited=0.0, seed=12345
    )
    emitted = np.zeros((256, 1))
    found, before = np.empty(NUMBER), 0.0
    for k in range(1, NUMBER + 1):
        emitted[k % 256, 0] = k / spacing
        before = max(before, released(flow, 0, k, emitted))
        found[k - 1] = k - before * spacing
    return found[256:]


@pytest.mark.parametrize(
    ("spacing", "longest"), [(10.0, 0.5), (10.0, 3.0), (0.1, 3.0), (0.01, 3.0), (0.01, 0.8)]
)
def test_random_waits_delay_the_fluid_as_they_delay_packets(spacing: float, longest: float) -> None:
    """Mean and deviation, of the longest wait; 0.02 is four standard errors of 700 waits' mean.

    From one packet per wait (mean 1/2) to hundreds (mean 1/3): waits of several packets last.
    """
    packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
    assert fluid.mean() == pytest.approx(packets.mean(), abs=0.02 * longest)
    assert fluid.std() == pytest.approx(packets.std(), abs=0.02 * longest)


def test_waits_of_few_packets_delay_the_fluid_a_little_less() -> None:
    """A fluid has no whole packets: at one to six packets per wait it is early by up to 0.1 of it."""
    for spacing, longest in [(1.0, 3.0), (5.0, 20.0), (3.0, 20.0)]:
        packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
        assert 0.0 < packets.mean() - fluid.mean() < 0.1 * longest


# The receiver of the fluid: parts of packets that were lost become whole ones, neither more nor fewer.

PACKETS = 3000.0
RING = 4096


@pytest.fixture
def receiver():
    flow = np.zeros(1, dtype=FLOW).view(np.recarray)[0]
    flow.holes_mask = RING - 1
    return flow, np.zeros(RING, dtype=HOLE).view(np.recarray)


def stretches(seed: int) -> list[tuple[float, float]]:
    """Return amounts that arrive step by step, packets, and the part of each that was lost."""
    rng = np.random.default_rng(seed)
    ends = np.sort(np.append(rng.uniform(0.0, PACKETS, 4500), (0.0, PACKETS)))
    return list(zip(np.diff(ends).tolist(), rng.uniform(0.0, 0.3, len(ends) - 1), strict=True))


def test_as_many_packets_are_missing_as_were_lost(receiver) -> None:
    """Within one packet that is not complete, of some 300; nothing is lost where nothing is missing."""
    flow, holes = receiver
    lost = acks = 0.0
    for n, (amount, part) in enumerate(stretches(1)):
        missing = part if n % 3 else 0.0
        lost += missing * amount
        acks += tcp_receiver.receive_new(flow, holes, amount, missing)[0]
    marked = np.count_nonzero(holes.extent)
    assert lost > 250
    assert marked == pytest.approx(lost, abs=1.3)  # one, and what the last stretch may add to it
    assert acks == pytest.approx(PACKETS - marked, abs=1e-6)


def test_as_many_resent_packets_fill_no_hole_as_were_lost_again(receiver) -> None:
    """The first that was lost again is where rcv_nxt stands; ACKs of those behind it are duplicates."""
    flow, holes = receiver
    flow.rcv_max = flow.scanned_to = PACKETS
    holes[: int(PACKETS)] = (1.0, 1.0)
    lost = acks = moved = sequence = 0.0
    for amount, part in stretches(2):
        lost += part * amount
        sequence += amount
        resent = tcp_receiver.Resent(sequence, amount, part, sequence == PACKETS)
        more, advancing = tcp_receiver.receive_resent(flow, holes, resent, 2.0**-26)
        acks, moved = acks + more, moved + advancing
    missing = holes[: int(PACKETS)].missing
    assert lost > 250
    assert missing.sum() == pytest.approx(lost, abs=1.3)
    assert acks == pytest.approx(PACKETS - missing.sum())
    assert moved == pytest.approx(flow.rcv_nxt, abs=1e-6)
    assert int(moved) == np.flatnonzero(missing > 0.5)[0]


def test_a_packet_that_fills_a_hole_behind_the_first_is_answered_by_a_duplicate_ack(
    receiver,
) -> None:
    """RFC 5681, 2: its ACK is that of the greatest one before, as in ns-2 and ns-3, which count it."""
    flow, holes = receiver
    flow.rcv_nxt, flow.rcv_max, flow.scanned_to = 1.0, 6.0, 6.0
    for c in (1, 4):
        holes[c] = (1.0, 1.0)
    resent = [tcp_receiver.Resent(c + 1.0, 1.0, 0.0, True) for c in (4, 1)]
    answers = [
        (*tcp_receiver.receive_resent(flow, holes, each, 2.0**-26), flow.rcv_nxt) for each in resent
    ]
    assert answers == [(1.0, 0.0, 1.0), (1.0, 1.0, 6.0)]


# SACK senders of the fluid step by step, against RFC 6675: what is resent, and when.

QUANTUM = 2.0**-40


class Sender:
    """A sender with a window of ``window`` packets in flight from number 100 on, of which some are lost."""

    def __init__(self, window: float, lost: set[int], largest: float = 1000.0) -> None:
        self.flow = np.zeros(1, dtype=FLOW).view(np.recarray)[0]
        self.log = np.zeros(64, dtype=STRETCH).view(np.recarray)
        self.holes = np.zeros(2048, dtype=HOLE).view(np.recarray)
        self.events = source_events_of((signature_of(NewReno()),), compiled=False)
        flow = self.flow
        flow.recovery, flow.max_window, flow.flow_size = SACK, largest, np.inf
        flow.log_mask, flow.holes_mask = 63, 2047
        flow.cwnd = flow.ssthresh = window
        flow.snd_una, flow.snd_nxt, flow.snd_max = 100.0, 100.0 + window, 100.0 + window
        flow.emitted, flow.offset, flow.log_end = 100.0 + window, 0.0, 1
        flow.deadline, flow.rto, flow.backoff = 1e3, 0.2, 1.0
        flow.rtt, flow.recover, flow.timed_seq, flow.acks_each = 0.1, -1.0, -1.0, 1.0
        flow.parameters[: len(numbers_of(NewReno()))] = list(numbers_of(NewReno()).values())
        for n in lost:
            self.holes[n & 2047] = (1.0, 1.0)

    def hear(
        self, rcv_nxt: float, rcv_max: float, acks: float, advancing: float = 0.0
    ) -> list[tuple[float, float]]:
        """Return what is sent on the ACKs of a step: numbers and amounts, those resent first."""
        flow, before = self.flow, float(self.flow.emitted)
        ack = SimpleNamespace(
            acks=acks, advancing=advancing, rcv_nxt=rcv_nxt, rcv_max=rcv_max, marked=0.0, sent=0.0
        )
        step = Step(100, 1.0, 1, 0.01, QUANTUM, 0.2)
        assert tcp_sender.send(flow, self.log, self.holes, self.events, ack, step)
        stretches = [self.log[n & 63] for n in range(flow.log_end)]
        ends = [*(each.position for each in stretches[1:]), flow.emitted]
        return [
            (float(max(before, each.position) - each.position + each.sequence), float(end - max(before, each.position)))
            for each, end in zip(stretches, ends, strict=True)
            if end > before
        ]  # fmt: skip


def test_the_first_packet_lost_is_resent_at_once_whatever_is_in_flight() -> None:
    """Section 5, step 4.3: cwnd is 10, in flight are 16 of 20, and packet 100 is resent."""
    sender = Sender(20.0, {100})
    assert sender.hear(100.0, 104.0, 3.0) == [(100.0, 1.0)]
    assert sender.flow.cwnd == 10.0
    assert sender.flow.pipe == 17.0  # 20 less 3 that arrived, less 1 lost, and 1 resent


def test_what_is_lost_of_new_data_is_resent_in_the_same_recovery() -> None:
    """Section 4, NextSeg, rule 1 knows no recovery point: packet 121, sent in it, is resent in it."""
    sender = Sender(20.0, {100, 121})
    sender.hear(100.0, 104.0, 3.0)
    sent = sender.hear(100.0, 120.0, 16.0)  # 1 is in flight: 9 of new data
    assert sent == [(120.0, 9.0)]
    sent = sender.hear(100.0, 125.0, 4.0)
    assert sent[0] == (121.0, 1.0)
    assert sender.flow.recover == 120.0


def test_a_recovery_begins_without_duplicates_where_sack_tells_of_the_loss() -> None:
    """Section 5, step 2: IsLost(HighACK + 1). Packet 103 is known to be lost when 100 to 102 are
    acknowledged with 104 to 106, all in one step."""
    sender = Sender(20.0, {103})
    assert sender.hear(103.0, 107.0, 6.0, 3.0) == [(103.0, 1.0)]
    assert sender.flow.in_recovery == 1
    other = Sender(20.0, {103})
    other.hear(103.0, 106.0, 5.0, 3.0)
    assert other.flow.in_recovery == 0


@pytest.mark.parametrize(("recover", "begins"), [(100.0, True), (101.0, False)])
def test_no_recovery_begins_before_the_recovery_point_of_a_timeout(recover, begins) -> None:
    """Section 5.1: not until HighACK reaches what had been sent when the timer expired."""
    sender = Sender(20.0, {100})
    sender.flow.recover = recover
    sender.hear(100.0, 104.0, 3.0)
    assert sender.flow.in_recovery == begins


def test_new_data_in_a_recovery_stay_within_the_receivers_window() -> None:
    """Section 4, NextSeg, rule 2: with packet 100 missing nothing beyond 129 may be sent."""
    sender = Sender(20.0, {100}, largest=30.0)
    sender.hear(100.0, 104.0, 3.0)
    sender.hear(100.0, 120.0, 16.0)
    sender.hear(100.0, 129.0, 9.0)
    assert sender.flow.snd_max == 130.0


# Sender tables: starts and on/off times within a step, every rule as a source; receivers.


RATE, DELAY = 1e4, 5e-3


RULES = [entry for entry in catalogue("rule").entries if isinstance(entry, WindowRule)]


ADVANCE = {  # the kernel as plain Python: no compilation for a few hundred steps
    "kernel": partial(driver.advance, compiled=False),
    "reference": reference.advance,
}


def one_flow(source: Any, host: str = "direct", start: float = 0.0, **link: Any) -> Scenario:
    """Return a flow over two links."""
    links = chain(3, **{"rate": RATE, "delay": DELAY, "buffer": 1000.0, **link})
    return Scenario("one", links, (Flow("only", (1, 2, 3), source, 200.0, start, host=host),))


def plan_of(scenario: Scenario, steps_per_delay: int = 4) -> Any:
    plain = Fluid(
        steps_per_delay=steps_per_delay, store_and_forward=False
    )  # delays are those of the links
    random = np.random.default_rng(0)
    return compile_scenario(scenario, plain, random, duration=0.1)


class Listener(WindowRule):
    """A window of 64 packets that never changes, and the round-trip times that it heard of."""

    class State(NamedTuple):
        """Window in packets, shortest and longest RTT in s."""

        cwnd: float = 64.0
        ssthresh: float = math.inf
        shortest: float = math.inf
        longest: float = 0.0

    assigned: ClassVar[tuple[str, ...]] = ("shortest", "longest")

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(shortest=minimum(s.shortest, e.rtt), longest=maximum(s.longest, e.rtt))

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.parametrize("host", ["direct", "unshaped"])
@pytest.mark.parametrize("by", ["kernel", "reference"])
def test_a_rule_hears_the_round_trip_times_of_a_burst(by: str, host: str) -> None:
    """The first of 64 packets finds no queue; the last one waits for 63, to one step."""
    scenario = one_flow(Listener(), host)
    plan = plan_of(scenario, 16)
    ADVANCE[by](plan, 400, 40)
    shortest, longest = plan.network.flows["rule_state"][0, :2]
    base = scenario.base_rtt(scenario.flows[0])
    assert shortest == pytest.approx(base, rel=1e-9)
    assert longest == pytest.approx(base + 63 / RATE, abs=plan.step)


def test_naive_reference_agrees_for_a_rule_that_goes_by_the_delay() -> None:
    """Vegas fills two queues of FIFO and leaves slow start by what it hears."""
    flows = (
        Flow("one", (1, 2, 3), Vegas(), 300.0),
        Flow("two", (2, 3), Vegas(), 300.0, start=0.0103),
    )
    scenario = Scenario("vegas", chain(3, rate=RATE, delay=DELAY, buffer=1e4), flows)
    fast, slow = (advance(plan_of(scenario), 200, 20)[0] for advance in ADVANCE.values())
    assert fast[-1, :, 2].max() > 64.0
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.75])
def test_starts_within_a_step(part: float) -> None:
    """A constant rate has sent for exactly as long; the rest of a first window comes a step later."""
    h = DELAY / 4
    start = (2 + part) * h
    plan = plan_of(one_flow(CBR(5000.0), start=start))
    driver.advance(plan, 10, 1, compiled=False)
    # rounding of four amounts to the grid
    assert plan.network.flows["emitted"][0] == pytest.approx((10 * h - start) * 5000.0, abs=1e-6)
    emitted = []
    for steps in (2, 3, 4):
        plan = plan_of(one_flow(Listener(), start=start))
        driver.advance(plan, steps, 1, compiled=False)
        emitted.append(plan.network.flows["emitted"][0])
    assert emitted == pytest.approx([0.0, 64.0 * (1.0 - part), 64.0], abs=1e-6)


def test_on_and_off_times_within_a_step() -> None:
    h = DELAY / 4
    plan = plan_of(one_flow(OnOff(4000.0, 0.3 * h, 0.4 * h)))
    record = driver.advance(plan, 14, 7, compiled=False)[0]
    assert plan.network.flows["emitted"][0] == pytest.approx(14 * 4000.0 * h * 3 / 7, rel=1e-6)
    assert record.shape == (2, 1, 5)


WITH_DFC = [
    pytest.param(rule, DFC(), marks=[] if n < 4 else pytest.mark.slow, id=f"{rule!r}-dfc")
    for n, rule in enumerate(RULES)
]


@pytest.mark.parametrize(
    ("rule", "discipline"),
    [*(pytest.param(rule, FIFO(), id=f"{rule!r}-fifo") for rule in RULES), *WITH_DFC],
)
def test_every_rule_of_the_catalogue_is_a_source(rule: WindowRule, discipline: Any) -> None:
    """The balance is zero, all is finite, nothing negative, no link and no buffer exceeded.

    The text of the rules as plain Python: the kernels come from the same text.
    """
    scenario = one_flow(rule, "unshaped", rate=2000.0, buffer=10.0, discipline=discipline)
    cross = Flow("cross", (2, 3), CBR(500.0), start=0.01, host="unshaped")
    scenario = replace(scenario, flows=(*scenario.flows, cross), min_rto=0.05)
    run = plain_simulate(scenario, duration=0.25, sample=0.01, method=Fluid())
    assert run.imbalance.max() == 0.0
    for values in (run.window, run.queued, run.in_transit, run.lost, run.backlog):
        assert np.isfinite(values).all()
        assert values.min() >= 0.0
    assert run.window[0].max() > 4.0
    assert run.peak_queue.max() <= 10.0
    assert (run.carried.sum(axis=0) <= 2000.0 * 0.25 * (1 + 1e-12)).all()


def receiver_of(broken: float, packets: float) -> tuple[Any, Any, Any]:
    """Return flow, log and holes of a receiver to which ``packets`` were sent."""
    plan = plan_of(one_flow(Listener()))
    flow = plan.network.flows.view(np.recarray)[0]
    log, holes = (each.view(np.recarray) for each in plan.transport[2:4])
    flow.fractional_loss = broken
    assert tcp_sender.emit(flow, log, 0.0, packets)
    return flow, log, holes


def taken_in(pieces, broken: float) -> tuple[np.ndarray, float]:
    """Return which packets a receiver misses after (arrived, gone) pieces of new data, and its ACKs."""
    flow, log, holes = receiver_of(broken, sum(map(sum, pieces)))
    acks = [tcp_receiver.receive(flow, log, holes, *piece, 2.0**-26)[0] for piece in pieces]
    first = flow.holes_at
    return holes.missing[first : first + int(flow.rcv_max)], sum(acks)


@pytest.mark.parametrize("broken", [0.0, 0.6])
def test_packets_are_lost_whole(broken: float) -> None:
    """Where half is missing, every other packet, however the stream is cut; U stands at the first."""
    holes, acks = taken_in([(10.0, 0.0), (0.7, 0.7), (3.8, 3.8), (0.5, 0.5)], broken)
    assert set(holes) <= {0.0, 1.0}
    assert (holes[:10] == 0.0).all()
    assert (np.diff(np.flatnonzero(holes)) == 2).all()
    assert holes.sum() + acks == pytest.approx(20.0)
    assert abs(holes.sum() - 5.0) <= 1.0


def test_part_of_a_packet_is_lost_by_chance() -> None:
    """0.3 of one in twenty: in three of ten runs whose chances are spread evenly."""
    lost = [taken_in([(19.7, 0.3)], start)[0].sum() for start in np.arange(0.05, 1.0, 0.1)]
    assert sorted(lost) == [0.0] * 7 + [1.0] * 3


def test_a_packet_sent_again_fills_its_own_hole() -> None:
    """And U jumps over what was received to the next one."""
    flow, log, holes = receiver_of(0.0, 8.0)
    tcp_receiver.receive(flow, log, holes, 4.0, 4.0, 2.0**-26)
    assert flow.rcv_nxt == 1.0
    tcp_sender.emit(flow, log, 1.0, 2.0)  # the hole at 1, and 2, which is there
    assert tcp_receiver.receive(flow, log, holes, 2.0, 0.0, 2.0**-26) == (2.0, 1.0)
    assert flow.rcv_nxt == 3.0


@pytest.mark.parametrize("source", [NewReno(), TIMELY()])
def test_a_round_trip_through_an_interface_does_not_depend_on_the_buffer_of_its_link(
    source: Any,
) -> None:
    """What waits there has no bound: emissions are remembered for as long as windows last, or as memory does."""
    found = []
    for buffer in (200, 100_000):
        rule = PFC(xoff=20, xon=10)
        links = [Link("h", "s", 1e5, 1e-4, buffer, rule), Link("s", "d", 2e3, 1e-4, 200, rule)]
        flows = [Flow(str(n), ("h", "s", "d"), source, 5000.0) for n in range(2)]
        run = simulate(Scenario("host", links, flows, duration=2.0), Fluid(), sample=0.05)
        found.append(run.round_trip)
    np.testing.assert_array_equal(*found)
    assert np.nanmax(found[0]) > 0.9  # beyond what 400 packets take


# Stretches of losses at a queue, as the receiver finds them.


def stretch(first: float, end: float, lost: float) -> np.recarray:
    return np.rec.array([(first, end, lost, 0.0)], names="first,end,lost,marked")


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        (4.99, (0.01, 1.0)),  # before the stretch nothing is lost
        (5.0, (3.0, 4.0 / 3.0)),  # in it three of four packets leave
        (7.99, (0.0, 1.0)),  # at its end what is left is lost
    ],
)
def test_packets_leave_up_to_where_the_density_of_losses_changes(cursor, expected) -> None:
    queue = SimpleNamespace(losses_first=0, losses_end=1, cursor=cursor)
    left, came_each = up_to_next_change(queue, stretch(5.0, 9.0, 1.0 if cursor < 7.0 else 1.5))
    assert (left, came_each) == pytest.approx(expected)


def test_without_losses_nothing_changes() -> None:
    queue = SimpleNamespace(losses_first=2, losses_end=2, cursor=0.0)
    assert up_to_next_change(queue, stretch(0.0, 1.0, 0.5)) == (math.inf, 1.0)


# What is left at the end of a fluid run adds up.


@pytest.mark.parametrize(
    "discipline", [RED(low=5, high=15), Priority(), PFC(xoff=30, xon=20)], ids=str
)
def test_drops_by_cause_add_up_to_the_losses(discipline) -> None:
    links = chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=discipline)
    flows = [Flow("a", (1, 2, 3), CBR(1.5e3)), Flow("b", (2, 3), CBR(800.0), priority=1)]
    run = simulate(Scenario("two", links, flows, duration=1.0), level="fluid")
    assert run.lost.sum() > 0.0
    for f in range(2):
        for n, link in enumerate(run.scenario.links[:2]):
            own = run.dropped[(run.dropped["flow"] == f) & (run.dropped["link"] == n)]
            assert own["packets"].sum() == run.lost[f, n].sum(), link.name
    assert run.dropped["first"].min() == pytest.approx(np.nanmin(run.first_loss), abs=1e-12)


def test_packets_inside_are_those_sent_and_neither_lost_nor_delivered() -> None:
    """Of a constant rate over an empty path: what its delays hold; of a window also ACKs, a window in all."""
    links = chain(3, rate=1e4, delay=1e-2, buffer=200)
    rate = Flow("rate", (1, 2, 3), CBR(1e3))
    window = Flow("window", (1, 2, 3), NewReno(), max_window=8.0)
    run = simulate(Scenario("two", links, [rate, window], duration=1.0), Fluid(steps_per_delay=16))
    assert run.inside[0] == pytest.approx(1e3 * 2e-2, abs=1.0)  # with half of a packet per link
    assert run.emitted[0] == pytest.approx(1e3, abs=1.0)
    assert run.inside[1] == pytest.approx(8.0, abs=1.0)  # within a step: 16 make a delay


def test_what_waits_without_pauses_is_not_recorded() -> None:
    links = [Link(1, 2, 1e3, 1e-3, 50)]
    run = simulate(
        Scenario("one", links, [Flow("a", (1, 2), CBR(2e3))], duration=0.5), level="fluid"
    )
    assert run.queued[0, -1] > 40.0
    assert len(run.remaining) == 0
