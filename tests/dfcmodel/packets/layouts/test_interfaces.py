"""Layouts of network interfaces: the control class, classes, flows."""

from __future__ import annotations

import numpy as np

from dfcmodel import CBR, PFC, Flow, Link, Packets, Scenario
from dfcmodel.packets.kernel.ports import INTERFACE
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from responsefn import DCQCN
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of


def host(acks: str) -> dict[str, np.ndarray]:
    """Return the arrays of a host that sends in classes 0 and 3, and receives."""
    rule = PFC((0, 3), 20.0, 10.0, acks=acks)
    links = [
        Link(a, b, 1e5, 1e-4, 900.0, rule)
        for a, b in (("h", "s"), ("s", "h"), ("s", "d"), ("d", "s"))
    ]
    flows = [
        Flow("web", ("h", "s", "d"), CBR(1e4)),
        Flow("storage", ("h", "s", "d"), DCQCN(), priority=3),
        Flow("back", ("d", "s", "h"), DCQCN(), priority=3),
    ]
    plan = plan_of(Scenario("host", links, flows, duration=0.1), Packets(seed=1))
    arrays = lay_out(plan, signatures_of([DCQCN()])).arrays
    arrays["order of ports"] = windows(plan, ordered_ports(plan))[0]
    return arrays


def test_lanes_are_the_control_class_then_classes_then_flows() -> None:
    arrays = host("control")
    port, lane, flow, hop = (arrays[name] for name in ("port", "lane", "flow", "hop"))
    row = port[0]
    assert row["kind"] == INTERFACE
    assert (row["levels"], row["lanes"]) == (2, 5)  # 1 + 2 classes + 2 flows
    first = row["lane"]
    assert lane["level"][first + 3 : first + 5].tolist() == [first + 1, first + 2]
    assert lane["flow"][first + 3 : first + 5].tolist() == [0, 1]
    assert flow["lane"][0] == -1  # has no rate to wait for
    assert flow["lane"][1] == first + 4
    acks = hop[flow["turn"][2] + 1]  # of the flow that comes: its first hop back
    assert (acks["port"], acks["lane"]) == (0, first)


def test_acks_of_a_class_are_flows_of_it() -> None:
    arrays = host("class")
    row, lane, flow, hop = arrays["port"][0], arrays["lane"], arrays["flow"], arrays["hop"]
    assert (row["levels"], row["lanes"]) == (2, 6)
    acks = hop[flow["turn"][2] + 1]
    assert lane["level"][acks["lane"]] == row["lane"] + 2


def test_events_of_interfaces_are_among_those_of_their_hosts() -> None:
    arrays = host("control")
    hop, flow = arrays["hop"], arrays["flow"]
    assert set(hop["queue"][hop["port"] == 0]) == {0}
    assert arrays["order of ports"][:2].tolist() == [len(arrays["port"]) - 1, 0]
    assert hop["queue"][flow["end"][:2]].tolist() == [0, 0]
    assert arrays["home"][:2].tolist() == [0, 0]
