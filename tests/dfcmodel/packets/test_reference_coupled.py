"""PI2 and DualPI2 of packets: their probabilities at rest, and Scalable beside Classic senders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import PI2, DualPI2, Flow, Packets, Scenario, chain, simulate
from responsefn import DCTCP, NewReno
from tests.dfcmodel.packets.test_reference_managers import RATE, overloaded


@pytest.mark.parametrize("kind", [PI2, DualPI2])
def test_pi2_holds_its_target_at_the_square_of_its_probability(kind: Any) -> None:
    """RFC 9332, A.1: at rest the delay is the target, and p'^2 = 1 - 1000 / 1250 of all is dropped.

    What PI2 drops never waits, what DualPI2 drops has waited.
    """
    run = overloaded(kind(target=0.03), duration=40.0)
    late = run.time > 20.0
    came = RATE if kind is PI2 else 1250.0
    assert run.queued[0, late].mean() / came == pytest.approx(0.03, rel=0.05)
    assert run.lost[0, 0, late].sum() / (20.0 * 1250.0) == pytest.approx(0.2, abs=0.01)


def test_dualpi2_gives_scalable_and_classic_senders_alike_with_a_queue_of_a_millisecond() -> None:
    """RFC 9332, 2.1: the square makes windows alike; the Scalable queue has its own ramp at 0.8 to 1.2 ms.

    A factor of 2 for the windows: the square root of a mean is more than the mean of a root, and DCTCP waits
    for a mark after each window.
    """
    rules = (DCTCP(), NewReno())
    links = [*chain(2, rate=4000.0, delay=10e-3, buffer=1000.0, discipline=DualPI2())]
    both = tuple(Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules))
    run = simulate(Scenario("dual", tuple(links), both, duration=40.0), method=Packets(seed=1))
    first, second = np.ptp(run.delivered[:, run.time > 10.0], axis=1)
    windows = run.window[:, run.time > 10.0].mean(axis=1)
    assert 0.5 < windows[0] / windows[1] < 2.0
    assert first + second > 0.9 * 30.0 * 4000.0
    assert run.lost[0].sum() == 0  # DCTCP's packets are marked
    trip = run.round_trip[:, run.time > 10.0].mean(axis=1) - 20e-3
    assert trip[0] < 2.5e-3
    assert trip[1] > 5e-3
