"""Records of links and queues: rates and buffers on the grid, rooms of classes, steps that orders remember."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, PFC, RED, Flow, Fluid, Link, Scenario
from dfcmodel.engine.link_tables import SPARE_ROWS, power_of_two
from dfcmodel.engine.plans import Plan, compile_scenario


def plan_of(rule, *, shared: bool = True, priorities: tuple[int, ...] = (0, 1)) -> Plan:
    """Return the plan of two flows over two links, which meet at the second."""
    links = (
        Link("a", "b", 2000.0, 4e-3, 90.0, rule, shared),
        Link("b", "c", 1000.0, 4e-3, 90.0, rule, shared),
    )
    flows = [
        Flow(f"{n}", "abc"[n:], CBR(900.0), priority=priority, host="unshaped")
        for n, priority in enumerate(priorities)
    ]
    scenario = Scenario("two", links, flows)
    return compile_scenario(scenario, Fluid(), np.random.default_rng(0))


def test_powers_of_two() -> None:
    assert [power_of_two(n) for n in (1, 2, 3, 1000)] == [1, 2, 4, 1024]


@pytest.mark.parametrize(("shared", "buffers"), [(True, 1), (False, 2)])
def test_orders_last_as_long_as_all_buffers_of_a_link(shared: bool, buffers: int) -> None:
    """A full buffer lasts 90 steps of 1 ms, those of two flows 180."""
    rows = plan_of(FIFO(), shared=shared).order.rows
    assert len(rows) == power_of_two(90 * buffers + SPARE_ROWS)


def test_rooms_are_those_of_the_scenario_and_of_what_comes_in_a_step() -> None:
    plan = plan_of(PFC((1,), 10.0, 5.0))
    for i, n in enumerate(plan.layout.order):
        rooms = plan.scenario.rooms(n)
        step = sum(plan.scenario.feeding(u).rate * plan.step for u, _ in rooms)
        expected = plan.scenario.reserved(n) + step
        assert plan.network.links["reserved"][i] == pytest.approx(expected, abs=plan.quantum)
        assert bool(rooms) == (plan.network.links["end_ingress"][i] > 0)


def test_a_manager_of_one_class_sees_its_queue() -> None:
    rule = PFC((1,), 10.0, 5.0, manager=RED(), managed=0)
    plan = plan_of(rule, priorities=(0, 1))
    last = plan.network.links[plan.layout.order.index(1)]
    (seen,) = range(last["first_managed"], last["end_managed"])
    flow = plan.layout.flow_of[plan.layout.bands[seen, 2]]
    assert plan.scenario.flows[flow].priority == 0
