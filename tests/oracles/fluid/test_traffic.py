"""Ways and books of the reference, by hand: parts of steps, whole packets, losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from responsefn import Reno
from tests.oracles.fluid.traffic import Traffic


@pytest.fixture
def traffic() -> Traffic:
    """Two links, the first 5 steps and a quarter long; its queue is number 1, the next 2, the host's 0."""
    links = (Link("a", "b", 1600.0, 5.25e-3, 50.0), Link("b", "c", 1000.0, 4e-3, 50.0))
    flow = Flow("f", "abc", Reno(), 20.0, host="direct")
    fluid = Fluid(store_and_forward=False)
    plan = compile_scenario(Scenario("one", links, (flow,)), fluid, np.random.default_rng(0))
    assert plan.step == 1e-3
    return Traffic(plan)


def test_what_leaves_arrives_after_the_delay_in_two_steps(traffic: Traffic) -> None:
    lag = int(traffic.layout.lag[1])
    came = []
    for k in range(9):
        came.append(traffic.arrive(2) if lag else 0.0)
        traffic.depart(1, 1.0 if k == 0 else 0.0)
    assert lag == 5
    assert came[lag : lag + 2] == [0.75, 0.25]
    assert traffic.came[2] == sum(came) == 1.0
    assert traffic.inside(1) == 0.0


def test_a_loss_is_noted_where_and_when_it_was(traffic: Traffic) -> None:
    traffic.came[2], traffic.queue[2] = 8.0, 3.0
    traffic.drop_tail(2, 1.0, 2.0, 0.25, 0.5)
    traffic.drop_tail(2, 0.0, 2.0, 0.25, 0.1)
    assert (traffic.lost[2], traffic.queue[2], traffic.first_loss[0]) == (1.0, 2.0, 0.5)
    (stretch,) = traffic.curves[2].stretches
    assert (stretch.first, stretch.end, stretch.lost) == (6.5, 8.0, 1.0)
    assert replace(stretch).leaves == 0.5
