"""Adaptive Reno's congestion level and increase, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import ARENO
from responsefn.responses.dynamics import Event
from responsefn.rules.adaptive_reno import congestion


def test_congestion_level_is_the_part_of_the_way_to_the_delay_at_losses():
    assert congestion(0.04, 0.04, 0.08) == 0.0
    assert congestion(0.06, 0.04, 0.08) == pytest.approx(0.5)
    assert congestion(0.10, 0.04, 0.08) == 1.0
    assert congestion(0.06, 0.04, 0.0) == pytest.approx(0.5)  # twice the base before any loss


def increase(level, inclusive, unit=10e6 / 12000):
    """Packets per round trip that the probe grows by, of a link of 10 units."""
    rule, base = ARENO(inclusive=inclusive), 0.04
    window = 200.0
    state = rule.State(window, 2.0, 100.0, base, 0.08, 10 * unit)
    grown = rule.on_ack(state, rule.params, Event(0.0, base + level * base))
    return (grown.cwnd - window) * window - 1.0  # less Reno's packet


@pytest.mark.parametrize("inclusive", [0, 1])
def test_increase_at_full_congestion_and_its_mean(inclusive):
    """beta and gamma make W_inc(1) and its mean over 0..1 one packet, Reno's beside it or in it."""
    levels = np.linspace(0.0, 1.0, 2001)
    values = np.array([increase(level, inclusive) for level in levels])
    assert values[0] == pytest.approx(10.0 - 2 * 10 * (0.1 - 0.6 * np.exp(-10)) + 1 - inclusive)
    assert values[-1] == pytest.approx(1 - inclusive, abs=1e-9)
    assert np.trapezoid(values, levels) == pytest.approx(1 - inclusive, abs=1e-4)


def test_a_loss_keeps_one_over_one_plus_c():
    rule = ARENO()
    state = rule.State(200.0, 2.0, 150.0, 0.04, 0.08, 8333.0)
    for rtt, kept in ((0.04, 1.0), (0.06, 1 / 1.5), (0.08, 0.5)):
        after = rule.on_loss(state, rule.params, Event(0.0, rtt))
        assert after.cwnd == after.base_window == pytest.approx(200.0 * kept)


@pytest.mark.parametrize(("memory", "kept"), [(0.5, 0.055), (0.85, 0.0585)])
def test_the_round_trip_time_at_losses_is_an_average(memory: float, kept: float) -> None:
    """The text's, and that of the implementations for ns-3."""
    rule = ARENO(memory=memory)
    state = rule.on_loss(rule.State(100.0, 2.0, 100.0, 0.04), rule.params, Event(1.0, 0.06))
    assert state.loss_rtt == 0.06
    state = rule.on_loss(state, rule.params, Event(2.0, 0.05))
    assert state.loss_rtt == pytest.approx(kept)
