"""Arrays of receiver agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dfcmodel import Flow, Link, Packets, ReceiverAgent, Scenario
from dfcmodel.packets.layouts.agents import agent_signatures
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.simulation import plan_scenario
from responsefn import DCQCN
from responsefn.responses.rule_events import signatures_of


@dataclass(frozen=True)
class Counting(ReceiverAgent):
    class State(NamedTuple):
        ack: float = 0.0
        nack: float = -1.0
        mark: float = 0.0
        credits: float = 0.0
        timer: float = np.inf
        common: float = 7.0
        own: float = 3.0

    of_flow = ("own",)
    unsolicited: float = 2.0
    factor: float = 4.0

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0)


def test_a_row_per_agent_and_node() -> None:
    links = [Link("a", "x", 1e6, 1e-6, 50), *(Link("x", n, 1e6, 1e-6, 50) for n in "bc")]
    agents = [Counting(), Counting(), Counting(), Counting(factor=5.0), None]
    flows = [
        Flow(f"{k}", ("a", "x", to), DCQCN(), size=10 + k, receiver=agent)
        for k, (agent, to) in enumerate(zip(agents, "bbccb", strict=True))
    ]
    scenario = Scenario("rows", links, flows, duration=0.01)
    plan = plan_scenario(scenario, Packets(), duration=0.01, sample=0.01)
    assert agent_signatures(plan) == ((Counting, ("unsolicited", "factor")),)
    arrays = lay_out(plan, signatures_of([DCQCN()])).arrays
    assert arrays["flow"]["agent"].tolist() == [0, 0, 1, 2, -1]
    assert arrays["flow"]["credits"].tolist() == [2.0, 2.0, 2.0, 2.0, np.inf]
    assert arrays["agent"]["state"][:, :2].tolist() == [[7.0, 3.0]] * 3
    assert arrays["agent"]["parameters"][:, 1].tolist() == [4.0, 4.0, 5.0]
    assert arrays["agent_state"][:, 0].tolist() == [3.0, 3.0, 3.0, 3.0, 0.0]
    assert arrays["agent_sizes"].tolist() == [10, 11, 12, 13, 14]
    assert len(arrays["block"]) == len(arrays["packet"])
