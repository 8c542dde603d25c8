"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import math

import pytest

from responsefn import LinuxHTCP
from responsefn.responses.dynamics import Event


@pytest.mark.parametrize(
    ("since", "rtt", "alpha"),
    [
        (0.5, 0.1, 0.4),  # the first second: 2 (1 - 0.8) of one packet
        (2.0, 0.1, 0.4 * 11),  # 1 + floor(10 + 1/4)
        (2.0, 0.05, 0.4 * 5),  # scaled by RTT_min / 100 ms: 11/2
        (2.0, 0.4, 0.4 * 22),  # at most twice
    ],
)
def test_htcp_scales_alpha_with_the_rtt(since, rtt, alpha):
    rule = LinuxHTCP()
    state = rule.State(100.0, 2.0, 0.0, rtt, rtt, 0.8)
    grown = rule.on_ack(state, rule.params, Event(since, rtt))
    assert (grown.cwnd - 100.0) * 100.0 == pytest.approx(alpha, rel=1e-9)


def part_kept(throughputs):
    """beta of htcp_beta_update after cycles of these highest throughputs, without a queue."""
    old, switch, found = 0, 0, []
    for most in throughputs:
        if not 4 * old <= 5 * most <= 6 * old:
            beta, switch = 0.5, 0
        elif switch:
            beta = 0.8  # RTT_min / RTT_max is 1
        else:
            beta, switch = 0.5, 1
        old = most
        found.append(beta)
    return found


def test_htcp_halves_unless_two_cycles_were_alike():
    rule = LinuxHTCP()
    state, cycles = (
        rule.State(100.0, 2.0, base_rtt=0.04),
        [1000, 1100, 1150, 900, 500, 520, 500, 700],
    )
    found = []
    for most in cycles:
        state = rule.on_loss(state._replace(cwnd=100.0, most=most), rule.params, Event(0.0, 0.04))
        found.append(state.kept)
    assert found == part_kept(cycles)
    assert set(found) == {0.5, 0.8}


def test_htcp_follows_the_throughput_by_a_quarter_per_round_trip():
    rule = LinuxHTCP()
    state = rule.State(200.0, 2.0, base_rtt=0.04, throughput=1000.0, most=1000.0)
    for _ in range(200):
        state = rule.on_ack(state._replace(cwnd=200.0), rule.params, Event(1.0, 0.04))
    assert state.throughput == pytest.approx(5000.0 - 4000.0 * math.exp(-0.25), rel=1e-3)
    assert state.most == state.throughput
