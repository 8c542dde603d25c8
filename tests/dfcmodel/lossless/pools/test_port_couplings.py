"""Which ports share something."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dfcmodel import CBR, PFC, Flow, Link, Packets, Pause, Scenario
from dfcmodel.lossless.pools.port_couplings import independent_parts, what_couples
from dfcmodel.packets.plans import Plan
from dfcmodel.packets.simulation import plan_scenario
from responsefn import Reno

RULE = Pause(high=5.0, low=2.0)
TOGETHER = PFC(xoff=5.0, xon=2.0, classes=(0,), counts="switch")


def plan_of(paths: dict[str, Any], rule: Any = RULE, source: Any = None) -> Plan:
    """Return a plan of flows along paths; every link has the discipline."""
    hops = dict.fromkeys(hop for path in paths.values() for hop in itertools.pairwise(path))
    links = [Link(*hop, 1e4, 1e-3, 500.0, rule) for hop in hops]
    sender = CBR(100.0) if source is None else source
    flows = [Flow(name, tuple(path), sender) for name, path in paths.items()]
    scenario = Scenario("parts", tuple(links), tuple(flows), duration=0.1)
    return plan_scenario(scenario, Packets(), duration=0.1, sample=0.01)


def test_ports_of_a_switch_share_nothing() -> None:
    plan = plan_of({"a": "sx", "b": "sy", "c": "sz"})
    assert independent_parts(plan, [0, 1, 2]) == [[0], [1], [2]]
    assert independent_parts(plan, [2, 0]) == [[2], [0]]


@pytest.mark.parametrize(
    ("paths", "ends", "rule", "source", "by"),
    [
        ({"long": "xsy", "b": "sz"}, ("xs", "sy"), RULE, None, "flow 'long'"),
        ({"one": "asx", "two": "asy"}, ("sx", "sy"), RULE, None, "flow 'one', flow 'two'"),
        ({"a": "sx", "b": "xs"}, ("sx", "xs"), RULE, Reno(), "flow 'a'"),  # its acknowledgements
        ({"a": "asx", "b": "bsy"}, ("sx", "sy"), TOGETHER, None, "what PFC counts at s together"),
    ],
)
def test_what_ports_share_is_named(paths: Any, ends: Any, rule: Any, source: Any, by: str) -> None:
    plan = plan_of(paths, rule, source)
    names = [f"{port.source}{port.target}" for port in plan.ports]
    ports = [names.index(end) for end in ends]
    assert len(independent_parts(plan, ports)) == 1
    assert what_couples(plan, *ports) == by
