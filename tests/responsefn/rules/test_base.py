"""What a user's own rule needs, and gets."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest

from hopflow import maximum, minimum, where
from responsefn import AIMD, Reno, WindowRule, invert


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
            from responsefn.responses.closed_forms.symbolic import Formula, R, a, p

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


class Backing(WindowRule):
    """Reno that backs off where its round trip is longer than the shortest one by more than a bound."""

    class Params(NamedTuple):
        bound: float = 0.005

    class State(NamedTuple):
        cwnd: float = 2.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    @staticmethod
    def on_ack(s, q, e):
        base = minimum(s.base_rtt, e.rtt)
        step = where(e.rtt - base > q.bound, -1.0, 1.0) / s.cwnd
        return s._replace(cwnd=maximum(2.0, s.cwnd + step), base_rtt=base)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


def test_a_rule_that_reads_the_round_trip_time_needs_the_capacity_unless_it_says_otherwise():
    with pytest.raises(
        ValueError, match=r"Backing reads e\.rtt.*capacity = \"optional\" in the class"
    ):
        Backing().rate(1e-4, 0.03)
    assert 950.0 < Backing().rate(1e-4, 0.03, bandwidth=1000.0) <= 1000.0

    class Fixed(Backing):
        capacity = "optional"

    without = Fixed().rate(1e-4, 0.03)
    assert without == pytest.approx(Reno().rate(1e-4, 0.03), rel=0.02)  # never more than the bound
    assert Fixed().rate(1e-4, 0.03, bandwidth=1000.0) == Backing().rate(
        1e-4, 0.03, bandwidth=1000.0
    )
