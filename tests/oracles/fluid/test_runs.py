"""Runs of the fluid oracle: feedback, losses on their way, traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Fair, Flow, Fluid, Link, Scenario
from responsefn import Reno
from tests.oracles.engines import compile_scenario
from tests.oracles.fluid import runs as reference
from tests.oracles.fluid.feedback import Feedback
from tests.oracles.fluid.losses import LossCurve, pieces
from tests.oracles.fluid.traffic import Traffic

# The step of the reference by hand: delays, service, equal shares; the rest against the engine in `test_reference`.


def test_packets_arrive_one_delay_later_and_what_exceeds_the_rate_waits() -> None:
    links = (Link("a", "b", 1000.0, 10e-3, 500.0), Link("b", "c", 500.0, 10e-3, 500.0))
    flow = Flow("f", "abc", CBR(800.0), host="direct")
    scenario = Scenario("one", links, (flow,), duration=0.1)
    fluid = Fluid(store_and_forward=False)
    found = reference.advance(compile_scenario(scenario, fluid, np.random.default_rng(0)), 40, 40)
    # of 100 ms 90 are left behind the first link, and 80 behind the second
    assert found.queued.max() == pytest.approx(300.0 * 90e-3, abs=800.0 * 2.5e-3)
    assert found.flows[0, 0, 1] == pytest.approx(500.0 * 80e-3, abs=500.0 * 2.5e-3)
    assert found.lost.sum() == 0.0


def test_fair_shares_are_equal_and_none_more_than_a_flow_sends() -> None:
    link = (Link("a", "b", 900.0, 4e-3, 1e3, Fair()),)
    flows = [Flow(f"{n}", "ab", CBR(rate)) for n, rate in enumerate((100.0, 600.0, 900.0))]
    scenario = Scenario("fair", link, flows, duration=0.5)
    plan = compile_scenario(scenario, Fluid(), np.random.default_rng(0))
    found = reference.advance(plan, 400, 200)
    late = (found.flows[1, :, 1] - found.flows[0, :, 1]) / (200 * plan.step)
    assert late == pytest.approx([100.0, 400.0, 400.0], rel=1e-3)


# Rates of flows with DFC in the reference, by hand; takano2006, eqs. (2), (5) and (13).


def feedback(flows: int) -> Feedback:
    rule = DFC(diffusion=0.5, intensity=1.0, phases="synchronous")
    links = [Link(a, b, 1000.0, 4e-3, 50.0, rule) for a, b in ("ab", "bc")]
    own = [Flow(f"{n}", "abc", CBR(900.0), host="direct") for n in range(flows)]
    plan = compile_scenario(Scenario("one", links, own), Fluid(), np.random.default_rng(0))
    one = Feedback(plan, Traffic(plan))
    for f in range(flows):
        one.start(f)
    return one


def test_flows_that_want_more_than_the_link_have_it_in_proportion() -> None:
    one = feedback(2)
    assert one.rates(0, 1.0).tolist() == [0.5, 0.5]
    one.told[0, one.cells(0)] = 0.25, 1.0
    assert one.rates(0, 1.0).tolist() == [0.2, 0.8]


def test_a_longer_queue_ahead_slows_a_flow_by_the_diffusion() -> None:
    """J = r - D/d (n' - n): 1 - 0.125 (6 - 2) packets per step of 1 ms."""
    one = feedback(1)
    cell = one.cells(0)
    one.told[1, cell], one.traffic.queue[cell] = 6.0, 2.0
    assert one.rates(0, 1.0).tolist() == [0.5]


def test_messages_take_a_period_and_end_with_the_flow() -> None:
    one = feedback(1)
    first, second = one.cells(0)[0], one.cells(1)[0]
    one.traffic.queue[second] = 3.0
    one.exchange(0)
    assert one.told[1, first] == 0.0
    one.exchange(4)
    assert one.told[1, first] == 3.0
    assert one.budget[first] == 1.0 - 0.125 * 3.0
    one.finish(0)
    one.exchange(8)
    assert one.budget[first] == 0.0
    assert not one.sends.any()


# The reference with a queue per input: what the law says of inputs, by hand.


@pytest.mark.slow
def test_inputs_have_equal_rates_whatever_their_number_of_flows() -> None:
    """Two flows over one input and one over another share a link 1/4, 1/4, 1/2."""
    rule = DFC(diffusion=0.5, per="input", phases="synchronous")
    links = [Link("a", "m", 1e3, 1e-3, 500, rule), Link("b", "m", 1e3, 1e-3, 500, rule)]
    links.append(Link("m", "z", 1e3, 1e-3, 500, rule))
    flows = [Flow(f"{n}", way, CBR(900.0)) for n, way in enumerate(("amz", "amz", "bmz"))]
    scenario = Scenario("inputs", links, flows, duration=3.0)
    plan = compile_scenario(scenario, Fluid(1), np.random.default_rng(0))
    found = reference.advance(plan, 3000, 1500)
    late = found.flows[1, :, 1] - found.flows[0, :, 1]
    assert late / late.sum() == pytest.approx([0.25, 0.25, 0.5], abs=0.01)


# Losses on their way in the reference, by hand: densities, stretches all lost, marks, two queues.

Q = 2.0**-26


def curve(*stretches: tuple[float, float, float, float]) -> LossCurve:
    found = LossCurve(Q)
    for first, end, lost, marked in stretches:
        found.add(first, end, lost, marked, 0.0)
    return found


def test_what_came_is_a_curve_over_what_left() -> None:
    one = curve((4.0, 8.0, 2.0, 0.0), (10.0, 11.0, 1.0, 0.0))
    assert [one.came(left) for left in (3.0, 4.0, 5.0, 6.0, 8.0)] == [3.0, 4.0, 6.0, 8.0, 10.0]
    assert one.came(8.0, after=True) == 11.0  # behind the packet of which nothing leaves
    assert [one.left(came) for came in (3.0, 6.0, 8.0, 10.0, 11.0)] == [3.0, 5.0, 6.0, 8.0, 8.0]


def test_a_receiver_sees_each_density_for_itself() -> None:
    one = curve((4.0, 8.0, 2.0, 0.0), (10.0, 11.0, 1.0, 0.0))
    assert list(pieces([one], 3.0, 9.0)) == [
        (1.0, 1.0, 0.0),
        (2.0, 4.0, 0.0),
        (2.0, 2.0, 0.0),
        (0.0, 1.0, 0.0),
        (1.0, 1.0, 0.0),
    ]
    assert list(pieces([one], 3.0, 3.0)) == []


def test_short_stretches_that_touch_are_one() -> None:
    one = curve((4.0, 4.5, 0.1, 0.0), (4.5, 5.0, 0.3, 0.0), (6.0, 6.5, 0.1, 0.0))
    assert [(each.first, each.end, each.lost) for each in one.stretches] == [
        (4.0, 5.0, pytest.approx(0.4)),
        (6.0, 6.5, 0.1),
    ]


def test_what_was_read_of_a_stretch_stays_as_it_was() -> None:
    one = curve((4.0, 4.5, 0.25, 0.0))
    one.add(4.5, 5.0, 0.25, 0.0, 4.125)  # half of what left of the stretch was read
    assert [(each.first, each.end, each.lost) for each in one.stretches] == [
        (4.0, 4.25, 0.125),
        (4.25, 5.0, 0.375),
    ]


def test_a_packet_is_marked_once_and_a_lost_one_not_at_all() -> None:
    all_marked = curve((0.0, 8.0, 0.0, 8.0))
    half_marked = curve((0.0, 8.0, 0.0, 4.0))
    half_lost = curve((0.0, 8.0, 4.0, 0.0))
    assert list(pieces([all_marked, all_marked], 0.0, 2.0)) == [(2.0, 2.0, 2.0)]
    assert list(pieces([half_marked, half_marked], 0.0, 4.0)) == [(4.0, 4.0, 3.0)]
    assert list(pieces([all_marked, half_lost], 0.0, 2.0)) == [(2.0, 4.0, 2.0)]
    both = curve((0.0, 4.0, 0.0, 4.0))
    both.add(0.0, 4.0, 3.0, 0.0, 0.0)  # three of four are lost in the same step
    assert list(pieces([both], 0.0, 1.0)) == [(1.0, 4.0, 1.0)]


# Ways and books of the reference, by hand: parts of steps, whole packets, losses.


@pytest.fixture
def traffic() -> Traffic:
    """Two links, the first 5 steps and a quarter long; its queue is number 1, the next 2, the host's 0."""
    links = (Link("a", "b", 1600.0, 5.25e-3, 50.0), Link("b", "c", 1000.0, 4e-3, 50.0))
    flow = Flow("f", "abc", Reno(), 20.0, host="direct")
    fluid = Fluid(store_and_forward=False)
    plan = compile_scenario(Scenario("one", links, (flow,)), fluid, np.random.default_rng(0))
    assert plan.step == 1e-3
    return Traffic(plan)


def test_what_leaves_arrives_after_the_delay_in_two_steps(traffic: Traffic) -> None:
    lag = int(traffic.lag[1])
    came = []
    for k in range(9):
        came.append(traffic.arrive(2) if lag else 0.0)
        traffic.depart(1, 1.0 if k == 0 else 0.0)
    assert lag == 5
    assert came[lag : lag + 2] == [0.75, 0.25]
    assert traffic.came[2] == sum(came) == 1.0
    assert traffic.inside(1) == 0.0


def test_a_loss_is_noted_where_and_when_it_was(traffic: Traffic) -> None:
    traffic.came[2], traffic.queue[2] = 8.0, 3.0
    traffic.drop_tail(2, 1.0, 2.0, 0.25, 0.5)
    traffic.drop_tail(2, 0.0, 2.0, 0.25, 0.1)
    assert (traffic.lost[2], traffic.queue[2], traffic.first_loss[0]) == (1.0, 2.0, 0.5)
    (stretch,) = traffic.curves[2].stretches
    assert (stretch.first, stretch.end, stretch.lost) == (6.5, 8.0, 1.0)
    assert replace(stretch).leaves == 0.5
