"""Scalable TCP against Kelly's rule, ACK by ACK, and its cycle."""

from __future__ import annotations

import math

import pytest

from responsefn import Scalable


def test_a_cycle_of_single_acks():
    """a per ACK: 1/p of them take (1-b) W to W, and exponential growth takes log(1/(1-b))/a rounds."""
    rule, p = Scalable(), 1e-3
    peak = float(rule.peak_window(p))
    state = rule.on_loss(rule.State(peak, 2.0), rule.params, None)
    time = 0.0
    for _ in range(1000):
        time += 1.0 / state.cwnd
        state = rule.on_ack(state, rule.params, None)
    assert state.cwnd == pytest.approx(peak, rel=1e-12)
    assert time == pytest.approx(math.log(8 / 7) / 0.01, rel=2e-3)
    assert rule.mean_window(p) == pytest.approx(1000 / time, rel=2e-3)


def test_below_the_legacy_window_it_is_reno():
    rule = Scalable()
    state = rule.State(10.0, 2.0)
    assert rule.on_ack(state, rule.params, None).cwnd == 10.1
    assert rule.on_loss(state, rule.params, None).cwnd == 5.0
