"""Managers that mark."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, RampMarking, Scenario, StepMarking, chain, simulate
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


@pytest.mark.parametrize("kwargs", [{"low": 0.0}, {"high": 1.0}, {"max_p": 2.0}, {"low": [1.0]}])
def test_parameters_out_of_range_are_named(kwargs) -> None:
    (name,) = kwargs
    with pytest.raises(ValueError, match=f"^{name} = "):
        RampMarking(**kwargs)
