"""Constants of the JAX model: delays in steps, clocks, and who pauses whom."""

from __future__ import annotations

import numpy as np

from dfcmodel import CBR, Flow, Link, Pause, Scenario, takano2006
from dfcmodel.theory.clocks import tick_phases
from dfcmodel.twin.plans import plan_of, shape_of

B, d = 10_000.0, 1e-3


def test_an_acknowledgement_takes_the_propagation_delay_and_the_access_link() -> None:
    """The packets' own way is the links' slots; the way back has no queues."""
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 4)
    assert plan.periods.tolist() == plan.lag[: plan.last[0] + 1].tolist() == [4] * 15
    for f, flow in enumerate(scenario.flows):
        back = 4 * len(flow.hops) + 4  # a shaped host has an access link
        assert plan.ack_delay[f] == back


def test_phases_are_drawn_as_the_engine_draws_them() -> None:
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 8, rng=3)
    drawn = tick_phases(scenario, 3)
    wanted = [int(drawn[link.target] * 8) for link in scenario.links]
    np.testing.assert_array_equal(plan.feedback_phase, wanted)


def test_what_the_way_back_leaves_of_a_step_is_on_the_way_there() -> None:
    links = (Link("a", "r", B, 1.37, 100), Link("r", "s", B, 1.0, 100))
    plan = plan_of(Scenario("parts", links, [Flow("one", "ars", CBR(1.0), host="direct")]), 1.0)
    assert plan.ack_delay.tolist() == [2]
    np.testing.assert_allclose(plan.lag + plan.part, [1.37, 1.37])
    np.testing.assert_allclose(plan.access_lag + plan.access_part, [0.0])


def test_queues_pause_all_that_feeds_them_but_direct_hosts() -> None:
    """Links c and d pause b; b pauses its host, and a, from which nobody comes directly."""
    rule = Pause(50.0, 25.0)
    links = [Link(*ends, B, d, 100, rule) for ends in ("ar", "br", "rs")]
    links += [Link("s", "t", B, 2 * d, 100, rule), Link("s", "u", B, d, 100)]
    flows = [
        Flow("one", "arst", CBR(1.0), host="direct"),
        Flow("two", "brsu", CBR(1.0), host="unshaped"),
    ]
    plan = plan_of(Scenario("tree", links, flows), d / 2)
    pairs = sorted(zip(plan.pausing.tolist(), plan.paused.tolist(), strict=True))
    assert pairs == [(1, 5 + 1), (2, 0), (2, 1), (3, 2)]
    assert plan.wait.tolist() == [2, 2, 2, 2]
    shape = shape_of(Scenario("tree", links, flows), plan, 10, 2, 0.0)
    assert (shape.diffuses, shape.in_order, shape.pauses) == (False, True, True)


def test_flows_share_buffers_where_links_say_so() -> None:
    links = [Link("a", "b", B, d, 100), Link("b", "c", B, d, 100, shared=False)]
    flows = [Flow(name, "abc", CBR(1.0), host="direct") for name in "xy"]
    plan = plan_of(Scenario("shared", links, flows), d)
    assert plan.buffer_of.tolist() == [0, 1, 0, 3]


def test_a_buffer_bounds_the_steps_that_are_remembered() -> None:
    links = [Link("a", "b", B, d, 100)]
    scenario = Scenario("one", links, [Flow("x", "ab", CBR(1.0), host="direct")])
    plan = plan_of(scenario, d)
    assert shape_of(scenario, plan, 1000, 1, 0.0).waiting == 14  # ten steps at the link's rate
    assert shape_of(scenario, plan, 5, 1, 0.0).waiting == 6
