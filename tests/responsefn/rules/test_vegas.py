"""Vegas and FAST rest with alpha packets in the queue."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    FAST,
    NS2Vegas,
    Vegas,
)
from responsefn.responses.dynamics import Event


def test_rest_without_loss():
    """Vegas and FAST keep alpha packets in the queue; Vegas' last step is up to 1/16 of a packet."""
    C, R, p = 2000.0, 0.04, np.array([1e-10, 1e-7, 1e-5])
    fast = FAST(alpha=50.0).cycle(p, R, C)
    np.testing.assert_allclose(fast.peak_window, C * R + 50.0, rtol=1e-9)
    assert fast.mean_window[0] == pytest.approx(C * R + 50.0, rel=1e-6)
    vegas, W = Vegas().cycle(p, R, C), C * R + 2.0
    assert ((vegas.peak_window >= W) & (vegas.peak_window <= W + 1 / 16)).all()
    climb = R * (C * R - W / 2) - ((C * R) ** 2 - (W / 2) ** 2) / (2 * C)
    np.testing.assert_allclose(vegas.rate, 1 / (p * climb + 1 / C), rtol=1e-3)


def test_alpha_and_beta_are_compared() -> None:
    with pytest.raises(ValueError, match=r"^beta = 4: .*; alpha <= beta"):
        Vegas(alpha=5.0)
    with pytest.raises(ValueError, match="gamma = 0"):
        NS2Vegas(gamma=0.0)


def test_the_slow_start_of_ns2_doubles_in_every_other_round_trip_and_ends_at_a_queue() -> None:
    """Brakmo and Peterson (1995), 3.3: in between it compares; the response is that of Vegas with its thresholds."""
    rule, rtt = NS2Vegas(), 0.1
    state, windows = rule.State(), []
    for trip in range(7):
        late = rtt if trip < 6 else 1.5 * rtt  # then a queue builds up
        for n in range(int(state.cwnd)):
            event = Event(trip * rtt + 1e-3 + n * 1e-6, late)
            state = rule.on_ack(state, rule.params, event)
        windows.append(round(state.cwnd, 9))
    assert windows[:-1] == [2.0, 2.0, 4.0, 4.0, 8.0, 8.0]
    assert windows[-1] == state.ssthresh < 16.0  # it ended before it had doubled
    same = Vegas(alpha=1.0, beta=3.0)
    assert rule.rate(1e-3, 0.04, bandwidth=8333.0) == pytest.approx(
        same.rate(1e-3, 0.04, bandwidth=8333.0), rel=1e-9
    )
