"""What runs the loops over cycles: plain Python, compiled steps, and the compiled loop."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Reno
from responsefn.responses.cycle_loops import (
    COMPILED,
    PLAIN,
    Cases,
    Limits,
    approach,
    check,
    run,
)
from responsefn.responses.cycle_starts import begin_at_peak
from tests.responsefn.simulation.kernel_rules import CountedReno, PerRound, Timer


def cases(p: float, rtt: float) -> Cases:
    at, rtts = np.array([p]), np.array([rtt])
    return Cases(Reno(), 1 / at, rtts, 0.0, begin_at_peak(Reno(), at, rtts, None))


@pytest.mark.parametrize("acks", [False, True])
def test_plain_python_and_machine_code_find_the_same_cycle(acks):
    """To the last bit: both do the same additions."""
    limits = Limits(2e4, 128, acks)
    one, two = (run(cases(0.01, 0.1), runner, limits) for runner in (PLAIN, COMPILED))
    np.testing.assert_array_equal(one.columns, two.columns)
    np.testing.assert_array_equal(one.ends, two.ends)


def test_blocks_of_a_smooth_rule_pass_the_check():
    """The square-root law 1/R sqrt(3/(2p)) is the rate; half a packet in a window of 40 is a percent."""
    found = run(cases(1e-3, 0.1), COMPILED, Limits(1e6, 64))
    assert found.columns[0, 0] == pytest.approx(387.3, rel=0.01)
    error, followed, later = check(cases(1e-3, 0.1), found, COMPILED, Limits(2e4, 1e7))[0]
    assert error < 0.004
    assert followed == 1.0
    assert later < 1e-4


def test_segments_of_a_long_cycle_are_followed():
    """3 segments of a tenth of the steps each, where these agree; otherwise up to 2500 ACKs from the beginning."""
    found = run(cases(1e-4, 0.1), COMPILED, Limits(1e6, 64))
    error, followed, later = check(cases(1e-4, 0.1), found, COMPILED, Limits(10, 2500))[0]
    assert error < 0.004
    assert 0.0 < followed < 0.25
    assert later < 1e-4
    found.columns[:, 9] = 0.0  # a budget of 10 ACKs
    assert check(cases(1e-4, 0.1), found, COMPILED, Limits(10, 2500))[0, 1] <= 2e-3


@pytest.mark.parametrize(
    "rule", [CountedReno(), PerRound(), Timer()], ids=lambda r: type(r).__name__
)
def test_segments_of_a_rule_that_acts_at_some_acks_differ(rule):
    """At p = 1e-6 a sample has some percent of the cycle, and the timer runs out a few times in it."""
    at, rtts = np.array([1e-6]), np.array([0.1])
    start = Cases(rule, 1 / at, rtts, 0.0, begin_at_peak(rule, at, rtts, None))
    found = run(start, COMPILED, Limits(1e6, 64))
    for most in (5e4, 1e6):  # the timer has not run out in the first 5 %
        assert check(start, found, COMPILED, Limits(1e4, most))[0, 0] > 0.004


def test_loss_events_until_a_rate_is_reached():
    """From 1 packet Reno's peak follows W^2 -> W^2/4 + 2/p: within 1 % after a few losses."""
    start = cases(1e-4, 0.1)
    rate = run(start, COMPILED, Limits(1e6, 64)).columns[:, 0]
    low = start._replace(starts=np.array([[1.0, 2.0]]))
    one = np.ones(1, dtype=np.int64)
    events = approach(low, rate, Limits(1e6, 100, same=0.01), one)
    assert 2 <= events[0, 0] <= 8
    far = approach(low, 2.0 * rate, Limits(1e6, 100, same=0.01), one)
    assert np.isinf(far[0, 0])
    assert far[0, 1:] == pytest.approx(rate[0], rel=1e-3)
    budget = np.array([10.0])
    short = approach(low, rate, Limits(1e6, 100, same=0.01), one, budget)
    assert np.isinf(short[0, 0])
