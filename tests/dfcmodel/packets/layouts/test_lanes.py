"""Layouts of lanes: which ports have which, and what counts the packets of a class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import CBR, FIFO, PFC, Fair, Flow, Link, Packets, Pause, Scenario
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.kernel.lanes import BY_CLASS, BY_FLOW
from dfcmodel.packets.kernel.pauses import PAUSE
from dfcmodel.packets.kernel.ports import LANES
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.plans import QUANTUM, Plan
from responsefn import NewReno
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of


def two_inputs(discipline: object) -> Plan:
    """Return flows of classes 0 and 3 over two links into one under a discipline."""
    links = [
        Link("a", "m", 1e3, 1e-3, 200.0, PFC((3,), 10.0, 5.0)),
        Link("b", "m", 2e3, 2e-3, 200.0, PFC((3,), 10.0, 5.0)),
        Link("m", "z", 1e3, 1e-3, 200.0, discipline),
    ]
    flows = [
        Flow("storage", ("a", "m", "z"), CBR(100.0), priority=3, host="direct"),
        Flow("web", ("b", "m", "z"), NewReno(), host="direct"),
        Flow("more", ("b", "m", "z"), CBR(100.0), priority=3, host="direct"),
    ]
    return plan_of(Scenario("two", links, flows, duration=0.1), Packets(seed=1))


def arrays_of(plan: Plan) -> dict[str, np.ndarray]:
    """Return the arrays of the compiled engine."""
    return lay_out(plan, signatures_of(window_rules(plan.scenario.flows))).arrays


def test_a_port_with_pfc_has_a_lane_for_each_class_and_counts_each_ingress() -> None:
    rule = PFC((3,), 20.0, 10.0)
    arrays = arrays_of(two_inputs(rule))
    port_rows, hop, feeder = (arrays[name] for name in ("port", "hop", "feeder"))
    assert (port_rows["kind"][:3] == LANES).all()
    assert port_rows["by_turns"][:3].tolist() == [BY_CLASS] * 3
    assert port_rows["lanes"][:3].tolist() == [1, 2, 2]
    last = feeder[hop["ingress"][hop["port"] == 2]]
    a, b = last[last["port"] == 0], last[last["port"] == 1]
    assert set(a["priority"]) == set(b["priority"]) == {3}
    assert a["room"][0] == rule.room(1e3, 1e-3) * 1500.0  # bytes
    assert b["room"][0] == rule.room(2e3, 2e-3) * 1500.0
    pool = last[last["port"] == -1]  # of web, and of receivers' rows that are not used
    assert pool["room"].max() == 200.0 * 1500.0 - a["room"][0] - b["room"][0]
    assert arrays["lane"]["flow"].size >= 5


def test_lanes_by_flow_and_one_lane_for_all() -> None:
    plan = two_inputs(Fair())
    wide = replace(plan.scenario.links[2], discipline=Pause(50.0, 20.0))
    fair, pause = (arrays_of(two_inputs(each))["port"][2] for each in (Fair(), wide.discipline))
    assert (fair["by_turns"], fair["lanes"]) == (BY_FLOW, 3)
    assert (pause["by_turns"], pause["lanes"], pause["feeders"]) == (0, 1, 2)
    plain = arrays_of(two_inputs(FIFO()))["port"][2]
    assert plain["kind"] != LANES


def test_quanta_are_of_the_paused_link() -> None:
    arrays = arrays_of(two_inputs(Pause(50.0, 20.0, quanta=100)))
    port = arrays["port"][2]
    rows = arrays["feeder"][port["feeder"] : port["feeder"] + port["feeders"]]
    np.testing.assert_allclose(rows["span"], [100 * QUANTUM / (rate * 12e3) for rate in (1e3, 2e3)])


def test_faults_are_messages_to_each_ingress_that_never_end() -> None:
    arrays = arrays_of(two_inputs(PFC((3,), 20.0, 10.0, storm=0.05)))
    told = arrays["packet"][: arrays["counters"][1]]
    told = told[told["number"] == PAUSE]
    np.testing.assert_allclose(sorted(told["time"]), [0.051, 0.052])
    assert (told["hop"] >= 0).all()  # a lane
