"""Relentless: one packet less for each that is lost."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Relentless


def test_growth_of_a_round_trip_makes_up_for_one_loss():
    """1/p ACKs of 1/w each from the peak less 1: the squared window grows by 2 + 1/w^2 each."""
    rule, p = Relentless(), 1e-3
    state = rule.on_loss(rule.State(float(rule.peak_window(p)), 2.0), rule.params, None)
    for _ in range(1000):
        state = rule.on_ack(state, rule.params, None)
    assert state.cwnd == pytest.approx(rule.peak_window(p), rel=1e-6)


def test_the_closed_form_is_the_numerical_cycle():
    p = np.geomspace(1e-6, 0.02, 5)
    np.testing.assert_allclose(
        Relentless().cycle(p, 0.1).rate, Relentless().rate(p, 0.1), rtol=1e-3
    )
