"""Marks and rates: senders that see what feedback carries, in networks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    DFC,
    FIFO,
    Flow,
    Fluid,
    Link,
    Packets,
    RampMarking,
    Scenario,
    StepMarking,
    Twin,
    chain,
    load_scenario,
    save_scenario,
    simulate,
)
from dfcmodel.engine.kernel.records import ON_LOSS, ON_MARK
from dfcmodel.engine.sender_tables import source_events_of
from dfcmodel.network.disciplines import Discipline
from dfcmodel.results import Trajectory
from hopflow import maximum, mbps, where
from responsefn import AIMD, CUBIC, DCQCN, DCTCP, NewReno, RateRule, Reno, Vegas, WindowRule
from responsefn.responses.rule_events import signature_of
from tests.oracles.engines import ENGINES


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


def test_dctcp_keeps_marks_and_losses_apart() -> None:
    """One loss event halves the window, however small alpha is (RFC 8257, 3.5)."""
    table = source_events_of((signature_of(DCTCP()),), compiled=False)[0]
    record = _Record(cwnd=100.0, ssthresh=50.0, state=[0.01, 200.0], parameters=[1 / 16])
    table[ON_LOSS](record, 1.0, 0.01, 0.0, 0.0)
    assert record.cwnd == 50.0
    record = _Record(cwnd=100.0, ssthresh=50.0, state=[0.01, 200.0], parameters=[1 / 16])
    table[ON_MARK](record, 1.0, 0.01, 10.0, 8.0)
    assert record.cwnd == pytest.approx(100.0 * (1.0 - 0.5 * (0.01 + 8 / 16 / 100)))


class _Record:
    """What an event needs of a flow's record."""

    def __init__(self, cwnd: float, ssthresh: float, state: list[float], parameters: list[float]):
        self.cwnd, self.ssthresh = cwnd, ssthresh
        self.rule_state = np.array(state + [0.0] * (14 - len(state)))
        self.parameters = np.array(parameters + [0.0] * (16 - len(parameters)))


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
    assert source_events_of((signature_of(Reno()),), compiled=False)[0, ON_MARK] == 0
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
    table = source_events_of((signature_of(Marked()),), compiled=False)[0]
    record = _Record(cwnd=100.0, ssthresh=50.0, state=[0.0, 0.0], parameters=[])
    table[ON_LOSS](record, 1.0, 0.01, 0.0, 0.0)
    assert record.cwnd == 50.0


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
    scenario = Scenario("one", links, (Flow("f", "abc", rule, 100.0),), duration=1.5)
    one, other = (run(scenario, Fluid()) for run in ENGINES)
    np.testing.assert_allclose(one.window, other.window, rtol=1e-9)
    assert np.ptp(one.window) > 5.0
