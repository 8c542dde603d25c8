"""Queues with rates of their own in the reference, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid.queues import RateQueues
from tests.oracles.fluid.traffic import Traffic


@pytest.mark.parametrize(("shared", "lost"), [(True, [0.5, 1.5]), (False, [0.0, 1.0])])
def test_what_exceeds_a_buffer_is_lost(shared: bool, lost: list[float]) -> None:
    """Of 2 and 4 packets each queue sends one; there is room for 2, of both or of each."""
    link = Link("a", "b", 1000.0, 4e-3, 2.0, DFC(phases="synchronous"), shared)
    flows = [Flow(name, "ab", CBR(900.0), host="direct") for name in ("one", "two")]
    plan = compile_scenario(Scenario("one", (link,), flows), Fluid(), np.random.default_rng(0))
    traffic = Traffic(plan)
    queues = RateQueues(plan, 0, traffic)
    for f, amount in enumerate((2.0, 4.0)):
        traffic.depart(f, amount)
    queues.serve(0, np.ones(2))
    cells = queues.cells[np.argsort(plan.layout.flow_of[queues.cells])]
    assert traffic.lost[cells] == pytest.approx(lost, abs=2 * plan.quantum)
    assert traffic.queue[queues.cells].sum() + traffic.lost.sum() == 4.0
    assert [traffic.inside(c) for c in queues.cells] == [1.0, 1.0]
