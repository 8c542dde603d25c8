"""The ends of flows in the reference, by hand: what is emitted, when it was sent, when a flow is complete."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from responsefn import DCQCN, Reno
from tests.oracles.fluid.ends import Ends, RateEnds, TcpEnds, ends_of
from tests.oracles.fluid.traffic import Traffic


def ends(source, size: float = np.inf) -> Ends:
    link = Link("a", "b", 1000.0, 4e-3, 50.0)
    flow = Flow("f", "ab", source, 40.0, size=size, host="unshaped")
    fluid = Fluid(store_and_forward=False)
    plan = compile_scenario(Scenario("one", (link,), (flow,)), fluid, np.random.default_rng(0))
    return ends_of(plan, 0, Traffic(plan))


def test_a_schedule_emits_up_to_its_size_and_is_complete_when_that_has_come() -> None:
    one = ends(CBR(800.0), size=2.0)
    for k in range(4):
        one.advance(k, 0.0, 0.5)
    assert one.emitted == pytest.approx([0.8, 1.6, 2.0, 2.0], abs=1e-6)
    assert one.traffic.queue[0] == 0.0  # half a packet per step
    assert np.isnan(one.finished)
    one.advance(4, 2.0, 0.5)
    assert one.finished == 4 * one.h


def test_a_packet_was_sent_evenly_in_its_step() -> None:
    one = ends(CBR(800.0))
    one.emitted = [0.0, 0.5, 1.5, 1.5]
    assert [one.sent_at(at) for at in (0.25, 0.5, 1.0, 1.5)] == [0.5, 1.0, 1.5, 2.0]


def test_each_source_has_its_ends() -> None:
    tcp, rate = ends(Reno()), ends(DCQCN())
    assert isinstance(tcp, TcpEnds)
    assert isinstance(rate, RateEnds)
    tcp.advance(0, 0.0, 9.0)
    rate.advance(0, 0.0, 9.0)
    assert tcp.emitted[0] == tcp.window
    assert rate.emitted[0] == pytest.approx(rate.window * rate.h, abs=1e-6)
