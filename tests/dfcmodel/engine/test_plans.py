"""Plans of the fluid: layouts, tables of links, kinds of queues."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    RED,
    Fair,
    Flow,
    Fluid,
    Link,
    Pause,
    Priority,
    Scenario,
    chain,
    simulate,
    takano2006,
)
from dfcmodel.engine.kernel.records import FAIR_SHARES, PER_FLOW_RATE, PER_INPUT, SHARED_FIFO
from dfcmodel.engine.layouts import Layout, layout_of
from dfcmodel.engine.link_tables import SPARE_ROWS, power_of_two
from dfcmodel.engine.plans import Plan, compile_scenario, finest_quantum, whole_steps
from dfcmodel.engine.queue_types import queueing
from responsefn import Reno

# Plans: delays in whole steps, amounts that add up exactly, tables at t = 0.

ONE_RATE = Scenario(
    "rate", chain(2, rate=1e3, delay=1e-3, buffer=9), [Flow("one", (1, 2), CBR(100.0))], 0.1
)


def plan_of(scenario: Scenario, steps_per_delay: int = 4) -> Plan:
    return compile_scenario(
        scenario, Fluid(steps_per_delay=steps_per_delay), np.random.default_rng(0)
    )


def test_a_delay_is_rounded_to_steps_with_a_warning_up_to_one_percent() -> None:
    assert whole_steps("delay", 0.3, 0.1) == 3
    with pytest.warns(UserWarning, match=r"delay = 0.1005 s is rounded to 10 steps .* 0\.5 % off"):
        assert whole_steps("delay", 0.1005, 0.01) == 10
    with pytest.raises(ValueError, match=r"delay = 0.102 s: must be a multiple of the step 0.01 s"):
        whole_steps("delay", 0.102, 0.01)


@pytest.mark.parametrize("name", ["1", "4", "6"])
def test_every_sum_of_amounts_is_exact(name: str) -> None:
    """A number of packets is below 2^53 quanta, also all that two hosts emit in the whole run."""
    scenario = takano2006(name)
    quantum = finest_quantum(scenario, scenario.duration)
    assert math.frexp(quantum)[0] == 0.5
    emitted = 2.0 * scenario.links[0].rate * scenario.duration
    assert emitted / quantum < 2.0**53
    assert quantum <= 2.0**-20


def test_rates_per_step_are_whole_quanta_just_below_the_links() -> None:
    plan = plan_of(takano2006("1", dfc=False))
    rate = plan.scenario.links[0].rate * plan.step
    quanta = plan.network.links["rate"] / plan.quantum
    np.testing.assert_array_equal(quanta, np.floor(quanta))
    assert np.all(
        (plan.network.links["rate"] <= rate) & (plan.network.links["rate"] > rate - plan.quantum)
    )


def test_flows_start_in_the_step_of_their_time() -> None:
    plan = plan_of(takano2006("1"))
    assert plan.network.flows["start"].tolist() == [0, round(0.1 / plan.step)]


def test_a_direct_host_is_not_limited_and_an_unshaped_one_has_the_rate_of_its_link() -> None:
    for host, wanted in (("direct", math.inf), ("unshaped", 250.0)):
        flow = Flow("one", (1, 2), CBR(10.0), host=host)
        links = chain(2, rate=1e6, delay=1e-3, buffer=9)
        plan = plan_of(Scenario("host", links, [flow], duration=0.1))
        assert plan.network.queues["service"][0] == pytest.approx(wanted, rel=1e-6)


def test_a_link_is_longer_by_half_a_transmission_time_unless_switched_off() -> None:
    """Store-and-forward: a packet of 6.25 ms on a link of 10 ms; DFC's delays are those of its law.

    Of a packet of 1 ms, where a step of 2.5 ms holds several, 0.2 steps are rounded to whole ones.
    """
    without = Fluid(store_and_forward=False)
    for rate, fluid, there in ((160.0, Fluid(), 5.25), (160.0, without, 4.0), (1e3, Fluid(), 4.0)):
        links = chain(2, rate=rate, delay=1e-2, buffer=9)
        scenario = Scenario("half", links, [Flow("one", (1, 2), CBR(10.0))], duration=0.1)
        plan = compile_scenario(scenario, fluid, np.random.default_rng(0))
        layout = plan.layout
        ways = layout.lag + 1.0 - layout.weight
        # what the way back leaves of a whole step is added to the way there
        assert ways.sum() + layout.ack_lag[0] == pytest.approx(2 * there)
    assert (
        compile_scenario(takano2006("1"), Fluid(), np.random.default_rng(0)).layout.weight.min()
        == 1.0
    )


# Numbering of the per-flow queues: delays between them, order of flows.


def layout(scenario: Scenario, steps: int = 4) -> Layout:
    """The layout for links that all last the same number of steps."""
    return layout_of(scenario, [steps] * len(scenario.links))


def two_flows(discipline, **second) -> Scenario:
    flows = (Flow("a", (1, 2, 3), CBR(1.0)), Flow("b", (2, 3), CBR(1.0), **second))
    links = chain(3, rate=100.0, delay=1e-3, buffer=500, discipline=discipline)
    return Scenario("two flows", links, flows)


def test_a_fifo_chain_of_equal_links_queues_where_packets_enter() -> None:
    """takano2006, scenario 1: all other nodes receive packets over one link of their own rate."""
    found = layout(takano2006("1", dfc=False))
    assert sorted(found.order) == [0, 14]
    assert found.hop_queues[0].count(-1) == 27
    assert found.hop_queues[1].count(-1) == 14


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
@pytest.mark.parametrize("dfc", [True, False])
def test_delays_between_queues_add_up_to_that_of_the_path(dfc: bool, host: str) -> None:
    if host == "shaped" and not dfc:
        pytest.skip("a shaped host needs DFC")
    scenario = takano2006("4S", dfc=dfc, host=host)
    found = layout(scenario)
    for f, flow in enumerate(scenario.flows):
        queues = [f, *found.path[found.path_at[f] : found.path_at[f + 1]]]
        access = 0 if host == "direct" else 4
        assert found.lag[queues].sum() == 4 * len(flow.hops) + access
        assert [int(found.up[c]) for c in queues[1:]] == queues[:-1]
        assert found.down[queues].tolist() == [*queues[1:], -1]


def test_flows_are_grouped_by_priority_the_lowest_number_first() -> None:
    found = layout(two_flows(Priority(), priority=-1))
    link = found.order.index(1)
    bands = found.bands[found.bands_at[link] : found.bands_at[link + 1]]
    assert [found.flow_of[first] for _, _, first, _ in bands] == [1, 0]


# Records of links and queues: rates and buffers on the grid, rooms of classes, steps that orders remember.


def plan_of_of_link_tables(
    rule, *, shared: bool = True, priorities: tuple[int, ...] = (0, 1)
) -> Plan:
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
    rows = plan_of_of_link_tables(FIFO(), shared=shared).order.rows
    assert len(rows) == power_of_two(90 * buffers + SPARE_ROWS)


def test_rooms_are_those_of_the_scenario_and_of_what_comes_in_a_step() -> None:
    plan = plan_of_of_link_tables(PFC((1,), 10.0, 5.0))
    for i, n in enumerate(plan.layout.order):
        rooms = plan.scenario.rooms(n)
        step = sum(plan.scenario.feeding(u).rate * plan.step for u, _ in rooms)
        expected = plan.scenario.reserved(n) + step
        assert plan.network.links["reserved"][i] == pytest.approx(expected, abs=plan.quantum)
        assert bool(rooms) == (plan.network.links["end_ingress"][i] > 0)


def test_a_manager_of_one_class_sees_its_queue() -> None:
    rule = PFC((1,), 10.0, 5.0, manager=RED(), managed=0)
    plan = plan_of_of_link_tables(rule, priorities=(0, 1))
    last = plan.network.links[plan.layout.order.index(1)]
    (seen,) = range(last["first_managed"], last["end_managed"])
    flow = plan.layout.flow_of[plan.layout.bands[seen, 2]]
    assert plan.scenario.flows[flow].priority == 0


# Which links queue, how each serves its queues, and what the engine refuses.


def two_flows_of_queue_types(discipline, **second) -> Scenario:
    flows = (Flow("a", (1, 2, 3), CBR(1.0)), Flow("b", (2, 3), CBR(1.0), **second))
    links = chain(3, rate=100.0, delay=1e-3, buffer=500, discipline=discipline)
    return Scenario("two flows", links, flows)


@pytest.mark.parametrize(
    ("discipline", "queue_type"),
    [
        (FIFO(), SHARED_FIFO),
        (Pause(50.0, 25.0), SHARED_FIFO),
        (RED(), SHARED_FIFO),
        (Fair(), FAIR_SHARES),
        (Priority(), FAIR_SHARES),
        (DFC(), PER_FLOW_RATE),
        (DFC(per="input"), PER_INPUT),
    ],
    ids=repr,
)
def test_the_queue_type_of_a_link_with_two_flows(discipline, queue_type: int) -> None:
    _, queue_types = queueing(two_flows_of_queue_types(discipline))
    assert queue_types[1] == queue_type


def test_a_fifo_link_with_one_flow_is_served_at_a_rate_of_its_own() -> None:
    _, queue_types = queueing(two_flows_of_queue_types(FIFO()))
    assert queue_types[0] == PER_FLOW_RATE


def test_a_slower_link_behind_a_faster_one_queues() -> None:
    scenario = replace(two_flows_of_queue_types(FIFO()), flows=(Flow("a", (1, 2, 3), Reno()),))
    assert queueing(scenario)[0] == [True, False]
    slow = (scenario.links[0], replace(scenario.links[1], rate=50.0))
    assert queueing(replace(scenario, links=slow))[0] == [True, True]


def test_a_discipline_that_the_engine_does_not_know_is_refused() -> None:
    class Own(FIFO):
        """Looks like a FIFO queue and may mean something else."""

    links = (Link("a", "b", 1000.0, 0.01, 50, Own()),)
    scenario = Scenario("own", links, (Flow("f", "ab", CBR(100.0)),), duration=0.1)
    with pytest.raises(ValueError, match=r"discipline of link .*not Own"):
        simulate(scenario, level="fluid")
