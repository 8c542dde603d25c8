"""Vegas with its own slow start."""

from __future__ import annotations

import numpy as np

from dfcmodel import simulate, takano2006
from validation.claims.takano2006 import vegas_runs


def test_vegas_ends_its_slow_start_at_the_queue_of_its_own_burst() -> None:
    """Of W packets sent at twice the link rate W/2 wait behind each other, W/4 on average."""
    run = vegas_runs.fluid("without DFC")
    fits = run.scenario.links[0].rate * run.scenario.base_rtt(run.scenario.flows[0])
    left = float(run.window[0, run.time < 0.1].max())
    assert 1 < left * left / 4 / fits < 4  # gamma; one doubling before, it was a quarter of that


def test_users_get_the_vegas_that_is_judged() -> None:
    """Nothing is lost, as in ns-2 (`vegas_runs.NS2`); with Reno's slow start thousands of packets were."""
    run = simulate(takano2006("4V", dfc=False), duration=vegas_runs.END, level="fluid")
    np.testing.assert_array_equal(run.delivered, vegas_runs.fluid("without DFC").delivered)
    assert run.lost.sum() == 0.0


def test_means_within_a_tenth_are_alike() -> None:
    assert vegas_runs.alike(1.0, 0.95, 0.1)
    assert not vegas_runs.alike(0.85, 1.0, 0.1)
