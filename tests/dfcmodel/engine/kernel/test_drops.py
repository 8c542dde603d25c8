"""Drops: RED's probability, spacing and average, and shares of a full buffer beside bursts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, RED, Flow, OnOff, Scenario, chain
from dfcmodel.engine import driver
from dfcmodel.engine.kernel.columns import AVERAGE, LOST, OWED, QUEUE, WEIGHT
from dfcmodel.engine.kernel.drops import drop_early, drop_tail
from dfcmodel.engine.plans import Plan, compile_scenario
from responsefn import Reno


def red_plan(law: RED, source=CBR(10.0)) -> Plan:  # noqa: B008
    """Two flows into one RED link."""
    links = chain(2, rate=1e3, delay=1e-3, buffer=500.0, discipline=law)
    flows = [Flow(name, (1, 2), source) for name in "ab"]
    scenario = Scenario("red", links, flows, duration=1.0)
    return compile_scenario(scenario, 4, np.random.default_rng(0))


def arrive(plan: Plan, fresh: float, *, queued: float = 10.0, idle: float = 0.0) -> float:
    """Let packets of the first flow come to the queue of the link; return what RED drops of them."""
    s = plan.state
    cells = range(*s.cells[0])
    s.cell[cells[0], QUEUE] = queued
    s.wants[cells[0]] = queued + fresh
    return drop_early(0, cells[0], cells[-1] + 1, fresh, idle, queued, 0.0, 1, plan.quantum, s)


@pytest.mark.parametrize(
    ("average", "gentle", "probability"),
    [
        (4.9, True, 0.0),
        (5.0, True, 0.0),
        (10.0, True, 0.05),
        (14.9, True, 0.099),
        (15.0, True, 0.1),
        (15.5, True, 0.1 + 0.9 / 30.0),
        (22.5, True, 0.55),
        (14.9, False, 0.099),
    ],
)
def test_probability_is_that_of_floyd_and_jacobson(average, gentle, probability) -> None:
    """From 0 at ``low`` to max_p at ``high``, and with ``gentle`` to 1 at twice that."""
    plan = red_plan(RED(5.0, 15.0, max_p=0.1, gentle=gentle))
    row = plan.state.red[0]
    row[WEIGHT], row[AVERAGE], row[OWED] = 0.0, average, -1.0
    arrive(plan, 0.5)
    assert (row[OWED] + 1.0) / 0.5 == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("average", [15.0, 30.0, 40.0])
def test_without_gentle_everything_is_dropped_from_high_on(average: float) -> None:
    plan = red_plan(RED(5.0, 15.0, gentle=False))
    plan.state.red[0, [WEIGHT, AVERAGE]] = 0.0, average
    assert arrive(plan, 2.0) == pytest.approx(2.0, abs=2 * plan.quantum)


def test_the_next_drop_comes_after_one_to_two_over_p_packets() -> None:
    """As in ns-2 with wait_: the count from one drop to the next is uniform in [1/p, 2/p]."""
    plan = red_plan(RED(5.0, 15.0, max_p=0.1))
    plan.state.red[0, [WEIGHT, AVERAGE]] = 0.0, 10.0  # p = 0.05
    dropped = [arrive(plan, 1.0) > 0.5 for _ in range(12_000)]
    gaps = np.diff(np.flatnonzero(dropped))
    assert gaps.min() >= 20
    assert gaps.max() <= 41
    # a uniform gap has the mean 1.5/p and, in whole arrivals, half of one more; 5 standard errors
    assert gaps.mean() == pytest.approx(30.5, abs=5 * (20 / 12**0.5) / len(gaps) ** 0.5)


def test_average_follows_the_queue_by_its_weight_per_arrival() -> None:
    """n arrivals: avg += (1 - (1 - w)^n) (q - avg)."""
    plan = red_plan(RED(50.0, 150.0, weight=0.01))
    arrive(plan, 3.0, queued=20.0)
    assert plan.state.red[0, AVERAGE] == pytest.approx(20.0 * (1.0 - 0.99**3), rel=1e-12)


def test_average_decays_over_idle_time_as_over_arrivals_of_small_packets() -> None:
    """Floyd and Jacobson: by (1 - w)^m, m the packets that the link could have sent."""
    plan = red_plan(RED(50.0, 150.0, weight=0.01))
    plan.state.red[0, AVERAGE] = 40.0
    arrive(plan, 0.0, queued=0.0, idle=7.0)
    assert plan.state.red[0, AVERAGE] == pytest.approx(40.0 * 0.99**7, rel=1e-12)


def test_average_decays_in_a_run_while_nothing_arrives() -> None:
    """Both flows off from 0.1 s on, the queue drained soon after: 100 packet times between."""
    averages = []
    for steps in (1200, 1600):  # 0.3 s and 0.4 s at 0.25 ms
        plan = red_plan(RED(50.0, 150.0, weight=0.01), OnOff(rate=600.0, on=0.1, off=10.0))
        driver.advance(plan, steps, 400, compiled=False)
        averages.append(plan.state.red[0, AVERAGE])
    assert averages[0] > 0.0
    assert averages[1] / averages[0] == pytest.approx(0.99**100, rel=1e-6)


def test_a_flow_from_a_link_loses_a_packet_times_share_beside_bursts() -> None:
    """s packets are served between two bursts: its share is 1 / (2 s - 1) of that by arrivals."""
    links = chain(3, rate=4e3, delay=1e-3, buffer=100.0)
    links = (links[0], replace(links[1], discipline=FIFO(burst=7.5e-4)))  # s = 3
    flows = (Flow("smooth", (1, 2, 3), CBR(1e3), host="unshaped"), Flow("bursts", (2, 3), Reno()))
    scenario = Scenario("merge", links, flows, duration=0.1)
    plan = compile_scenario(scenario, 4, np.random.default_rng(0))
    s = plan.state
    link = plan.links.index(1)
    cells = np.arange(*s.cells[link])
    smooth, bursts = (cells[s.flow_of[cells] == f][0] for f in (0, 1))
    k, C = 1, len(s.up)
    s.ring[k * C + s.up[smooth]], s.ring[k * C + s.up[bursts]] = 6.0, 10.0
    s.cell[smooth, QUEUE], s.cell[bursts, QUEUE] = 50.0, 54.0  # 4 packets above the buffer
    left = drop_tail(link, k, 0.0, plan.step, 1, plan.quantum, s)
    assert left == pytest.approx(100.0, abs=2 * plan.quantum)
    lost = s.cell[[smooth, bursts], LOST]
    assert lost.sum() == pytest.approx(4.0, abs=4 * plan.quantum)
    assert lost[0] / lost[1] == pytest.approx((6.0 / 10.0) / 5.0, rel=1e-5)
