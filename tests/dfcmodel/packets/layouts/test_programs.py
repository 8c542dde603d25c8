"""Layouts of switch programs: parameters, first states, flows."""

from __future__ import annotations

import math

from dfcmodel import (
    CAKE,
    CBR,
    INT,
    Flow,
    FlowQueueCoDel,
    Link,
    Packets,
    Scenario,
    Trimming,
    WeightedFair,
)
from dfcmodel.packets.layouts.arrays import lay_out
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


def test_queues_have_lanes_and_rows_of_their_own_and_routes_places_of_records() -> None:
    rules = (CAKE(queues=3), INT(), WeightedFair(), Trimming())
    links = [
        Link(a, b, 1e3, 1e-3, 50.0, rule)
        for (a, b), rule in zip(("ab", "bc", "cd", "de"), rules, strict=True)
    ]
    flows = [Flow("all", "abcde", CBR(10.0)), Flow("part", "cde", CBR(10.0))]
    plan = plan_of(Scenario("programs", links, flows, duration=0.1), Packets(seed=1))
    found = lay_out_programs(plan, 10, 12)
    program = found["program"]
    assert program["queues"].tolist() == [3, 0, 0, 2]
    assert program["first"][[0, 3]].tolist() == [0, 3]
    assert len(found["program_queue"]) == 5
    assert program["skip"].tolist() == [0, -1, -1, 1]
    assert program["trim"].tolist() == [-1, -1, -1, 0]
    assert len(found["trimmed"]) == 10
    places, most = plan.telemetry
    assert most.tolist() == [1, 0]
    assert places[plan.hops.flow == 0].tolist() == [0, 0, 1, 1]
    assert found["telemetry"].shape == (10, 1, 4)
    layout = lay_out(plan, ())
    assert layout.arrays["port"]["lanes"][:4].tolist() == [3, 1, 1, 2]


def test_without_programs_there_is_nothing() -> None:
    scenario = Scenario("none", [Link("a", "b", 1e3, 1e-3, 50.0)], [Flow("x", "ab", CBR(1.0))])
    found = lay_out_programs(plan_of(scenario, Packets(seed=1)), 10, 8)
    names = ("program", "own", "rank", "program_queue", "trimmed", "telemetry")
    assert {name: len(rows) for name, rows in found.items()} == dict.fromkeys(names, 1)
