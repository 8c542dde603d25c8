"""Managers that mark."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    Flow,
    Fluid,
    Link,
    Packets,
    RampMarking,
    Scenario,
    StepMarking,
    chain,
    simulate,
)
from dfcmodel.network.disciplines import Arrivals
from responsefn import DCQCN

QUEUE = {"time": 0.0, "step": 1e-6, "capacity": 1e6, "delay": 0.0}


def test_step_marking_marks_all_above_its_threshold() -> None:
    rule = StepMarking(10.0)
    marks = [
        rule.on_step(
            rule.State(), rule, Arrivals(backlog=n, arrivals=3.0, random=0.5, **QUEUE)
        ).mark
        for n in (9.0, 10.0, 10.1)
    ]
    assert marks == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("backlog", "p"), [(5.0, 0.0), (10.0, 0.0), (30.0, 0.1), (50.0, 0.2), (51.0, 1.0)]
)
def test_ramp_marking_marks_with_the_probability_of_the_queue(backlog: float, p: float) -> None:
    """Four standard errors of a binomial number of marks, at 20,000 packets."""
    rule, random, packets = RampMarking(10.0, 50.0, 0.2), np.random.default_rng(1), 20_000
    state, marks = rule.State(), 0.0
    for _ in range(packets):
        seen = Arrivals(backlog=backlog, arrivals=1.0, random=random.random(), **QUEUE)
        state = rule.on_step(state, rule, seen)
        marks += state.mark
    assert abs(marks - p * packets) <= 4.0 * np.sqrt(p * (1 - p) * packets)


def test_marks_never_drop_and_reach_the_senders_they_are_for() -> None:
    """Constant sources do not react to marks, so that what would be marked is dropped (RFC 3168, 5)."""
    links = chain(2, rate=1e5, delay=1e-4, buffer=1000.0, discipline=StepMarking(20.0))
    flow = Flow("a", (1, 2), DCQCN())
    run = simulate(Scenario("one", links, [flow], duration=0.05), method=Fluid(10))
    assert run.lost.sum() == 0.0
    blind = Flow("b", (1, 2), CBR(5e4))
    run = simulate(Scenario("two", links, [flow, blind], duration=0.05), method=Fluid(10))
    assert run.lost[0].sum() == 0.0
    assert run.lost[1].sum() > 0.0


@pytest.mark.parametrize(
    ("remembers", "queue", "used"), [(1, 81.0, 0.992), (0, 141.0, 1.0)], ids=["remember", "ignore"]
)
def test_the_notification_point_decides_the_queue_of_ten_senders(
    remembers: int, queue: float, used: float
) -> None:
    """DCQCN at 40 Gb/s beside a simulation of slots of its own: mean queue 81 and 139 to 143, utilisation 0.992 and 1.

    Ten percent is the spread of the queue over seeds and starts, half a percent that of the utilisation.
    """
    rate = 40e9 / 8000.0
    links = [Link(f"s{k}", "x", rate, 1e-6, 4000) for k in range(10)]
    links += [Link("x", "d", rate, 1e-6, 4000, RampMarking(5.0, 200.0, 0.01))]
    rule = DCQCN(counter=1e4, additive=40e6 / 8000, hyper=400e6 / 8000, remembers=remembers)
    flows = [Flow(f"{k}", (f"s{k}", "x", "d"), rule, host="nic") for k in range(10)]
    scenario = Scenario("ten", links, flows, duration=0.2, packet_size=1000.0)
    run = simulate(scenario, Packets(seed=1), sample=1e-4)
    late = run.time > 0.04
    assert run.queued[scenario.senders.index("x"), late].mean() == pytest.approx(queue, rel=0.1)
    sent = run.delivered[:, late].sum(axis=0)
    span = run.time[late][-1] - run.time[late][0]
    assert (sent[-1] - sent[0]) / span / rate == pytest.approx(used, abs=0.005)


@pytest.mark.parametrize("kwargs", [{"low": 0.0}, {"high": 1.0}, {"max_p": 2.0}, {"low": [1.0]}])
def test_parameters_out_of_range_are_named(kwargs) -> None:
    (name,) = kwargs
    with pytest.raises(ValueError, match=f"^{name} = "):
        RampMarking(**kwargs)
