"""Compound TCP: the sum of two windows, and its response at a fixed round-trip time."""

from __future__ import annotations

import pytest

from responsefn import CTCP
from responsefn.responses.dynamics import Event


def test_without_a_queue_the_sum_grows_by_alpha_w_to_the_k():
    rule, window = CTCP(), 1000.0
    state = rule.State(window, 2.0, 10.0, 0.04)
    grown = rule.on_ack(state, rule.params, Event(0.0, 0.04))
    assert (grown.cwnd - window) * window == pytest.approx(0.125 * window**0.75)
    assert (grown.loss_window - 10.0) * window == pytest.approx(1.0)


def test_with_a_queue_the_delay_window_shrinks_by_zeta_of_what_waits():
    rule, window = CTCP(), 1000.0
    state = rule.State(window, 2.0, 10.0, 0.04)
    grown = rule.on_ack(state, rule.params, Event(0.0, 0.044))  # 1000 * 4/44 = 91 wait, above 30
    assert (grown.cwnd - window) * window == pytest.approx(1.0 - window * 0.004 / 0.044)


def test_the_delay_window_does_not_fall_below_zero():
    rule = CTCP()
    state = rule.State(1000.0, 2.0, 1000.0, 0.04)
    grown = rule.on_ack(state, rule.params, Event(0.0, 0.08))
    assert (grown.cwnd - 1000.0) * 1000.0 == pytest.approx(1.0)


def test_the_response_has_the_exponent_of_tan_2006():
    """A window of c p^(-1/(2-k)): 0.8 for k = 3/4 (Tan et al. 2006, Sect. III)."""
    rate = CTCP().rate([1e-6, 1e-5], 0.1)
    assert rate[0] / rate[1] == pytest.approx(10**0.8, rel=1e-12)
