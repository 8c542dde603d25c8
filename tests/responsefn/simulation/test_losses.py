"""Models of losses against their definitions and the constant of independent loss."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    Deterministic,
    Gilbert,
    Independent,
    Reno,
    independent_constant,
    simulate_rule,
)
from responsefn.simulation.ratio_checks import RTT


@pytest.mark.parametrize("b", [0.5, 0.25, 0.125])
def test_constant_of_independent_loss(b):
    """Exact recursion of the window's square against the formula, and against the simulation."""
    rng = np.random.default_rng(7)
    y = np.zeros(200_000)
    for _ in range(round(20 / b)):
        y = (1 - b) ** 2 * y + rng.exponential(size=y.size)
    # E[Y^(-1/2)] over packets, Y seen anywhere: before a loss it is the sum with E_0
    inverse_root = np.mean(y**-0.5)  # the rate is 1/(R E[1/W]) with W = sqrt(2aY/p)
    error = 4 * np.std(y**-0.5) / np.sqrt(y.size) / inverse_root
    exact = 2 * np.sqrt(b / (2 - b)) / inverse_root
    assert exact == pytest.approx(independent_constant(b), rel=error)
    run = simulate_rule(AIMD(1, b), 1e-5, RTT, Independent(), events=20_000, rng=3)
    ratio = run.rate / AIMD(1, b).rate(1e-5, RTT)
    assert ratio == pytest.approx(
        independent_constant(b), abs=4 * run.half_width / run.rate * ratio
    )


def test_loss_models():
    rng = np.random.default_rng(1)
    assert Deterministic().gaps(0.3, 1000, rng).sum() == round(1000 / 0.3)
    assert Independent().gaps(0.01, 200_000, rng).mean() == pytest.approx(100, rel=0.01)
    gaps = Gilbert(4.0).gaps(0.01, 400_000, rng)
    assert gaps.mean() == pytest.approx(100, rel=0.02)
    assert np.mean(gaps == 1) == pytest.approx(0.75, abs=0.01)
    bursts = simulate_rule(Reno(), 1e-3, RTT, Gilbert(4.0), events=20_000)
    assert bursts.loss_event_rate < 0.3e-3  # a burst is one loss event
    assert bursts.rate == pytest.approx(
        independent_constant(0.5) * Reno().rate(bursts.loss_event_rate, RTT), rel=0.05
    )
