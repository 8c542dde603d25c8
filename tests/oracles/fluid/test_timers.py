"""The retransmission timer of the reference beside RFC 6298."""

from __future__ import annotations

import math

import pytest

from tests.oracles.fluid.timers import Timer


def test_samples_and_timeouts_are_those_of_the_rfc() -> None:
    timer = Timer(0.2, 1.0)
    timer.begin(1.0)
    assert timer.deadline == 4.0  # 3 s before the first sample
    timer.time(5.0, 1.0)
    timer.time(6.0, 1.1)  # one is timed already
    timer.hear(5.0, 5.0, 1.05, 0.01)  # not that one
    assert timer.srtt == 0.0
    timer.hear(5.0, 6.0, 1.1, 0.01)
    assert (timer.srtt, timer.rttvar) == pytest.approx((0.1, 0.05))
    assert timer.rto == pytest.approx(0.3)
    timer.time(7.0, 2.0)
    timer.hear(6.0, 8.0, 2.2, 0.01)  # the second of two that came evenly in the step
    assert timer.rttvar == pytest.approx(0.05 + 0.25 * (0.105 - 0.05))
    assert timer.srtt == pytest.approx(0.1 + 0.125 * 0.105)


def test_backing_off_doubles_up_to_64_and_a_sample_ends_it() -> None:
    timer = Timer(0.2, 0.2)
    for _ in range(9):
        timer.back_off(1.0)
    assert timer.deadline == pytest.approx(1.0 + 64 * 0.2)
    timer.time(0.0, 1.0)
    timer.hear(0.0, 1.0, 1.1, 0.0)
    assert timer.backoff == 1.0
    assert Timer(math.inf, math.inf).deadline == math.inf
