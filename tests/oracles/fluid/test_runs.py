"""The step of the reference by hand: delays, service, equal shares; the rest against the engine in `test_reference`."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, Fair, Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid import runs as reference


def test_packets_arrive_one_delay_later_and_what_exceeds_the_rate_waits() -> None:
    links = (Link("a", "b", 1000.0, 10e-3, 500.0), Link("b", "c", 500.0, 10e-3, 500.0))
    flow = Flow("f", "abc", CBR(800.0), host="direct")
    scenario = Scenario("one", links, (flow,), duration=0.1)
    fluid = Fluid(store_and_forward=False)
    found = reference.advance(compile_scenario(scenario, fluid, np.random.default_rng(0)), 40, 40)
    # of 100 ms 90 are left behind the first link, and 80 behind the second
    assert found.queued.max() == pytest.approx(300.0 * 90e-3, abs=800.0 * 2.5e-3)
    assert found.flows[0, 0, 1] == pytest.approx(500.0 * 80e-3, abs=500.0 * 2.5e-3)
    assert found.lost.sum() == 0.0


def test_fair_shares_are_equal_and_none_more_than_a_flow_sends() -> None:
    link = (Link("a", "b", 900.0, 4e-3, 1e3, Fair()),)
    flows = [Flow(f"{n}", "ab", CBR(rate)) for n, rate in enumerate((100.0, 600.0, 900.0))]
    scenario = Scenario("fair", link, flows, duration=0.5)
    plan = compile_scenario(scenario, Fluid(), np.random.default_rng(0))
    found = reference.advance(plan, 400, 200)
    late = (found.flows[1, :, 1] - found.flows[0, :, 1]) / (200 * plan.step)
    assert late == pytest.approx([100.0, 400.0, 400.0], rel=1e-3)
