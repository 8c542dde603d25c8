"""Rates and intervals of a simulated flow, by hand and by what 95 % means."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Deterministic, Independent, Reno, independent_constant, simulate_rule
from responsefn.simulation.single_flow_results import measured


def test_rate_and_windows_are_sums_over_what_is_measured():
    """Two cycles of 10 packets in 2 s and 30 packets in 2 s: 10 packets/s, windows by their integrals."""
    cycle = np.array([[2.0, 10.0, 8.0, 50.0, 6.0], [2.0, 30.0, 12.0, 250.0, 8.0]])
    run = measured(Reno(), Deterministic(), 0.05, 0.1, "acks", [np.tile(cycle, (50, 1))])
    assert (run.rate, run.half_width) == (10.0, 0.0)
    assert run.mean_window == pytest.approx(20.0 / 4.0)
    assert run.packet_mean_window == pytest.approx(300.0 / 40.0)
    assert run.peak_window == pytest.approx(7.0)
    assert run.loss_event_rate == pytest.approx(2 / 40)
    assert run.packets == 40 * 40  # the first fifth of 100 cycles is left out
    np.testing.assert_allclose(run.times, 2.0 * np.arange(1, 101))


def test_about_95_of_100_intervals_hold_the_exact_rate():
    """Batches of 160 cycles hardly depend on each other: binomial, 95 less three deviations of 2.2."""
    exact = independent_constant(0.5) * Reno().rate(1e-5, 0.1)
    runs = (
        simulate_rule(Reno(), 1e-5, 0.1, Independent(), events=4000, method="cycles", rng=seed)
        for seed in range(100)
    )
    held = sum(abs(run.rate - exact) <= run.half_width for run in runs)
    assert held >= 88
