"""BIC against its cycle, ACK by ACK, and its simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

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


def cycle_by_acks(rule, packets, peak):
    """Return the window after as many ACKs as a cycle has packets, from a loss at a peak, and the round trips."""
    q = rule.params
    window, rounds = (1.0 - q.b) * peak, 0.0
    for _ in range(packets):
        rounds += 1.0 / window
        search = min(q.largest, max(q.smallest, 0.5 * (peak - window)))
        window += (1.0 if window < q.low_window else search) / window
    return window, rounds


@pytest.mark.parametrize(
    ("rule", "packets", "within"),
    [
        # what the closed form leaves out (Euler and Maclaurin's next term) falls with the square of the window
        *((BIC(), packets, 1e-4) for packets in (270, 350, 550, 1000, 9000, 30000)),
        *((BIC(largest=64.0, b=0.1), packets, 1e-4) for packets in (300, 1000, 20000)),
        *((BIC(b=0.5, low_window=0.0), packets, 1e-3) for packets in (100, 1000)),
        (BIC(largest=16.0, smallest=0.04, b=0.2), 1000, 1e-4),
        (BIC(low_window=0.0), 30, 2e-3),
    ],
)
def test_bic_is_its_cycle_ack_by_ack(rule, packets, within):
    """The peak to which a cycle of whole ACKs comes back, and its time: 0.4 to 4 % from those of a smooth window."""
    guess = float(rule.peak_window(1.0 / packets))
    assert rule.closed_form_holds(1.0 / packets, 0.1)
    peak = brentq(lambda x: cycle_by_acks(rule, packets, x)[0] - x, 0.95 * guess, 1.05 * guess)
    assert guess == pytest.approx(peak, rel=within)
    rate = packets / cycle_by_acks(rule, packets, peak)[1]
    assert float(rule.mean_window(1.0 / packets)) == pytest.approx(rate, rel=within)


def test_both_branches_of_bic_meet():
    """Where half the cut is the largest increase, at a peak of 512 packets: no step beyond round-off."""
    border = brentq(lambda log_p: BIC().peak_window(np.exp(log_p)) - 512.0, -10.0, -8.0)
    rate = BIC().rate(np.exp(border) * (1.0 + np.array([-1e-9, -1e-12, 1e-12, 1e-9])), 0.1)
    np.testing.assert_allclose(rate[1:] / rate[:-1] - 1.0, [-1e-9, -2e-12, -1e-9], atol=2e-10)
    assert abs(rate[2] / rate[1] - 1.0) < 1e-11


def test_bic_with_fast_convergence_tends_to_its_closed_form():
    run = simulate_rule(BIC(), 1e-4, 0.1, events=100_000, method="blocks")
    assert BIC().rate(1e-4, 0.1) == pytest.approx(run.rate, rel=2e-3)
