"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import pytest

from responsefn import LinuxIllinois
from responsefn.responses.dynamics import Event


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


def test_illinois_of_2_6_22_keeps_beta_of_the_window():
    for flag, kept in ((0, 0.875), (1, 0.125)):
        rule = LinuxIllinois(keeps_beta=flag)
        state = rule.State(400.0, 2.0, b=0.125)
        assert rule.on_loss(state, rule.params, None).cwnd == kept * 400.0


def test_illinois_takes_whole_acks():
    """delta = cnt alpha >> 7; a packet more once delta >= cwnd: on average half an ACK late."""
    rule, late = LinuxIllinois(), []
    for cwnd in range(60, 120):
        acks = next(n for n in range(1, 1000) if (n * 1280) >> 7 >= cwnd)
        state = rule.State(float(cwnd), 2.0, 0.04, 0.08, 0.0, 0.0, 0.0, 10.0)
        grown = rule.on_ack(state, rule.params, Event(0.01, 0.04)).cwnd - cwnd
        late.append(acks - 1 / grown)
    assert abs(sum(late)) / len(late) < 0.1
    assert max(map(abs, late)) <= 0.5 + 1e-9
