"""Linux's modules that measure a delay or a rate against the integer arithmetic of their files, written here once more."""

from __future__ import annotations

import pytest

from responsefn import (
    LinuxIllinois,
    LinuxVegas,
    Vegas,
    WestwoodPlus,
)
from responsefn.responses.dynamics import Event


def test_vegas_moves_half_as_fast_as_the_paper_says():
    for rtt in (0.0401, 0.05):
        steps = []
        for rule in (Vegas(), LinuxVegas()):
            state = rule.State(100.0, 2.0, 0.04)
            steps.append(rule.on_ack(state, rule.params, Event(0.0, rtt)).cwnd - 100.0)
        assert steps[1] == pytest.approx(0.5 * steps[0], rel=1e-9)


def illinois_rounds(delays, most=1 / 32, theta=5):
    """alpha of tcp_illinois.c after round trips of these mean delays: rtt_above, rtt_low."""
    above, low, a, found = False, 0, 10.0, []
    for delay in delays:
        if delay <= most / 100:
            if not above:
                a = 10.0
            else:
                low += 1
                if low >= theta:
                    low, above, a = 0, False, 10.0
        else:
            above = True
            dm, da = most - most / 100, delay - most / 100
            a = dm * 10 / (dm + da * (10 - 0.3) / 0.3)
        found.append(a)
    return found


def test_illinois_waits_theta_round_trips_without_delay():
    """As the file: the count of low round trips goes on through those of delay."""
    rule, base = LinuxIllinois(), 1 / 32  # times that are exact in binary
    delays = [0, 0, 1 / 64, 0, 0, 1 / 128, 0, 0, 0, 0, 1 / 32, *[0] * 6]
    state = rule.State(100.0, 2.0, base, 2 * base, 0.0, 0.0, 0.0)
    now, found = 0.0, []
    for delay in delays:
        rtt = base + delay
        now += rtt
        state = rule.on_ack(state._replace(cwnd=100.0), rule.params, Event(now, rtt))
        found.append(state.a)
    assert found == pytest.approx(illinois_rounds(delays), rel=1e-9)


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
