"""Queues of the reference: what each discipline is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, RED, Fair, Flow, Packets, Pause, Priority, Scenario, chain
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.records import Records
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.packets.simulation import run_reference


def run_two(discipline, rates=(900.0, 300.0), **link) -> Records:
    """Run two sources of constant rate over one link of 800 packets/s."""
    fields = {"rate": 800.0, "delay": 1e-3, "buffer": 20.0, "discipline": discipline, **link}
    flows = tuple(Flow(f"flow{n}", (1, 2), CBR(rate), priority=n) for n, rate in enumerate(rates))
    scenario = Scenario("two", chain(2, **fields), flows, duration=4.0)
    return run_reference(plan_of(scenario, Packets(seed=1)))


def test_fair_queues_give_equal_shares_and_what_is_not_used() -> None:
    """Max-min: 300 of the 800 packets/s to the small one, 500 to the other."""
    run = run_two(Fair())
    np.testing.assert_allclose(run.total / 4.0, [500.0, 300.0], rtol=0.02)


def test_a_priority_goes_first() -> None:
    """Flow 0 has the first rank: it fills the link and starves the other."""
    run = run_two(Priority())
    np.testing.assert_allclose(run.total / 4.0, [800.0, 0.0], rtol=0.02, atol=6.0)


def test_a_fifo_queue_drops_the_excess() -> None:
    run = run_two(FIFO())
    assert run.total.sum() / 4.0 == pytest.approx(800.0, rel=0.02)
    assert run.drops.sum() / 4.0 == pytest.approx(400.0, rel=0.05)
    assert run.peak[0] == 20


def test_random_early_detection_keeps_the_average_between_its_thresholds() -> None:
    run = run_two(RED(low=2.0, high=8.0, weight=0.02, max_p=0.5), buffer=100.0)
    waiting = np.cumsum(run.waiting[:, 0])[100:-1]
    assert 2.0 < waiting.mean() < 16.0
    assert run.peak[0] < 100


def test_pause_loses_nothing_where_the_port_before_can_hold_it() -> None:
    links = chain(3, rate=800.0, delay=1e-3, buffer=60.0, discipline=Pause(high=10.0, low=5.0))
    slow = replace(links[1], rate=400.0)
    flow = Flow("flow", (1, 2, 3), CBR(500.0))
    scenario = Scenario("pause", (links[0], slow), (flow,), duration=0.4)
    run = run_reference(plan_of(scenario, Packets(seed=1)))
    assert run.drops.sum() == 0
    assert 10 < run.peak[1] <= 10 + 1 + 800.0 * 2e-3 + 1  # one in transmission, a round trip


@pytest.mark.parametrize("engine", [run_reference, run_engine])
def test_a_port_that_is_paused_before_it_sends_keeps_to_its_buffer(engine) -> None:
    """Nothing is in transmission when the pause comes; what arrives then has the buffer's 20 places."""
    links = chain(3, rate=800.0, delay=1e-3, buffer=20.0, discipline=Pause(high=10.0, low=5.0))
    faulty = replace(links[1], discipline=Pause(high=10.0, low=5.0, storm=0.0))
    flow = Flow("flow", (1, 2, 3), CBR(500.0), start=0.05, host="direct")
    scenario = Scenario("paused", (links[0], faulty), (flow,), duration=0.4)
    run = engine(plan_of(scenario, Packets(seed=1)))
    assert run.peak[0] == 20
    assert run.drops[0] > 100


@pytest.mark.parametrize("engine", [run_reference, run_engine])
@pytest.mark.parametrize("quanta", [1, 482])
def test_pauses_by_quanta_last_whole_numbers_of_them(engine, quanta: int) -> None:
    """They begin with the packet that is above ``high``, and end with quanta after which ``low`` is reached.

    A packet is 0.1 ms; 482 quanta of 512 bits of the link of 120 Mb/s are 2.06 ms.
    """
    links = chain(4, rate=1e4, delay=1e-3, buffer=1e3, discipline=Pause(41.0, 22.0, quanta=quanta))
    flows = (
        Flow("first", (1, 2, 3, 4), CBR(1e4), host="direct"),
        Flow("joins", (2, 3, 4), CBR(4e3), host="direct"),
    )
    plan = plan_of(Scenario("quanta", links, flows, duration=0.1), Packets(seed=1))
    run = engine(plan)
    times = np.array([time for time, p, *_ in run.switched if p == 1])
    span = quanta * 512 / (1e4 * 12_000)
    lasting = np.diff(times)[::2] / span
    assert len(lasting) > 3
    np.testing.assert_allclose(lasting, np.round(lasting), atol=1e-6)
    assert run.peak[1] <= 41 + 1e4 * 2e-3 * 1.4 + 2  # what comes until the pause is obeyed
    first = 41 / (1.4e4 - 1e4)  # s: it grows by 4000 packets/s
    assert times[0] == pytest.approx(first + 1e-3, abs=3e-4)  # and begins after the first link
