"""Westwood against its steady state."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Westwood, WestwoodPlus
from responsefn.responses import cycle_loops, cycles
from responsefn.responses.cycle_starts import begin_at_peak
from responsefn.responses.dynamics import Event


def test_the_estimate_of_a_steady_rate_is_that_rate_and_a_loss_keeps_what_the_path_holds():
    rule, event = Westwood(), Event(0.0, 0.05)
    state = rule.State(100.0, 2.0, 0.04, 0.0)
    for _ in range(100_000 // 100):
        for _ in range(100):
            state = rule.on_ack(state._replace(cwnd=100.0), rule.params, event)
    assert state.estimate == pytest.approx(100.0 / 0.05, rel=1e-9)
    assert rule.on_loss(state, rule.params, event).cwnd == pytest.approx(2000.0 * 0.04)


def test_the_gain_is_per_round_trip():
    """A window of ACKs moves the estimate by 1 - (1 - g/W)^W of the way, near 1 - e^-g."""
    rule, event = Westwood(gain=0.125), Event(0.0, 0.05)
    state = rule.State(1000.0, 2.0, 0.05, 0.0)
    for _ in range(1000):
        state = rule.on_ack(state._replace(cwnd=1000.0), rule.params, event)
    assert state.estimate == pytest.approx(20_000 * (1 - (1 - 0.125 / 1000) ** 1000), rel=1e-9)


def test_random_loss_hardly_reduces_the_rate():
    """The rule's aim: at p = 1e-3 Reno has sqrt(3/(2p))/R = 968 packets/s of these 2000."""
    assert Westwood().rate(1e-3, 0.04, bandwidth=2000.0) > 1990.0


@pytest.mark.parametrize("rule", [Westwood(), WestwoodPlus()], ids=repr)
@pytest.mark.parametrize("p", [4e-3, 0.01, 0.02])
def test_a_slow_climb_ends_where_the_cycle_says(rule, p):
    """Between two losses the window grows by less than a packet: 4096 cycles end far below the capacity."""
    rtt, capacity = np.array([0.08]), 8333.0
    start = begin_at_peak(rule, np.array([p]), rtt, capacity)
    cases = cycle_loops.Cases(rule, np.array([1 / p]), rtt, 1 / capacity, start)
    limits = cycle_loops.Limits(cycles.LONG_BUDGET, cycles.LONG)
    climb = cycle_loops.run(cases, cycle_loops.COMPILED, limits).columns[0]
    assert climb[0] == pytest.approx(capacity, rel=1e-4)
    assert rule.rate(p, 0.08, bandwidth=capacity) == pytest.approx(climb[0], rel=1e-6)
    if rule == Westwood():  # (1/(4 p W))^2 packets from loss to loss, summed up to the capacity
        assert climb[5] == pytest.approx(16 / 3 * p**2 * (capacity * 0.08) ** 3, rel=0.06)


class Endless(Westwood):
    """A window that a loss does not touch."""

    capacity = "ignored"

    @staticmethod
    def on_loss(s, q, e):
        return s


def test_a_window_that_does_not_come_to_rest_has_no_rate():
    with pytest.raises(
        ArithmeticError, match=r"^Endless\(\): p = 0.02, .* drifts after 4194304 loss"
    ):
        Endless().rate(0.02, 0.08)
