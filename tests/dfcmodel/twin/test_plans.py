"""Constants of the JAX model: delays in steps, clocks, and scenarios that it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, FIFO, Flow, Pause, Scenario, chain, takano2006
from dfcmodel.theory.clocks import tick_phases
from dfcmodel.twin.plans import common_pause, plan_of


def test_an_acknowledgement_takes_the_propagation_delay_and_the_access_link() -> None:
    """The packets' own way is the links' slots; the way back has no queues."""
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 4)
    assert plan.periods.tolist() == [4] * 15
    for f, flow in enumerate(scenario.flows):
        back = 4 * len(flow.hops) + 4  # a shaped host has an access link
        assert plan.ack_delay[f] == back


def test_phases_are_drawn_as_the_engine_draws_them() -> None:
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 8, rng=3)
    drawn = tick_phases(scenario, 3)
    wanted = [int(drawn[link.target] * 8) for link in scenario.links]
    np.testing.assert_array_equal(plan.feedback_phase, wanted)


def pausing(**change) -> Scenario:
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0))
    second = replace(links[1], **change) if change else links[1]
    return Scenario("pause", (links[0], second), [Flow("one", (1, 2, 3), CBR(1.0))])


def test_links_that_pause_alike_have_a_common_pause() -> None:
    assert common_pause(pausing()) == Pause(50.0, 25.0)
    assert common_pause(takano2006("1")) is None


@pytest.mark.parametrize(
    "change",
    [{"rate": 2e4}, {"buffer": 200}, {"discipline": Pause(60.0, 25.0)}, {"discipline": FIFO()}],
    ids=str,
)
def test_links_that_differ_are_refused(change) -> None:
    with pytest.raises(ValueError, match=r"must be equal, but differ between 1->2 and 2->3"):
        common_pause(pausing(**change))


def test_links_that_are_no_chain_are_refused() -> None:
    links = chain(4, rate=1e4, delay=1e-3, buffer=100, discipline=DFC())
    apart = Scenario("apart", (links[0], links[2]), [Flow("one", (1, 2), CBR(1.0))])
    with pytest.raises(ValueError, match="must be one chain, but 1->2 leads to 3->4"):
        common_pause(apart)
