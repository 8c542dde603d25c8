"""Plans: delays in whole steps, amounts that add up exactly, tables at t = 0."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, RED, Flow, Scenario, chain, takano2006
from dfcmodel.engine.kernel.columns import BUDGET, GENTLE, HIGH, LOW, MAX_P, START, UNIT, WEIGHT
from dfcmodel.engine.plans import Plan, compile_scenario, finest_quantum, whole_steps


def plan_of(scenario: Scenario, steps_per_delay: int = 4) -> Plan:
    return compile_scenario(scenario, steps_per_delay, np.random.default_rng(0))


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
    quanta = plan.state.rate / plan.quantum
    np.testing.assert_array_equal(quanta, np.floor(quanta))
    assert np.all((plan.state.rate <= rate) & (plan.state.rate > rate - plan.quantum))


def test_flows_start_in_the_step_of_their_time() -> None:
    plan = plan_of(takano2006("1"))
    assert plan.state.flow[:, START].tolist() == [0, round(0.1 / plan.step)]


def test_a_direct_host_is_not_limited_and_an_unshaped_one_has_the_rate_of_its_link() -> None:
    for host, wanted in (("direct", math.inf), ("unshaped", 250.0)):
        flow = Flow("one", (1, 2), CBR(10.0), host=host)
        links = chain(2, rate=1e6, delay=1e-3, buffer=9)
        plan = plan_of(Scenario("host", links, [flow], duration=0.1))
        assert plan.state.cell[0, BUDGET] == pytest.approx(wanted, rel=1e-6)


def test_red_counts_bytes_in_units_of_its_mean_packet() -> None:
    """ns-2 multiplies the probability by packet size over mean packet size."""
    red = RED(5, 15, weight=0.01, max_p=0.2, gentle=False, mean_packet=500)
    links = chain(2, rate=1e3, delay=1e-3, buffer=50, discipline=red)
    flows = [Flow(name, (1, 2), CBR(10.0)) for name in "ab"]
    scenario = Scenario("red", links, flows, duration=0.1, packet_size=1000)
    row = plan_of(scenario).state.red[0]
    assert row[[LOW, HIGH, WEIGHT, MAX_P, GENTLE, UNIT]].tolist() == [5, 15, 0.01, 0.2, 0, 2]
    plain = tuple(replace(n, discipline=replace(red, mean_packet=None)) for n in links)
    assert plan_of(replace(scenario, links=plain)).state.red[0, UNIT] == 1.0
