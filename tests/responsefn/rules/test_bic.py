"""BIC against its cycle, packet for packet, and its simulation."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    BIC,
    simulate_curve,
    simulate_rule,
)
from responsefn.simulation.ratio_checks import RTT


def test_fast_convergence_of_bic_comes_from_below():
    p = np.array([1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
    rates = [run.rate for run in simulate_curve(BIC(), p, RTT, events=200)]
    short = 1 - rates / BIC().rate(p, RTT)
    np.testing.assert_allclose(short, [0.004, 0.013, 0.05, 0.05, 0.05], atol=0.012)
    assert (short > 0).all()
    np.testing.assert_array_equal(BIC().rate(p, RTT), BIC(fast_convergence=0).rate(p, RTT))


@pytest.mark.slow
def test_bic_is_its_cycle_packet_for_packet():
    """The closed form against a sum over the round trips that its docstring describes, finely cut."""
    for p in (1e-7, 1e-5, 1e-4, 2e-4, 1e-3):
        peak = float(BIC().peak_window(p))
        window, packets, rounds, step = 0.875 * peak, 0.0, 0.0, 1e-4
        while window < peak:
            growth = min(32.0, max(0.01, 0.5 * (peak - window)))
            part = min(step, (peak - window) / growth)
            packets += part * (window + 0.5 * part * growth)
            window += part * growth
            rounds += part
            if window >= peak * (1 - 1e-15):
                break
        assert packets * p == pytest.approx(1, rel=1e-3)
        assert packets / rounds == pytest.approx(float(BIC().mean_window(p)), rel=1e-3)


def test_bic_with_fast_convergence_tends_to_its_closed_form():
    run = simulate_rule(BIC(), 1e-4, 0.1, events=100_000, method="blocks")
    assert BIC().rate(1e-4, 0.1) == pytest.approx(run.rate, rel=2e-3)
