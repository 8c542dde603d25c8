"""Senders of the reference: slow start, recovery and the timer, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from dfcmodel.packets.engine import run_engine
from responsefn import NewReno, hystart
from tests.dfcmodel.packets.conftest import plan_of
from tests.dfcmodel.packets.test_reference import check_equal
from tests.oracles.packets.senders import Clock
from tests.oracles.packets.simulation import run_reference


def test_slow_start_doubles_every_round_trip(one_link) -> None:
    """Round trip 21 ms plus an ACK's 1/37.5 ms: windows 1, 2, 4, 8 of data after each."""
    plan = plan_of(one_link, Packets(seed=1))
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
    run = run_reference(plan_of(scenario, Packets(seed=1, recovery=recovery)))
    assert run.total[0] == 500.0
    assert run.drops[0] > 0
    assert run.finished[0] > 500 / 1000.0


def test_the_timer_follows_rfc_6298() -> None:
    """Section 2: srtt = R, rttvar = R / 2, then gains 1/8 and 1/4; RTO = srtt + 4 rttvar."""
    clock = Clock(False, 0.0, 0.2)
    clock.measure(1.0, 0.9)
    assert (clock.srtt, clock.variance) == pytest.approx((0.1, 0.05))
    assert clock.timeout() == pytest.approx(0.3)
    clock.measure(2.0, 1.8)
    assert clock.variance == pytest.approx(0.75 * 0.05 + 0.25 * 0.1)
    assert clock.srtt == pytest.approx(0.1125)
    clock.back_off()
    assert clock.timeout() == pytest.approx(2 * (clock.srtt + 4 * clock.variance))


def test_hystart_leaves_slow_start_before_the_queue_overflows() -> None:
    """RFC 9406, 1: slow start can overshoot the ideal rate and lose a window of packets; HyStart++ does so less.

    A path of 100 packets with a queue of 300: at a window of 128 the queue is 28 ms long, where 12.5 ms end slow start.
    """
    lost, rules = [], (NewReno(), hystart(NewReno()))
    for rule in rules:
        links = (Link("s", "in", 5e3, 1e-3, 1e5), Link("in", "out", 1000.0, 0.049, 300.0))
        flow = Flow("f", ("s", "in", "out"), rule, 1e5)
        plan = plan_of(Scenario("start", links, (flow,), duration=1.6), Packets(seed=1))
        run = run_engine(plan)
        check_equal(run, run_reference(plan))
        lost.append(run.drops.sum())
    assert 0 < lost[1] < 0.1 * lost[0]
    assert simulate(plan.scenario).lost.sum() < 0.1 * lost[0]
