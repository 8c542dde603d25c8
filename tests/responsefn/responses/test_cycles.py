"""Numerical cycles against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    Reno,
    Scalable,
    catalogue,
    simulate_rule,
)
from responsefn.responses import cycles
from responsefn.responses.kernel.rows import MOVES
from responsefn.simulation.ratio_checks import RTT


def test_cycle_of_a_rule_with_a_formula_is_the_formula():
    for rule in (Reno(), CUBIC(friendly=0), Scalable(), CTCP()):
        cycle = rule.cycle([1e-6, 1e-5], RTT)
        np.testing.assert_allclose(cycle.rate, rule.rate([1e-6, 1e-5], RTT), rtol=2e-3)
        np.testing.assert_allclose(
            cycle.peak_window, rule.peak_window([1e-6, 1e-5], RTT), rtol=2e-3
        )
        assert np.all(cycle.packet_mean_window > cycle.mean_window)


def test_plain_python_gives_up_within_a_long_cycle(monkeypatch):
    """A loss to a window of 1 and one packet lost in 5e8: 3e5 blocks of ACKs, of which few are made."""
    addresses, made = cycles.addresses, []

    def counted(step):
        def call(run, *more):
            step(run, *more)
            made.append(run[MOVES])

        return addresses(call)

    monkeypatch.setattr(cycles, "addresses", counted)
    rule, budget = AIMD(2.0, 1.0), 500
    one, start = np.ones(1), np.array([rule.State(cwnd=4e4)])
    assert cycles._run(rule, 5e8 * one, one, 0.0, start, budget, compiled=False) is None
    assert max(made) == budget
    assert cycles._run(rule, 50.0 * one, one, 0.0, start, budget, compiled=False) is not None


def test_every_rule_has_rate_and_windows_in_its_domain():
    for rule in catalogue("rule").entries:
        low, high = rule.domain
        p = np.array([max(low, 1e-4), high])
        rate = rule.rate(p, 0.04, 2000.0)
        mean, peak, packet = (
            getattr(rule, name)(p, 0.04, 2000.0)
            for name in ("mean_window", "peak_window", "packet_mean_window")
        )
        assert np.isfinite([rate, mean, peak, packet]).all(), rule
        assert (rate > 0).all()
        cycle = rule.cycle(p, 0.04, 2000.0)
        # a cycle that never settles has its peaks averaged over losses, its window over time
        assert (peak >= 0.99 * cycle.mean_window)[cycle.cycles < 2048].all(), rule


@pytest.mark.parametrize("rule", [AIMD(b=1.0), BIC(b=1.0), CTCP(b=1.0), Scalable(b=1.0)], ids=repr)
def test_a_loss_may_take_the_whole_window(rule):
    """b = 1: the simulation begins again at one packet, where a round trip is few ACKs.

    BIC comes near its cycle in thousands of losses only.
    """
    run = simulate_rule(rule, 1e-4, 0.1, events=2000)
    assert rule.rate(1e-4, 0.1) == pytest.approx(run.rate, rel=0.02)
