"""All arrays of a run: what refers to what."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Fair, Flow, Packets, Pause, Scenario, chain
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.engine import begin_run
from dfcmodel.packets.kernel.layout import RECEIVER, SENDER
from dfcmodel.packets.layouts.arrays import lay_out
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of, random_classes, random_scenario

PLAIN_OR_NOT = {
    "pause": Pause(high=20.0, low=10.0),
    "PFC": PFC(xoff=20.0, xon=10.0),
    "fair": Fair(),
}


def test_the_hops_of_a_flow_are_its_packets_its_receiver_and_its_acks() -> None:
    plan = plan_of(random_scenario("fair", 1), Packets(seed=1))
    layout = lay_out(plan, signatures_of(window_rules(plan.scenario.flows)))
    flow, hop = layout.arrays["flow"], layout.arrays["hop"]
    for f, (out, back) in enumerate(zip(plan.forward, plan.backward, strict=True)):
        rows = hop[flow["way"][f] : flow["end"][f] + 1]
        assert rows["port"].tolist() == [*out, RECEIVER, *back, SENDER]
        assert flow["turn"][f] == flow["way"][f] + len(out)
    assert layout.ahead > 0.0
    assert layout.most >= len(layout.arrays["packet"])
    assert np.isfinite(layout.ahead)


@pytest.mark.parametrize("name", ["fifo", "fair", "red", "classes"])
def test_arrays_of_a_run_share_no_memory(name: str) -> None:
    """The loop is compiled for arrays that are apart (`calling_entry`)."""
    scenario = random_classes(3) if name == "classes" else random_scenario(name, 3)
    groups = begin_run(plan_of(scenario, Packets(seed=1))).groups()
    arrays = [each for group in groups for each in group if isinstance(each, np.ndarray)]
    assert len(arrays) > 50
    for one, other in itertools.combinations(arrays, 2):
        assert not np.may_share_memory(one, other)


def test_ports_with_lanes_are_plain_where_only_the_room_of_the_queue_decides() -> None:
    for name, expected in (("pause", False), ("PFC", True), ("fair", False)):
        links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=PLAIN_OR_NOT[name])
        flows = [Flow("flow", (1, 2, 3), CBR(1e4), host="unshaped")]
        scenario = Scenario(name, links, flows, duration=0.1)
        ports = begin_run(plan_of(scenario, Packets(seed=1))).layout.arrays["port"]
        assert ports["plain"][0] == expected, name
