"""Pauses of the reference by hand: a queue that rises and falls linearly crosses its thresholds within steps."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Flow, Fluid, Link, Pause, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid import runs as reference

H = 1e-3


@pytest.mark.parametrize("rule", [Pause(20.0, 10.0), PFC((0,), 20.0, 10.0)])
def test_a_queue_at_a_constant_rate_asks_when_it_reaches_its_threshold(rule) -> None:
    """600 more packets/s than leave, from 4 ms on: 20 of them wait 1/30 s later."""
    links = (Link("a", "b", 1600.0, 4 * H, 500.0), Link("b", "c", 1000.0, 4 * H, 500.0, rule))
    scenario = Scenario("one", links, (Flow("f", "abc", CBR(1600.0)),), duration=0.1)
    fluid = Fluid(store_and_forward=False)
    found = reference.advance(compile_scenario(scenario, fluid, np.random.default_rng(0)), 80, 10)
    on = found.switches[0]
    assert on["on"] == 1
    reached = (4 * H + 20.0 / 600.0) / H
    assert on["time"] == pytest.approx(reached, abs=0.5)  # the step of the queue's first packet
    off = found.switches[1]
    assert off["on"] == 0
    # a message takes 4 ms each way; after it the queue falls by 1000 packets/s to 10
    top = 20.0 + 600.0 * 8 * H
    assert off["time"] - on["time"] == pytest.approx((8 * H + (top - 10.0) / 1000.0) / H, abs=0.5)
