"""The built-in recoveries, run function by function in the reference, are those of its own classes and of the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import Packets
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.recoveries import RECOVERIES
from responsefn import WindowRule
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.dfcmodel.packets.test_reference import check_equal
from tests.oracles.packets.simulation import run_reference


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("name", RECOVERIES)
def test_functions_of_a_recovery_and_its_class_in_the_reference_are_equal(
    name: str, seed: int
) -> None:
    """With delayed ACKs, pacing, idle times, random losses and random waits in turn."""
    scenario = random_scenario(("fifo", "red", "ecn", "codel")[seed % 4], seed)
    options = ({}, {"delayed_acks": True}, {"pacing": True}, {"size": 60.0, "idle": 0.05})[seed % 4]
    flows = tuple(
        replace(flow, **options) if isinstance(flow.source, WindowRule) else flow
        for flow in scenario.flows
    )
    scenario = replace(scenario, flows=flows)
    lose = {scenario.links[0].name: 0.02} if seed % 2 else None
    plans = [
        plan_of(
            scenario, Packets(seed=seed, recovery=recovery, loss=lose), 0.0 if seed % 3 else 2e-4
        )
        for recovery in (name, RECOVERIES[name])
    ]
    own_class = run_reference(plans[0])
    check_equal(own_class, run_reference(plans[1]))
    check_equal(own_class, run_engine(plans[1]))
    assert own_class.loss_events.sum() > 0
