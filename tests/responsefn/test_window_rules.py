"""What the rules do to the window, ACK by ACK, as plain Python and compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from hopflow import kernels, maximum
from responsefn import AIMD, NewReno, Reno, Tahoe, WindowRule, invert

RULES = [AIMD(), AIMD(0.2, 0.125), AIMD(3 / 7, 0.25), AIMD(32.0, 0.9), Reno(), NewReno(), Tahoe()]
GROWING = [rule for rule in RULES if not isinstance(rule, Tahoe)]


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
@pytest.mark.parametrize("loss_rate", [1e-3, 1e-4])
def test_the_windows_own_cycle_has_the_response(rule, loss_rate):
    """Per-ACK simulation without recovery: the square-root law (Tahoe: its cycle) up to O(1 / rounds)."""
    peak, rounds = last_cycle(rule, loss_rate)
    expected = rule.peak_window(loss_rate)
    assert peak == pytest.approx(expected, abs=0.6 + 0.5 * increase_of(rule))
    mean = rule.mean_window(loss_rate)
    assert 1 / (loss_rate * rounds) == pytest.approx(mean, rel=1.5 / rounds)


class Gentle(WindowRule):
    class State(NamedTuple):
        cwnd: float = 1.0
        ssthresh: float = math.inf
        losses: float = 0.0

    class Params(NamedTuple):
        a: float = 0.25

    recovery = "sack"

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.9 * s.cwnd), losses=s.losses + 1.0)

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)


def test_a_users_rule():
    rule = Gentle(a=0.5)
    assert rule.on_ack(rule.State(cwnd=10.0), rule.params, None).cwnd == 10.05
    with pytest.raises(TypeError, match=r"Gentle states no closed form.*Gentle\.formula"):
        assert rule.expression


def test_a_users_rule_has_the_response_of_its_cycle():
    """Gentle is AIMD(a, 0.1): its three functions are all that it takes."""
    rule, known = Gentle(a=0.5), AIMD(0.5, 0.1)
    for p in (1e-6, 1e-4, 1e-2):
        assert rule.rate(p, 0.1) == pytest.approx(known.rate(p, 0.1), rel=2e-3)
        assert rule.peak_window(p, 0.1) == pytest.approx(known.peak_window(p), rel=2e-3)
        assert rule.elasticity(p, 0.1) == pytest.approx(-0.5, abs=2e-3)
    grid = rule.rate([[1e-5], [1e-3]], [0.05, 0.1])
    assert grid.shape == (2, 2)
    assert grid[1, 1] == pytest.approx(rule.rate(1e-3, 0.1), rel=1e-12)
    p = invert(rule, 300.0, 0.1)
    assert rule.rate(p, 0.1) == pytest.approx(300.0, rel=1e-8)


def test_a_users_formula_is_all_it_takes():
    class Fixed(Gentle):
        def formula(self):
            from responsefn.responses.symbolic import Formula, R, a, p

            return Formula(a * R / (p * R))

    rule = Fixed(a=2.0)
    assert rule.rate(0.01, 0.1) == pytest.approx(200.0)
    assert invert(rule, 200.0, 0.1) == pytest.approx(0.01, rel=1e-12)
    with pytest.raises(ValueError, match=r"rtt is missing"):
        rule.mean_window(0.01)
    assert rule.mean_window(0.01, rtt=0.1) == pytest.approx(20.0)
    with pytest.raises(ValueError, match=r"rtt is missing"):
        rule.peak_window(0.01)
    assert rule.peak_window(0.01, 0.1) > 0  # no formula for it: by the numerical cycle


def test_a_rule_must_say_what_it_does():
    class Half(WindowRule):
        @staticmethod
        def on_ack(s, q, e):
            return s

    with pytest.raises(TypeError, match=r"abstract.*on_loss"):
        Half()


def many_steps(ssthresh, q, cwnds):
    """Template: 60 ACKs, a loss after every 20, a timeout at the 58th."""
    s = State(1.0, ssthresh)  # noqa: F821
    for i in range(len(cwnds)):
        s = on_ack(s, q, 0.0)  # noqa: F821
        if i % 20 == 19:
            s = on_loss(s, q, 0.0)  # noqa: F821
        if i == 57:
            s = on_timeout(s, q, 0.0)  # noqa: F821
        cwnds[i] = s.cwnd
    return s.ssthresh


class Numbers(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize("rule", [AIMD(0.2, 0.125), Reno(), Tahoe()], ids=repr)
def test_compiled_rules_do_the_same(rule, monkeypatch):
    functions = {name: getattr(rule, name) for name in ("on_ack", "on_loss", "on_timeout")}
    compiled = kernels.build(many_steps, functions=functions, tuples={"State": rule.State._fields})
    numbers = Numbers(getattr(rule, "a", 0.0), getattr(rule, "b", 0.0))
    expected, computed = np.empty(60), np.empty(60)
    for name, value in (functions | {"State": rule.State}).items():
        monkeypatch.setitem(many_steps.__globals__, name, value)
    assert compiled(8.0, numbers, computed) == many_steps(8.0, numbers, expected)
    np.testing.assert_array_equal(computed, expected)
