"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import math

import pytest

from responsefn import CUBIC, LinuxCUBIC
from responsefn.responses.dynamics import Event


def cubic_count(cwnd, origin, plateau, late, rtt, reno, sixteenths):
    """ACKs per packet of bictcp_update, version 2.1; times in s."""
    t = late + rtt
    delta = int(410 * abs(t - plateau) ** 3 / 1024)
    target = origin - delta if t < plateau else origin + delta
    count = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
    if t >= plateau:
        count = max(count, cwnd / (10 * 16 * rtt))
    if reno > cwnd:
        count = min(count, cwnd // (reno - cwnd))
    return max(1, int(count * 16 / sixteenths))


@pytest.mark.parametrize("sixteenths", [16, 31])
@pytest.mark.parametrize("late", [0.1, 2.0, 4.0, 5.5, 8.0])
@pytest.mark.parametrize("reno", [60, 90, 130])
def test_cubic_takes_as_many_acks_as_bictcp_update_says_and_one(late, reno, sixteenths):
    rule = LinuxCUBIC(per_ack=sixteenths / 16)
    state = rule.State(82.0, 2.0, 100.0, 4.0, 0.0, 0.04, reno + 0.5)
    grown = rule.on_ack(state, rule.params, Event(late, 0.04)).cwnd - 82.0
    count = cubic_count(82, 100, 4.0, late, 0.04, reno, sixteenths)
    assert 1 / grown == pytest.approx(count + 1, rel=1e-9)


def test_renos_window_grows_by_a_packet_in_23_eighths_of_a_window():
    """beta_scale = 8 (1024 + 819) / 3 / (1024 - 819), a whole number."""
    assert 8 * (1024 + 819) // 3 // (1024 - 819) == 23
    rule = LinuxCUBIC()
    state = rule.on_ack(rule.State(80.0, 2.0, 100.0), rule.params, Event(0.1, 0.04))
    assert state.reno - 1.0 == pytest.approx(8 / 23 / 80.0)


def test_a_loss_sets_the_curve():
    rule = LinuxCUBIC()
    state = rule.on_loss(rule.State(100.0, 2.0, 90.0), rule.params, Event(7.0, 0.04))
    assert (state.cwnd, state.peak) == pytest.approx((100 * 819 / 1024, 100.0))
    assert state.plateau == pytest.approx(((100.0 - state.cwnd) / (410 / 1024)) ** (1 / 3))
    lower = rule.on_loss(rule.State(80.0, 2.0, 100.0), rule.params, Event(7.0, 0.04))
    assert lower.peak == pytest.approx(80.0 * 1843 / 2048)


def test_the_response_is_near_that_of_the_rfc_and_not_its():
    for p in (1e-4, 1e-3, 1e-2):
        assert LinuxCUBIC().rate(p, 0.04) == pytest.approx(CUBIC().rate(p, 0.04), rel=0.15)
    assert not math.isclose(LinuxCUBIC().rate(1e-2, 0.04), CUBIC().rate(1e-2, 0.04), rel_tol=0.02)
