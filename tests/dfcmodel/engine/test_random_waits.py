"""Random waits of senders: the fluid's delays beside those of single packets, as ns-2 draws them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel.engine.kernel.endpoints import released

NUMBER = 20_000


def delays_of_packets(spacing: float, longest: float) -> np.ndarray:
    """Return the waits of packets: one that finds no wait begins one, and all leave at its end."""
    random = np.random.default_rng(1)
    found, end = np.empty(NUMBER), -1.0
    for n in range(NUMBER):
        if n * spacing >= end:
            end = n * spacing + random.uniform(0.0, longest)
        found[n] = end - n * spacing
    return found


def delays_of_fluid(spacing: float, longest: float) -> np.ndarray:
    """Return how long ago what has been let go was emitted, in each step."""
    flow = SimpleNamespace(
        jitter=longest, ack_lag=100, start=0, wait_begin=0.0, wait_end=0.0, waited=0.0, seed=12345
    )
    emitted = np.zeros((256, 1))
    found, before = np.empty(NUMBER), 0.0
    for k in range(1, NUMBER + 1):
        emitted[k % 256, 0] = k / spacing
        before = max(before, released(flow, 0, k, emitted))
        found[k - 1] = k - before * spacing
    return found[256:]


@pytest.mark.parametrize(
    ("spacing", "longest"), [(10.0, 0.5), (10.0, 3.0), (0.1, 3.0), (0.01, 3.0), (0.01, 0.8)]
)
def test_random_waits_delay_the_fluid_as_they_delay_packets(spacing: float, longest: float) -> None:
    """Mean and deviation, of the longest wait; 0.02 is four standard errors of 700 waits' mean.

    From one packet per wait (mean 1/2) to hundreds (mean 1/3): waits of several packets last.
    """
    packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
    assert fluid.mean() == pytest.approx(packets.mean(), abs=0.02 * longest)
    assert fluid.std() == pytest.approx(packets.std(), abs=0.02 * longest)


def test_waits_of_few_packets_delay_the_fluid_a_little_less() -> None:
    """A fluid has no whole packets: at one to six packets per wait it is early by up to 0.1 of it."""
    for spacing, longest in [(1.0, 3.0), (5.0, 20.0), (3.0, 20.0)]:
        packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
        assert 0.0 < packets.mean() - fluid.mean() < 0.1 * longest
