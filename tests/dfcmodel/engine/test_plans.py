"""Plans of the fluid: arrays of a scenario, times of feedback, and how they are run."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    RED,
    DelayTrace,
    Fair,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    Priority,
    RampMarking,
    RateTrace,
    Scenario,
    StepMarking,
    Twin,
    chain,
    load_scenario,
    save_scenario,
    simulate,
    takano2006,
)
from dfcmodel.engine import run as fluid_run
from dfcmodel.engine.kernel.records import (
    FAIR_SHARES,
    PER_FLOW_RATE,
    PER_INPUT,
    SHARED_FIFO,
)
from dfcmodel.engine.plan import (
    SPARE_ROWS,
    FluidPlan,
    finest_quantum,
    power_of_two,
    queue_types,
    queues_with_delay,
    steps_of_delay,
)
from dfcmodel.engine.settings import double_steps, with_expected_marks
from dfcmodel.network.queueing.disciplines import Discipline
from dfcmodel.results import Trajectory
from hopflow import maximum, mbps, us, where
from responsefn import AIMD, CUBIC, DCQCN, DCTCP, NewReno, RateRule, Reno, Vegas, WindowRule
from tests.oracles.engines import ENGINES, compile_scenario

# Plans: delays in whole steps, amounts that add up exactly, tables at t = 0.

ONE_RATE = Scenario("rate", chain(2, rate=1e3, delay=1e-3, buffer=9), [Flow("one", (1, 2), CBR(100.0))], 0.1)


def plan_of(scenario: Scenario, fluid: Fluid | None = None, seed: int = 0) -> FluidPlan:
    return compile_scenario(scenario, fluid or Fluid(), np.random.default_rng(seed))


def test_a_delay_is_rounded_to_steps_with_a_warning_up_to_one_percent() -> None:
    assert steps_of_delay("delay", 0.3, 0.1) == 3
    with pytest.warns(UserWarning, match=r"delay = 0.1005 s is rounded to 10 steps .* 0\.5 % off"):
        assert steps_of_delay("delay", 0.1005, 0.01) == 10
    with pytest.raises(ValueError, match=r"delay = 0.102 s: must be a multiple of the step 0.01 s"):
        steps_of_delay("delay", 0.102, 0.01)


@pytest.mark.parametrize("name", ["1", "4", "6"])
def test_every_sum_of_amounts_is_exact(name: str) -> None:
    """A number of packets is below 2^53 quanta, also all that two hosts emit in the whole run."""
    scenario = takano2006(name)
    quantum = finest_quantum(scenario, scenario.duration)
    assert math.frexp(quantum)[0] == 0.5
    emitted = 2.0 * scenario.links[0].rate * scenario.duration
    assert emitted / quantum < 2.0**53
    assert quantum <= 2.0**-20


def test_rates_per_step_are_whole_quanta_just_below_the_links() -> None:
    plan = plan_of(takano2006("1", dfc=False))
    rate = plan.scenario.links[0].rate * plan.step
    quanta = plan.network.links["rate"] / plan.quantum
    np.testing.assert_array_equal(quanta, np.floor(quanta))
    assert np.all((plan.network.links["rate"] <= rate) & (plan.network.links["rate"] > rate - plan.quantum))


def test_a_direct_host_is_not_limited_and_an_unshaped_one_has_the_rate_of_its_link() -> None:
    for host, wanted in (("direct", math.inf), ("unshaped", 250.0)):
        flow = Flow("one", (1, 2), CBR(10.0), host=host)
        links = chain(2, rate=1e6, delay=1e-3, buffer=9)
        plan = plan_of(Scenario("host", links, [flow], duration=0.1))
        assert plan.network.queues["service"][0] == pytest.approx(wanted, rel=1e-6)


def test_a_link_is_longer_by_half_a_transmission_time_unless_switched_off() -> None:
    """Store-and-forward: a packet of 6.25 ms on a link of 10 ms; DFC's delays are those of its law.

    Of a packet of 1 ms, where a step of 2.5 ms holds several, 0.2 steps are rounded to whole ones.
    """
    without = Fluid(store_and_forward=False)
    for rate, fluid, there in ((160.0, Fluid(), 5.25), (160.0, without, 4.0), (1e3, Fluid(), 4.0)):
        links = chain(2, rate=rate, delay=1e-2, buffer=9)
        scenario = Scenario("half", links, [Flow("one", (1, 2), CBR(10.0))], duration=0.1)
        plan = plan_of(scenario, fluid)
        # the fraction of a step of the return path is added to the forward path
        assert plan.round_trips()[0] == pytest.approx(2 * there)
    assert plan_of(takano2006("1")).network.queues["weight"][:-1].min() == 1.0


# Numbering of the per-flow queues: delays between them, order of flows.


def two_flows(discipline, **second) -> Scenario:
    flows = (Flow("a", (1, 2, 3), CBR(1.0)), Flow("b", (2, 3), CBR(1.0), **second))
    links = chain(3, rate=100.0, delay=1e-3, buffer=500, discipline=discipline)
    return Scenario("two flows", links, flows)


def test_a_fifo_chain_of_equal_links_queues_where_packets_enter() -> None:
    """takano2006, scenario 1: all other nodes receive packets over one link of their own rate."""
    plan = plan_of(takano2006("1", dfc=False))
    assert sorted(plan.order) == [0, 14]
    assert set(plan.queue_of) == {(0, 0), (0, 14), (1, 14)}
    assert np.count_nonzero(plan.hop_queues() == -1) == 27 + 14


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
@pytest.mark.parametrize("dfc", [True, False])
def test_delays_between_queues_add_up_to_that_of_the_path(dfc: bool, host: str) -> None:
    if host == "shaped" and not dfc:
        pytest.skip("a shaped host needs DFC")
    scenario = takano2006("4S", dfc=dfc, host=host)
    plan = plan_of(scenario, Fluid(store_and_forward=False))
    for f, (flow, record) in enumerate(zip(scenario.flows, plan.network.flows, strict=True)):
        queues = [f, *plan.network.path[record["path_first"] : record["path_end"]]]
        access = 0 if host == "direct" else 4
        assert plan.network.queues["lag"][queues].sum() == 4 * len(flow.hops) + access
        assert plan.network.origin[queues[1:]].tolist() == queues[:-1]
        assert plan.next_queue[queues].tolist() == [*queues[1:], -1]


def test_flows_are_grouped_by_priority_the_lowest_number_first() -> None:
    plan = plan_of(two_flows(Priority(), priority=-1))
    assert [plan.flow_of_band(band) for band in plan.bands_at(plan.position[1])] == [1, 0]


# Records of links and queues: rates and buffers on the grid, rooms of classes, steps that orders remember.


def plan_of_two_flows(rule, *, shared: bool = True, priorities: tuple[int, ...] = (0, 1)) -> FluidPlan:
    """Return the plan of two flows over two links, which meet at the second."""
    links = (
        Link("a", "b", 2000.0, 4e-3, 90.0, rule, shared),
        Link("b", "c", 1000.0, 4e-3, 90.0, rule, shared),
    )
    flows = [
        Flow(f"{n}", "abc"[n:], CBR(900.0), priority=priority, host="unshaped") for n, priority in enumerate(priorities)
    ]
    scenario = Scenario("two", links, flows)
    return plan_of(scenario)


@pytest.mark.parametrize(("shared", "buffers"), [(True, 1), (False, 2)])
def test_orders_last_as_long_as_all_buffers_of_a_link(shared: bool, buffers: int) -> None:
    """A full buffer lasts 90 steps of 1 ms, those of two flows 180."""
    rows = plan_of_two_flows(FIFO(), shared=shared).service.rows
    assert len(rows) == power_of_two(90 * buffers + SPARE_ROWS)


def test_rooms_are_those_of_the_scenario_and_of_what_comes_in_a_step() -> None:
    plan = plan_of_two_flows(PFC((1,), 10.0, 5.0))
    for i, n in enumerate(plan.order):
        rooms = plan.scenario.rooms(n)
        step = sum(plan.scenario.feeding(u).rate * plan.step for u, _ in rooms)
        expected = plan.scenario.reserved(n) + step
        assert plan.network.links["reserved"][i] == pytest.approx(expected, abs=plan.quantum)
        assert bool(rooms) == (plan.network.links["end_ingress"][i] > 0)


def test_a_manager_of_one_class_sees_its_queue() -> None:
    rule = PFC((1,), 10.0, 5.0, manager=RED(), managed=0)
    plan = plan_of_two_flows(rule, priorities=(0, 1))
    last = plan.network.links[plan.position[1]]
    (managed,) = range(last["first_managed"], last["end_managed"])
    assert plan.scenario.flows[plan.flow_of_band(managed)].priority == 0


# Which links queue, how each serves its queues, and what the engine refuses.


@pytest.mark.parametrize(
    ("discipline", "queue_type"),
    [
        (FIFO(), SHARED_FIFO),
        (Pause(50.0, 25.0), SHARED_FIFO),
        (RED(), SHARED_FIFO),
        (Fair(), FAIR_SHARES),
        (Priority(), FAIR_SHARES),
        (DFC(), PER_FLOW_RATE),
        (DFC(per="input"), PER_INPUT),
    ],
    ids=repr,
)
def test_the_queue_type_of_a_link_with_two_flows(discipline, queue_type: int) -> None:
    assert queue_types(two_flows(discipline))[1] == queue_type


def test_a_fifo_link_with_one_flow_is_served_at_a_rate_of_its_own() -> None:
    assert queue_types(two_flows(FIFO()))[0] == PER_FLOW_RATE


def test_a_slower_link_behind_a_faster_one_queues() -> None:
    scenario = replace(two_flows(FIFO()), flows=(Flow("a", (1, 2, 3), Reno()),))
    assert queue_types(scenario) == [PER_FLOW_RATE, None]
    slow = (scenario.links[0], replace(scenario.links[1], rate=50.0))
    assert queue_types(replace(scenario, links=slow)) == [PER_FLOW_RATE, PER_FLOW_RATE]


# When a pause acts: at the instant at which a message that left at a threshold has come, not at a step.

SLOW = 40.0  # packets/s over the link whose queue fills
PLAIN = Fluid(store_and_forward=False)


@pytest.mark.parametrize("high", [100.0, 101.3, 250.77])
@pytest.mark.parametrize("metres", [5.0, 300.0, 1e4])
@pytest.mark.parametrize("gigabits", [10.0, 100.0, 400.0, 800.0])
def test_overshoot_is_the_rate_times_the_closed_loop(gigabits: float, metres: float, high: float) -> None:
    """Two cables and the response, 905 quanta of 512 bits (IEEE 802.3, 31B) or 1.3 ns, at four steps per delay.

    1e-4: meanwhile 40 packets/s leave, at 10 Gb/s 5e-5 of the rate.
    """
    rate, cable = gigabits * 1e9 / 12_000, metres / 2e8
    for response in (905 * 512 / (gigabits * 1e9), 1.3e-9):
        links = (
            Link("a", "b", rate, cable, 1e6, FIFO()),
            Link("b", "c", SLOW, cable, 1e6, Pause(high=high, low=50.0, signalling=response)),
        )
        flow = Flow("one", ("a", "b", "c"), CBR(rate), host="direct")
        loop = 2 * cable + response
        run = simulate(Scenario("s", links, [flow], 2 * loop + 2 * high / rate), PLAIN)
        assert run.peak_queue[1] - high == pytest.approx(rate * loop, rel=1e-4)


@pytest.mark.parametrize("signalling", [0.0, 0.37e-3])
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_times_of_pauses_are_those_of_the_saw_tooth(steps: int, signalling: float) -> None:
    """Up at 4000 packets/s, down at 6000 while nothing comes: closed form, whatever the step."""
    high, low, up, down, delay = 41.3, 22.7, 4e3, 6e3, 1e-3
    rule = Pause(high=high, low=low, signalling=signalling)
    links = chain(4, rate=1e4, delay=delay, buffer=1e3, discipline=rule)
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(up), host="direct"),
    ]
    run = simulate(
        Scenario("saw-tooth", links, flows, 0.1),
        Fluid(steps_per_delay=steps, store_and_forward=False),
    )
    table = run.pauses().to_pandas()
    table = table[~table.lasting]
    assert len(table) > 3
    lag = 2 * delay + signalling  # from a threshold until what it did has come
    falls, rises = (high - low + lag * up) / down, (high - low + lag * down) / up
    begin = delay + high / up + delay + signalling
    expected = []
    for _ in range(len(table)):
        expected.append((begin, begin + lag + falls))  # the queue grows for a lag after `high`
        begin = expected[-1][1] + lag + rises
    for (first, last), (wanted, ended) in zip(table[["begin", "end"]].to_numpy(), expected, strict=True):
        assert (first, last) == pytest.approx((wanted, ended), abs=1e-8)


def test_quanta_last_as_long_as_they_are() -> None:
    """A queue that never empties is paused without a gap; one that does, for whole numbers of quanta."""
    quanta = 1.2345e-3  # s: 482 quanta of 512 bits are not whole steps
    number = round(quanta * 1e4 * 12_000 / 512)
    lasts = number * 512 / (1e4 * 12_000)
    links = chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=Pause(41.3, 22.7, quanta=number))
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(4e3), host="direct"),
    ]
    run = simulate(Scenario("quanta", links, flows, 0.1), PLAIN)
    table = run.pauses().to_pandas()
    times = table[~table.lasting].duration.to_numpy() / lasts
    assert len(times) > 3
    np.testing.assert_allclose(times, np.round(times), atol=1e-9)
    assert times.min() > 0.5
    assert abs(lasts / run.step - round(lasts / run.step)) > 0.01


def test_pauses_shorter_than_a_step_are_renewed_without_a_gap() -> None:
    """One quantum, a 60th of a step, ends in the quantum in which the queue has come down to low."""
    flows = [
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(4e3), host="direct"),
    ]
    both = [
        simulate(
            Scenario("s", chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=rule), flows, 0.1),
            PLAIN,
        )
        for rule in (Pause(41.3, 22.7), Pause(41.3, 22.7, quanta=1))
    ]
    told, renewed = (run.pauses().to_pandas()[:3] for run in both)
    assert len(told) == len(renewed) == 3
    late = (renewed.end - told.end).to_numpy()
    assert late[0] == pytest.approx(0.0, abs=512 / (1e4 * 12_000))
    assert late[0] >= 0.0
    assert all(a <= b for a, b in itertools.pairwise(late))  # and each is later by its own


# Schedules of feedback: one message per period and link, phases of the nodes, delays of pauses.


def with_law(**law) -> Scenario:
    scenario = takano2006("4S")
    return replace(scenario, links=tuple(replace(link, discipline=DFC(**law)) for link in scenario.links))


def slots(plan: FluidPlan) -> np.ndarray:
    """Number of links whose rates are set in each slot of the period."""
    return plan.feedback.slots["receive_end"].astype(int) - plan.feedback.slots["receive_one"].astype(int)


def test_synchronous_clocks_tick_together() -> None:
    plan = plan_of(with_law(phases="synchronous"))
    assert plan.feedback.clocks["period"].tolist() == [4]
    assert slots(plan).tolist() == [len(plan.links), 0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_every_link_has_one_tick_per_period(seed: int) -> None:
    plan = plan_of(with_law(), seed=seed)
    assert slots(plan).sum() == len(plan.links)
    assert np.count_nonzero(slots(plan)) > 1


def test_phases_are_those_of_the_seed() -> None:
    one, same, other = (plan_of(with_law(), seed=seed).feedback.receiving for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_pause_takes_the_delay_of_the_paused_link_and_the_signalling() -> None:
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0, signalling=2e-3))
    flow = Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")
    scenario = Scenario("pause", links, [flow], duration=0.1)
    found = plan_of(scenario).feedback.pauses
    # the host by the first queue, the first link by the second queue: 1 ms + 2 ms
    assert found[["pausing", "paused", "wait"]].tolist() == [(0, -1, 12), (1, 0, 12)]
    assert found[["high", "low", "part"]].tolist() == [(50.0, 25.0, 0.0)] * 2


def test_pauses_take_effect_within_a_step() -> None:
    """1 ms and 2.1 ms of signalling in steps of 0.25 ms: 12 steps and four tenths."""
    law = Pause(50.0, 25.0, signalling=2.1e-3)
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=law)
    scenario = Scenario("pause", links, [Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")], 0.1)
    found = plan_of(scenario).feedback.pauses
    assert found["wait"].tolist() == [12, 12]
    assert found["part"] == pytest.approx([0.4, 0.4])


def test_a_direct_host_is_not_paused() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0))
    scenario = Scenario("pause", links, [Flow("one", (1, 2), CBR(1.0))], duration=0.1)
    assert len(plan_of(scenario).feedback.pauses) == 0


def test_quanta_need_not_be_whole_steps() -> None:
    """Four quanta of 512 bit times at 120 Mb/s are 17 microseconds; a step is 25."""
    links = chain(3, rate=mbps(120), delay=us(100), buffer=400, discipline=Pause(30.0, 10.0, quanta=4))
    scenario = Scenario("quanta", links, [Flow("one", (1, 2, 3), CBR(1500.0))], duration=0.01)
    plan = plan_of(scenario)
    assert plan.step == pytest.approx(25e-6)
    assert plan.feedback.pauses["quanta"] * plan.step == pytest.approx(4 * 512 / 120e6)


# Marks and rates: senders that see what feedback carries, in networks.


def star(sources, discipline: Discipline, rate: float, delay: float, **changes) -> Scenario:
    """Return senders with fast access links that share one link."""
    access = changes.pop("access", 1e-6)
    links = [Link(f"s{n}", "left", 4 * rate, access, 1e6) for n in range(len(sources))]
    links.append(Link("left", "right", rate, delay, 1e5, discipline))
    flows = [
        Flow(f"{n}", (f"s{n}", "left", "right"), source, max_window=2000, start=1e-4 * n)
        for n, source in enumerate(sources)
    ]
    return Scenario("star", links, flows, **{"duration": 0.1, **changes})


LONG = {"access": 1e-3, "duration": 2.0}


@pytest.mark.parametrize("flows", [1, 2])
def test_queue_of_dctcp_is_the_published_sawtooth(flows: int) -> None:
    """Alizadeh et al. 2010, eqs. 8 to 10: K + N at most, amplitude sqrt(2 N (C RTT + K)) / 2.

    The amplitude takes alpha small, sqrt(2 / W) = 0.14 to 0.2 of one here: both in its second order, a few
    packets, and in whole round trips, of which a cycle has about ten.
    """
    K, C = 65.0, mbps(10_000)
    scenario = star([DCTCP()] * flows, StepMarking(K), C, 2e-5)
    run = simulate(scenario, method=Fluid(1), sample=1e-5)
    queue = run.queued[-1][len(run.time) // 2 :]
    pipe = C * scenario.base_rtt(scenario.flows[0]) + K
    assert queue.max() == pytest.approx(K + flows, abs=0.5)
    assert np.ptp(queue) == pytest.approx(0.5 * math.sqrt(2 * flows * pipe), rel=0.35)
    assert run.lost.sum() == 0.0
    assert queue.min() > 0.0  # so that the link is never idle


class Counting(WindowRule):
    """Halves at losses, counts ACKs and marks, and does nothing about these."""

    class State(NamedTuple):
        cwnd: float = 1.0
        ssthresh: float = math.inf
        acks: float = 0.0
        marks: float = 0.0

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd), ssthresh=maximum(2.0, 0.5 * s.cwnd))

    @staticmethod
    def on_mark(s, q, e):
        return s._replace(acks=s.acks + e.acks, marks=s.marks + e.marks)


def test_rules_without_on_mark_answer_marks_as_losses_once_per_window() -> None:
    run = simulate(star([Reno()], StepMarking(20.0), 1e4, 1e-3, **LONG), level="fluid")
    assert run.lost.sum() == 0.0
    # from 30 to 60 packets, a pipe of 40 and 20 that wait, by one each round trip of 4 to 6 ms
    assert 2.0 / (30 * 6e-3) - 1 < run.loss_events[0] < 2.0 / (30 * 4e-3) + 1
    assert run.queued[-1][run.time > 0.5].max() < 25.0


class Marked(Counting):
    """Told of marks by its signal: a tenth for a marked window, half for a loss, by the default."""

    signal = "mark"
    on_mark = WindowRule.on_mark

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.9 * s.cwnd), ssthresh=maximum(2.0, 0.9 * s.cwnd))


def test_a_rule_whose_signal_is_a_mark_answers_a_marked_window_by_on_loss() -> None:
    run = simulate(star([Marked()], StepMarking(20.0), 1e4, 1e-3, **LONG), level="fluid")
    assert run.lost.sum() == 0.0
    late = run.window[0][run.time > 0.5]
    assert 0.9**2 < late.min() / late.max() < 0.9 * 1.02  # one reduction or two, of a tenth


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_marks_reduce_the_window_of_cubic_below_the_two_packets_of_a_loss(level: str) -> None:
    """RFC 9438, Sect. 4.6, Figure 5: at least one packet after a mark, two after a loss."""
    run = simulate(star([CUBIC()] * 4, StepMarking(0.5), 1e3, 1e-3, access=1e-4, duration=5.0), level=level)
    assert run.timeouts.sum() == run.lost.sum() == 0
    assert 1.0 <= run.window[:, run.time > 0.5].min() < 1.9


def test_a_rule_that_writes_on_mark_decides_itself() -> None:
    """Marks that it only counts do not keep the queue short."""
    run = simulate(star([Counting()], StepMarking(20.0), 1e4, 1e-3, **LONG), level="fluid")
    assert run.loss_events[0] == 0
    assert run.queued[-1].max() > 1500.0  # of a largest window of 2000


@pytest.fixture(scope="module", params=[(40_000, 2), (100_000, 4)], ids=str)
def roce(request) -> Trajectory:
    """DCQCN senders with the parameters of the paper, at 40 and 100 Gb/s."""
    speed, flows = request.param
    scenario = star([DCQCN()] * flows, RampMarking(), mbps(speed), 1e-6, duration=0.4)
    return simulate(scenario, method=Fluid(1), sample=1e-4)


def test_dcqcn_in_a_network_is_at_the_published_fixed_point(roce) -> None:
    """The marked part of the packets, in the mean over time, while the queue stays on the ramp.

    It is 5 to 10 % below the fluid model's, which has no variance, at steps of 1 to 1/8 us.
    """
    rate = roce.scenario.links[-1].rate / len(roce.scenario.flows)
    rule, queue = RampMarking(), roce.queued[-1][roce.time > 0.2]
    assert queue.max() < rule.high
    p = rule.max_p * np.clip(queue - rule.low, 0.0, None) / (rule.high - rule.low)
    marked = np.geomspace(1e-5, 1e-1, 2001)
    expected = np.interp(-rate, -DCQCN().rate(marked), marked)
    assert p.mean() == pytest.approx(expected, rel=0.15)


def test_dcqcn_senders_share_without_losses(roce) -> None:
    assert roce.lost.sum() == 0.0
    assert roce.imbalance.max() == 0.0
    goodput = roce.delivered[:, -1] / roce.time[-1]
    assert goodput.sum() == pytest.approx(roce.scenario.links[-1].rate, rel=0.1)
    assert goodput.min() / goodput.max() > 0.8
    np.testing.assert_allclose(roce.rate.mean(axis=1), goodput, rtol=0.1)
    assert roce.window.max() == 0.0
    assert "rate" in roce.to_xarray()


def test_uncompiled_senders_agree_to_the_last_bit() -> None:
    sources = [DCQCN(timer=1e-3, additive=500.0), DCTCP(), Counting(), NewReno()]
    scenario = star(sources, RampMarking(3.0, 30.0, 0.1), 1e4, 1e-3, access=1e-3, duration=0.1)
    fast, slow = (run(scenario, method=Fluid(2)) for run in ENGINES)
    assert fast.queued[-1].max() > 3.0
    for key in ("in_transit", "delivered", "window", "rate", "queued", "loss_events"):
        np.testing.assert_array_equal(getattr(fast, key), getattr(slow, key), err_msg=key)


class Steady(RateRule):
    """A rate that the sender sets itself: a tenth of the line, more with each ACK."""

    class Params(NamedTuple):
        part: float = 0.1
        more: float = 0.0

    def start(self, line_rate):
        return super().start(self.params.part * line_rate)

    @staticmethod
    def on_feedback(s, q, e):
        return s._replace(rate=s.rate + q.more * e.acks)


def test_rate_is_what_is_sent_and_what_is_lost_is_not_sent_again() -> None:
    links = [Link(1, 2, 1e4, 1e-3, 50.0), Link(2, 3, 1e3, 1e-3, 50.0, FIFO())]
    flow = Flow("a", (1, 2, 3), Steady(part=0.2), size=400.0)
    run = simulate(Scenario("lossy", links, [flow], duration=1.0), level="fluid")
    emitted = 400.0
    assert run.delivered[0, -1] + run.lost.sum() == pytest.approx(emitted, abs=1e-6)
    assert run.lost.sum() == pytest.approx(400.0 - 0.2 * 1e3 - 50.0, rel=0.05)
    assert np.isnan(run.finished[0])


def test_rates_never_exceed_the_line_and_transfers_end() -> None:
    links = [Link(1, 2, 1e4, 1e-3, 50.0)]
    flow = Flow("a", (1, 2), Steady(part=0.5, more=1e3), size=1000.0)
    run = simulate(Scenario("fast", links, [flow], duration=0.5), level="fluid")
    assert run.rate.max() == 1e4
    assert run.lost.sum() == 0.0
    assert 0.1 < float(run.completion_times().completion_time[0]) < 0.12


def test_the_twin_and_ns2_refuse_rate_rules_and_files_keep_them(tmp_path) -> None:
    scenario = Scenario("one", [Link(1, 2, 1e4, 1e-3, 50.0)], [Flow("a", (1, 2), DCQCN())])
    with pytest.raises(ValueError, match=r"flow 'a' with DCQCN\(\)"):
        simulate(scenario, Packets(convention="ns2"))
    links = chain(3, rate=1e4, delay=1e-3, buffer=50.0, discipline=DFC())
    with pytest.raises(TypeError, match="DCQCN"):
        Twin(Scenario("law", links, [Flow("a", (1, 2, 3), DCQCN())]))
    path = save_scenario(scenario, tmp_path / "rate.toml")
    assert load_scenario(path) == scenario
    changed = Flow("a", (1, 2), DCQCN(additive=10.0))
    path = save_scenario(Scenario("two", scenario.links, [changed]), tmp_path / "other.toml")
    assert load_scenario(path).flows[0] == changed
    assert load_scenario(path).flows[0].source != DCQCN()
    assert AIMD() != DCQCN()


@pytest.mark.parametrize("rule", [CUBIC(), Vegas()])
def test_rules_of_time_and_round_trip_time_are_told_them_in_this_order(rule) -> None:
    """The compiled engine and the same code as plain Python, to rounding."""
    links = (Link("a", "b", 1000.0, 5e-3, 20), Link("b", "c", 500.0, 5e-3, 20))
    scenario = Scenario("one", links, (Flow("f", "abc", rule, 100.0),), duration=0.7)
    one, other = (run(scenario, Fluid()) for run in ENGINES)
    np.testing.assert_allclose(one.window, other.window, rtol=1e-9)
    assert np.ptp(one.window) > 5.0


# Rates and delays over time as changes at whole steps.


def path_of(trace: RateTrace | DelayTrace) -> Scenario:
    """Return a flow over two links, the second of which has a rate or a delay over time."""
    links = [Link("a", "b", 5000.0, 1e-3, 1000), Link("b", "c", 1000.0, 1e-3, 200)]
    flow = Flow("flow", ("a", "b", "c"), CBR(500.0))
    return Scenario("path", links, [flow], duration=10.0, elements=(trace,))


def test_changes_of_the_fluid_are_at_whole_steps_of_each_period() -> None:
    trace = RateTrace("b->c", (0.0, 0.25), (800.0, 400.0), period=1.0)
    plan = compile_scenario(path_of(trace), Fluid(), np.random.default_rng(0), duration=2.0)
    changes = fluid_run._rate_changes(plan, round(2.0 / plan.step))
    times = np.array(sorted(changes)) * plan.step
    np.testing.assert_allclose(times, [0.0, 0.25, 1.0, 1.25], atol=plan.step)
    rates = [rate / plan.step for step in sorted(changes) for rate in changes[step].values()]
    np.testing.assert_allclose(rates, [800.0, 400.0, 800.0, 400.0], rtol=1e-4)


def test_a_way_becomes_shorter_by_a_step_in_each_step_and_longer_at_once() -> None:
    trace = DelayTrace("b->c", (0.0, 0.5, 1.0), (0.0, 0.01, 0.004), flows=("flow",))
    scenario = path_of(trace)
    plan = compile_scenario(scenario, Fluid(), np.random.default_rng(0), duration=2.0)
    (queue,) = queues_with_delay(plan)
    assert (queue.number, queue.trace) == (plan.network.origin[plan.queue_of[0, 1]], trace)
    assert len(plan.network.wire) * plan.step > 0.01  # holds the packets of the largest delay
    changes = fluid_run._delay_changes(plan, round(2.0 / plan.step))
    late = {step: lengths for step, lengths in changes.items() if step * plan.step > 0.4}
    lengths = sorted({length for each in late.values() for length in each.values()})
    assert lengths == pytest.approx([queue.steps + 0.004 / plan.step, queue.steps + 0.01 / plan.step])
    assert min(late) == pytest.approx(0.5 / plan.step - queue.steps, abs=1.0)
    assert len(late) == pytest.approx(1 + 0.006 / plan.step, abs=1.0)


def test_first_order_errors_are_estimated_from_above() -> None:
    """The change is the error then, which falls by half with each doubling."""
    for accuracy in (0.3, 0.1, 0.01):
        found = double_steps(lambda m: m, lambda m: np.array([3.0 / m]), accuracy, 1, 4096)
        assert found.error <= accuracy
        assert 3.0 / found.steps_per_delay <= found.error
        assert 2 * 3.0 / found.steps_per_delay > accuracy / 4  # no finer than needed by much


def test_a_change_that_is_small_once_does_not_convince() -> None:
    values = iter([1.0, 2.0, 2.0, 2.0, 5.0])
    found = double_steps(lambda m: m, lambda _: np.array([next(values)]), 0.1, 4, 1024)
    assert found.steps_per_delay == 32


LINKS = {
    "FIFO": FIFO(),
    "DFC": DFC(),
    "DFC per input": DFC(per="input"),
    "fair": Fair(),
    "pause": Pause(high=20.0, low=10.0),
    "PFC": PFC(xoff=20.0, xon=10.0),
    "RED": RED(low=5.0, high=15.0),
}


@pytest.mark.parametrize("name", LINKS)
def test_arrays_of_a_run_share_no_memory(name: str) -> None:
    """The loop is compiled for arrays that are apart (`unaliased_entry`)."""
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=LINKS[name])
    flows = [Flow(f"{n}", (1, 2, 3), Reno(), host="unshaped") for n in range(2)]
    plan = compile_scenario(Scenario(name, links, flows, duration=0.1), Fluid(), np.random.default_rng(0))
    groups = fluid_run._kernel_and_arrays(plan, compiled=False)[1]
    named = {
        f"{type(group).__name__}.{field}": getattr(group, field)
        for group in groups
        if not isinstance(group, np.ndarray)
        for field in group._fields
    }
    assert len(named) > 30
    pairs = itertools.combinations(named, 2)
    assert [pair for pair in pairs if np.may_share_memory(named[pair[0]], named[pair[1]])] == []


def test_time_of_a_run_is_without_preparation_and_compilation(monkeypatch) -> None:
    """By a clock that only preparation moves far, and each look at it by a second."""
    clock = itertools.count()
    prepare = fluid_run._kernel_and_arrays

    def slowly(*arguments):
        for _ in range(1000):
            next(clock)
        return prepare(*arguments)

    monkeypatch.setattr(fluid_run.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(fluid_run, "_kernel_and_arrays", slowly)
    run = simulate(takano2006("1"), duration=0.01, level="fluid")
    assert run.seconds == 1.0
    assert "simulated in 1.00 s" in run.summary()["step"]


def test_the_manager_of_pfc_and_steps_have_means() -> None:
    ramp, step = RampMarking(5.0, 200.0, 0.01), StepMarking(20.0, at="departure")
    rule = PFC((0,), xoff=300.0, xon=200.0, headroom=100.0, manager=ramp)
    one = replace(ONE_RATE, flows=(replace(ONE_RATE.flows[0], source=DCQCN()),))
    for given in (rule, step):
        links = [replace(link, discipline=given, buffer=1e6) for link in one.links]
        found: Any = with_expected_marks(replace(one, links=links)).links[-1].discipline
        if given is step:
            assert found == step
        else:
            assert found.manager.fractional
            assert replace(found, manager=ramp) == rule


def test_orders_of_queues_are_no_longer_than_the_run() -> None:
    """Interfaces of hosts have room without bound: of a run of 100 steps 128 are kept."""
    flow = Flow("f", ("a", "b"), NewReno(), host="nic")
    scenario = Scenario("short", [Link("a", "b", 1e3, 0.01, 50)], [flow], duration=0.1)
    plan = plan_of(scenario, Fluid(steps_per_delay=10))
    assert len(plan.service.rows) == 128
