"""Packets without data have the same sizes wherever they are counted."""

from __future__ import annotations

from dfcmodel import Flow, Packets, Scenario, chain
from dfcmodel.network.frame_sizes import BLOCK, HEADER, SHORTEST_FRAME
from dfcmodel.network.pause_responses import ACK_BYTES
from dfcmodel.packets.simulation import plan_scenario
from hopflow.tcp_constants import MAX_SACK_BLOCKS
from responsefn import NewReno


def test_acks_of_the_packet_level_are_those_of_the_headroom() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=10)
    scenario = Scenario("one", links, [Flow("one", (1, 2), NewReno())], duration=0.1)
    plan = plan_scenario(scenario, Packets(), duration=0.1, sample=0.1)
    assert plan.sizes[1:6].tolist() == [
        *ACK_BYTES[:-1],
        HEADER + MAX_SACK_BLOCKS * BLOCK,
        SHORTEST_FRAME,
    ]
    assert ACK_BYTES[-1] == SHORTEST_FRAME == HEADER + MAX_SACK_BLOCKS * BLOCK
