"""The simulation offers what its queues and senders use of it."""

from __future__ import annotations

from dfcmodel import Packets
from dfcmodel.packets.protocols import EventSimulation
from dfcmodel.packets.reference import Simulation
from tests.dfcmodel.packets.conftest import plan_of


def test_a_simulation_has_all_that_the_protocol_names(one_link) -> None:
    simulation: EventSimulation = Simulation(plan_of(one_link, Packets(seed=1)))
    for name in (
        "plan",
        "now",
        "records",
        "queues",
        "senders",
        "at",
        "draw",
        "random",
        "wake",
        "emit",
    ):
        assert hasattr(simulation, name)
    assert 0.0 <= simulation.draw(0) < 1.0
