"""Layouts of switch programs: parameters, first states, flows."""

from __future__ import annotations

import math

from dfcmodel import CBR, Flow, FlowQueueCoDel, Link, Packets, Scenario, WeightedFair
from dfcmodel.packets.layouts.programs import lay_out_programs, program_signatures
from tests.dfcmodel.packets.conftest import plan_of


def test_a_port_has_its_parameters_and_a_flow_its_size() -> None:
    links = [
        Link("a", "b", 1e3, 1e-3, 50.0, WeightedFair(1.0, 7.0)),
        Link("b", "c", 1e3, 1e-3, 50.0, FlowQueueCoDel(0.01, 0.2)),
    ]
    flows = [Flow("few", "abc", CBR(10.0), size=5, priority=1), Flow("all", "abc", CBR(10.0))]
    plan = plan_of(Scenario("programs", links, flows, duration=0.1), Packets(seed=1))
    assert [kind.__name__ for kind, _ in program_signatures(plan)] == [
        "WeightedFair",
        "FlowQueueCoDel",
    ]
    found = lay_out_programs(plan, 10, 8)
    program, own = found["program"], found["own"]
    assert program["parameters"][0, :4].tolist() == [1.0, 7.0, 1.0, 1.0]
    assert program["parameters"][1, :2].tolist() == [0.01, 0.2]
    assert program["capacity"].tolist() == [1.5e6, 1.5e6]
    assert program["of_flow"].tolist() == [1, 6]
    assert program["first_of_flow"].tolist() == [4, 4]
    rows = plan.hops.row
    assert own["size"][rows].tolist() == [5.0, 5.0, math.inf, math.inf]
    assert own["priority"][rows].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert len(found["rank"]) == 10


def test_without_programs_there_is_nothing() -> None:
    scenario = Scenario("none", [Link("a", "b", 1e3, 1e-3, 50.0)], [Flow("x", "ab", CBR(1.0))])
    found = lay_out_programs(plan_of(scenario, Packets(seed=1)), 10, 8)
    names = ("program", "own", "rank", "program_queue", "trimmed")
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(names, 1)
