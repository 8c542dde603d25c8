"""Rates of flows with DFC in the reference, by hand; takano2006, eqs. (2), (5) and (13)."""

from __future__ import annotations

import numpy as np

from dfcmodel import CBR, DFC, Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid.feedback import Feedback
from tests.oracles.fluid.traffic import Traffic


def feedback(flows: int) -> Feedback:
    rule = DFC(diffusion=0.5, intensity=1.0, phases="synchronous")
    links = [Link(a, b, 1000.0, 4e-3, 50.0, rule) for a, b in ("ab", "bc")]
    own = [Flow(f"{n}", "abc", CBR(900.0), host="direct") for n in range(flows)]
    plan = compile_scenario(Scenario("one", links, own), Fluid(), np.random.default_rng(0))
    one = Feedback(plan, Traffic(plan))
    for f in range(flows):
        one.start(f)
    return one


def test_flows_that_want_more_than_the_link_have_it_in_proportion() -> None:
    one = feedback(2)
    assert one.rates(0, 1.0).tolist() == [0.5, 0.5]
    one.told[0, one.cells(0)] = 0.25, 1.0
    assert one.rates(0, 1.0).tolist() == [0.2, 0.8]


def test_a_longer_queue_ahead_slows_a_flow_by_the_diffusion() -> None:
    """J = r - D/d (n' - n): 1 - 0.125 (6 - 2) packets per step of 1 ms."""
    one = feedback(1)
    cell = one.cells(0)
    one.told[1, cell], one.traffic.queue[cell] = 6.0, 2.0
    assert one.rates(0, 1.0).tolist() == [0.5]


def test_messages_take_a_period_and_end_with_the_flow() -> None:
    one = feedback(1)
    first, second = one.cells(0)[0], one.cells(1)[0]
    one.traffic.queue[second] = 3.0
    one.exchange(0)
    assert one.told[1, first] == 0.0
    one.exchange(4)
    assert one.told[1, first] == 3.0
    assert one.budget[first] == 1.0 - 0.125 * 3.0
    one.finish(0)
    one.exchange(8)
    assert one.budget[first] == 0.0
    assert not one.sends.any()
