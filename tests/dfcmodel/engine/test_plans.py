"""Plans: delays in whole steps, amounts that add up exactly, tables at t = 0."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Scenario, chain, takano2006
from dfcmodel.engine.plans import Plan, compile_scenario, finest_quantum, whole_steps

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
