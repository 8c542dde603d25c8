"""Queue managers of packets: control laws of their RFCs, under sources that do not react."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    PIE,
    CoDel,
    Flow,
    Packets,
    QueueManager,
    RampMarking,
    Scenario,
    StepMarking,
    chain,
    simulate,
)
from responsefn import DCTCP
from tests.oracles.engines import ENGINES, NAMES

RATE = 1000.0


def overloaded(
    discipline: QueueManager,
    load: float = 1250.0,
    duration: float = 20.0,
    simulate: Any = simulate,
    **options: Any,
) -> Any:
    """Run a source of constant rate over a link of 1000 packets/s."""
    links = chain(2, rate=RATE, delay=1e-3, buffer=500.0, discipline=discipline)
    scenario = Scenario("overload", links, (Flow("f", (1, 2), CBR(load)),), duration=duration)
    return simulate(scenario, method=Packets(seed=1, **options), sample=1e-3)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_codel_drops_at_intervals_over_the_square_root_of_the_count(simulate: Any) -> None:
    """RFC 8289, 5.3: drops are at departures, here 1 ms apart, from one interval after the target."""
    run = overloaded(CoDel(target=0.005, interval=0.1), duration=1.5, simulate=simulate)
    times = np.repeat(run.time, run.lost[0, 0].astype(int))[:20]
    law = np.cumsum(0.1 / np.sqrt(np.arange(1, 20)))
    assert len(times) == 20
    assert np.abs(times[1:] - times[0] - law).max() < 2e-3


@pytest.mark.parametrize("target", [0.015, 0.05])
def test_pie_holds_its_target_at_the_drop_probability_of_the_overload(target: float) -> None:
    """RFC 8033, 4.2: at rest the delay is the target, and 1 - 1000 / 1250 of all is dropped."""
    run = overloaded(PIE(target=target))
    late = run.time > 10.0
    assert run.queued[0, late].mean() / RATE == pytest.approx(target, rel=0.05)
    dropped = run.lost[0, 0, late].sum() / (10.0 * 1250.0)
    assert dropped == pytest.approx(0.2, abs=0.01)


def test_pie_spares_a_burst_that_is_shorter_than_its_allowance() -> None:
    """RFC 8033, 4.4: a burst of 100 ms fills the queue to 25 packets without a drop, and is over."""
    links = chain(2, rate=RATE, delay=1e-3, buffer=500.0)
    lost = []
    for burst in (0.15, 0.0):
        pie = PIE(target=1e-3, alpha=12.5, beta=125.0, burst=burst)
        managed = (replace(links[0], discipline=pie),)
        scenario = Scenario("burst", managed, (Flow("f", (1, 2), CBR(1250.0)),), duration=0.1)
        lost.append(simulate(scenario, method=Packets(seed=1)).lost.sum())
    assert lost[0] == 0
    assert lost[1] > 0


def test_ramp_marking_drops_what_cannot_be_marked_by_the_queue() -> None:
    """The queue settles where the probability is that of the overload: 10 + 20 * 0.2 / 0.5."""
    run = overloaded(RampMarking(10.0, 30.0, 0.5, at="arrival"))
    assert run.queued[0, run.time > 5.0].mean() == pytest.approx(18.0, abs=0.5)


def test_a_manager_of_what_leaves_drops_nothing() -> None:
    run = overloaded(RampMarking(10.0, 30.0, 0.5))
    full = overloaded(FIFO())
    np.testing.assert_array_equal(
        run.lost, full.lost
    )  # by the full buffer, as what cannot be marked passes


def test_a_users_manager_drops_the_parts_that_it_asks_for() -> None:
    """A hundredth of each packet: every hundredth packet."""

    @dataclass(frozen=True)
    class Hundredth(QueueManager):
        part: float = 0.01

        @staticmethod
        def on_step(s: Any, q: Any, e: Any) -> Any:
            return s._replace(drop=q.part * e.arrivals)

    run = overloaded(Hundredth(), 500.0)
    assert run.lost.sum() == pytest.approx(0.01 * 500.0 * 20.0, abs=1.0)


def test_dctcp_keeps_the_queue_at_the_threshold_without_loss() -> None:
    """Alizadeh et al. 2011, eq. 6 and 8: the queue is at most K + N, and oscillates below it."""
    K, flows = 40.0, 2
    links = chain(2, rate=1e5, delay=1e-4, buffer=500.0, discipline=StepMarking(K))
    all_of = tuple(Flow(f"{n}", (1, 2), DCTCP(), start=1e-3 * n) for n in range(flows))
    run = simulate(Scenario("dctcp", links, all_of, duration=1.0), method=Packets(), sample=1e-4)
    late = run.queued[0, run.time > 0.3]
    pipe = 1e5 * 2e-4 + K
    assert run.lost.sum() == 0
    assert late.max() <= K + flows + 1
    assert np.ptp(late) == pytest.approx(0.5 * np.sqrt(2 * flows * pipe), rel=0.5)
    assert (run.delivered[:, -1] - run.delivered[:, 2999]).sum() / 0.7 == pytest.approx(
        1e5, rel=1e-3
    )
