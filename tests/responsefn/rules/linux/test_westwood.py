"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import pytest

from responsefn import WestwoodPlus
from responsefn.responses.dynamics import Event


def test_westwood_plus_has_two_filters_and_samples_of_50_ms():
    """After one round trip of 25 ms each filter has gone half of its gain towards its input."""
    rule = WestwoodPlus()
    state = rule.State(1000.0, 2.0, 0.025, 0.0, 0.0)
    for _ in range(1000):
        state = rule.on_ack(state._replace(cwnd=1000.0), rule.params, Event(0.0, 0.025))
    x = 0.5 / 8  # part of the way per round trip
    first = 1 - (1 - x / 1000) ** 1000
    assert state.sampled == pytest.approx(40_000 * first, rel=1e-9)
    assert state.estimate == pytest.approx(40_000 * (x**2 / 2 - x**3 / 3), rel=2e-3)
