"""Schedules of feedback: one message per period and link, phases of the nodes, delays of pauses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Pause, Scenario, chain, takano2006
from dfcmodel.engine.feedback_schedules import feedback, pauses
from dfcmodel.engine.layouts import layout_of
from hopflow import mbps, us


def with_law(**law) -> Scenario:
    scenario = takano2006("4S")
    return replace(
        scenario, links=tuple(replace(link, discipline=DFC(**law)) for link in scenario.links)
    )


def schedule(scenario: Scenario, seed: int = 0):
    layout = layout_of(scenario, [4] * len(scenario.links))
    h = scenario.links[0].delay / 4
    return layout, feedback(scenario, layout, h, np.random.default_rng(seed))


def slots(found) -> np.ndarray:
    """Number of links whose rates are set in each slot of the period."""
    return found["slots"]["hear_end"].astype(int) - found["slots"]["hear_one"].astype(int)


def test_synchronous_clocks_tick_together() -> None:
    layout, found = schedule(with_law(phases="synchronous"))
    assert found["clocks"]["period"].tolist() == [4]
    assert slots(found).tolist() == [len(layout.order) + len(layout.shaped), 0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_every_link_has_one_tick_per_period(seed: int) -> None:
    layout, found = schedule(with_law(), seed)
    assert slots(found).sum() == len(layout.order) + len(layout.shaped)
    assert np.count_nonzero(slots(found)) > 1


def test_phases_are_those_of_the_seed() -> None:
    one, same, other = (schedule(with_law(), seed)[1]["hearing"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_pause_takes_the_delay_of_the_paused_link_and_the_signalling() -> None:
    links = chain(
        3, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0, signalling=2e-3)
    )
    flow = Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")
    scenario = Scenario("pause", links, [flow], duration=0.1)
    layout = layout_of(scenario, [4, 4])
    found = pauses(scenario, layout, 2.5e-4, 2.0**-20)
    # the host by the first queue, the first link by the second queue: 1 ms + 2 ms
    assert found[["pausing", "paused", "wait"]].tolist() == [(0, -1, 12), (1, 0, 12)]
    assert found[["high", "low", "part"]].tolist() == [(50.0, 25.0, 0.0)] * 2


def test_pauses_take_effect_within_a_step() -> None:
    """1 ms and 2.1 ms of signalling in steps of 0.25 ms: 12 steps and four tenths."""
    law = Pause(50.0, 25.0, signalling=2.1e-3)
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=law)
    scenario = Scenario("pause", links, [Flow("one", (1, 2, 3), CBR(1.0), host="unshaped")], 0.1)
    found = pauses(scenario, layout_of(scenario, [4, 4]), 2.5e-4, 2.0**-20)
    assert found["wait"].tolist() == [12, 12]
    assert found["part"] == pytest.approx([0.4, 0.4])


def test_a_direct_host_is_not_paused() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=100, discipline=Pause(50.0, 25.0))
    scenario = Scenario("pause", links, [Flow("one", (1, 2), CBR(1.0))], duration=0.1)
    assert len(pauses(scenario, layout_of(scenario, [4]), 2.5e-4, 2.0**-20)) == 0


def test_quanta_need_not_be_whole_steps() -> None:
    """Four quanta of 512 bit times at 120 Mb/s are 17 microseconds; a step is 25."""
    links = chain(
        3, rate=mbps(120), delay=us(100), buffer=400, discipline=Pause(30.0, 10.0, quanta=4)
    )
    scenario = Scenario("quanta", links, [Flow("one", (1, 2, 3), CBR(1500.0))], duration=0.01)
    found = pauses(scenario, layout_of(scenario, [4, 4]), 25e-6, 2.0**-20)
    assert found["quanta"] * 25e-6 == pytest.approx(4 * 512 / 120e6)
