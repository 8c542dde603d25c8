"""What the classic rules do to the window, ACK by ACK."""

from __future__ import annotations

import math

import pytest

from responsefn import AIMD, NewReno, Reno, Tahoe

RULES = [AIMD(), AIMD(0.2, 0.125), AIMD(3 / 7, 0.25), AIMD(32.0, 0.9), Reno(), NewReno(), Tahoe()]


def increase_of(rule):
    return rule.a if isinstance(rule, AIMD) else 1.0


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("window", [10, 100, 1000])
def test_a_window_of_acks_adds_a(rule, window):
    """W ACKs of a / cwnd each: sqrt(W^2 + 2aW) - W to leading order, between a - a^2/(2W) and a."""
    state, increase = rule.State(cwnd=float(window), ssthresh=2.0), increase_of(rule)
    for _ in range(window):
        state = rule.on_ack(state, rule.params, None)
    growth = state.cwnd - window
    assert increase - increase**2 / (2 * window) < growth <= increase * (1 + 1e-12)
    assert state.ssthresh == 2.0


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_slow_start_doubles_each_round_trip(rule):
    state = rule.State()
    assert state == (1.0, math.inf)
    for acks in (1, 2, 4, 8):
        for _ in range(acks):
            state = rule.on_ack(state, rule.params, None)
    assert state.cwnd == 16.0


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("window", [1.0, 1.5, 2.0, 3.0, 4.0, 57.25, 1e6])
def test_cuts(rule, window):
    state = rule.State(cwnd=window, ssthresh=10.0)
    after = rule.on_loss(state, rule.params, None)
    kept = 1 - rule.b if isinstance(rule, AIMD) else 0.5
    assert after.cwnd == (1.0 if isinstance(rule, Tahoe) else max(1.0, kept * window))
    assert after.ssthresh == max(2.0, kept * window)
    assert 1.0 <= after.cwnd <= window
    expired = rule.on_timeout(state, rule.params, None)
    assert expired == (1.0, max(2.0, window / 2))


def test_recovery():
    assert [rule.recovery for rule in (Tahoe(), Reno(), NewReno(), AIMD())] == [
        "tahoe",
        "reno",
        "newreno",
        "newreno",
    ]


def last_cycle(rule, loss_rate, cycles=40):
    """Peak window and round trips of the cycle after many, one packet in 1/p lost.

    A round trip ends when as many packets were acknowledged as its first window held.
    """
    acks = round(1 / loss_rate)
    state = rule.State(cwnd=rule.peak_window(loss_rate) / 3, ssthresh=2.0)
    peak = rounds = 0.0
    for _ in range(cycles):
        state = rule.on_loss(state, rule.params, None)
        left, rounds = acks, 0.0
        while left > 0:
            window = max(1, round(state.cwnd))
            sent = min(left, window)
            for _ in range(sent):
                state = rule.on_ack(state, rule.params, None)
            left, rounds = left - sent, rounds + sent / window
        peak = state.cwnd
    return peak, rounds


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("loss_rate", [1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_the_windows_own_cycle_has_the_response(rule, loss_rate):
    """Per-ACK simulation without recovery: the square-root law (Tahoe: its cycle) up to O(1 / rounds)."""
    peak, rounds = last_cycle(rule, loss_rate)
    expected = rule.peak_window(loss_rate)
    assert peak == pytest.approx(expected, abs=0.6 + 0.5 * increase_of(rule))
    mean = rule.mean_window(loss_rate)
    assert 1 / (loss_rate * rounds) == pytest.approx(mean, rel=1.5 / rounds)
