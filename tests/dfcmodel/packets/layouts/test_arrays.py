"""All arrays of a run: what refers to what."""

from __future__ import annotations

import numpy as np

from dfcmodel import Packets
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.kernel.layout import RECEIVER, SENDER
from dfcmodel.packets.layouts.arrays import lay_out
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


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
