"""Linux's modules against the integer arithmetic of their files, written here once more."""

from __future__ import annotations

import pytest

from responsefn import (
    BIC,
    LinuxBIC,
    LinuxHTCP,
    LinuxIllinois,
    LinuxScalable,
    LinuxVegas,
    Vegas,
    WestwoodPlus,
)
from responsefn.responses.dynamics import Event


def bic_count(cwnd, last_max):
    """ACKs per packet of bictcp_update with smooth_part 20, max_increment 16, BICTCP_B 4."""
    if cwnd <= 14:
        return cwnd
    if cwnd < last_max:
        dist = (last_max - cwnd) // 4
        if dist > 16:
            return cwnd // 16
        if dist <= 1:
            return cwnd * 20 // 4
        return cwnd // dist
    if cwnd < last_max + 4:
        return cwnd * 20 // 4
    if cwnd < last_max + 16 * 3:
        return cwnd * 3 // (cwnd - last_max)
    return cwnd // 16


@pytest.mark.parametrize("cwnd", [10, 300, 640, 900, 1001, 1030, 1200])
def test_bic_takes_as_many_acks_as_bictcp_update_says(cwnd):
    """Whole numbers are cut there: by less than one of dist, and of the count."""
    rule = LinuxBIC(per_ack=1.0)
    state = rule.State(float(cwnd), 2.0, 1000.0)
    step = rule.on_ack(state, rule.params, None).cwnd - cwnd
    count = bic_count(cwnd, 1000)
    assert 1 / step == pytest.approx(count, rel=0.05)


def test_bics_estimate_of_packets_per_ack_rests_at_31_sixteenths():
    """bictcp_acked: cnt -= delayed_ack >> 4; delayed_ack += cnt, from 2 << 4 and cnt = 1."""
    delayed_ack = 2 << 4
    for _ in range(100):
        delayed_ack += 1 - (delayed_ack >> 4)
    assert LinuxBIC().per_ack == delayed_ack / 16


def test_the_modules_differ_from_the_papers():
    """By the constants of the files: what a loss keeps, and growth at 100 packets."""
    state = LinuxScalable.State(100.0, 2.0)
    rule = LinuxScalable()
    assert rule.on_ack(state, rule.params, None).cwnd == pytest.approx(100.0 + 1 / 50)
    assert rule.on_ack(state._replace(cwnd=20.0), rule.params, None).cwnd == pytest.approx(20.05)
    assert 1 - LinuxBIC().b == pytest.approx(819 / 1024)
    assert 1 - BIC().b == 0.875


def test_vegas_moves_half_as_fast_as_the_paper_says():
    for rtt in (0.0401, 0.05):
        steps = []
        for rule in (Vegas(), LinuxVegas()):
            state = rule.State(100.0, 2.0, 0.04)
            steps.append(rule.on_ack(state, rule.params, Event(0.0, rtt)).cwnd - 100.0)
        assert steps[1] == pytest.approx(0.5 * steps[0], rel=1e-9)


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
