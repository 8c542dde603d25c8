"""Rules of QUIC and alternative backoff against the arithmetic of their sources, written here once more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import Flow
from responsefn import ABE, AIMD, ChromiumCUBIC, NewReno, QUICNewReno
from tests.responsefn.events import Event


def test_newreno_of_quic_has_two_packets_at_least_and_ten_at_the_beginning():
    rule = QUICNewReno()
    assert rule.State().cwnd == 10.0
    assert Flow("f", ("a", "b"), rule).initial_window is None
    for cwnd, kept in ((100.0, 50.0), (3.0, 2.0)):
        state = rule.State(cwnd, 2.0)
        assert rule.on_loss(state, rule.params, None)[:2] == (kept, kept)
        assert rule.on_timeout(state, rule.params, None)[:2] == (2.0, kept)
    assert rule.on_ack(rule.State(40.0, 2.0), rule.params, None).cwnd == 40.0 + 1 / 40
    assert rule.rate(1e-3, 0.1) == NewReno().rate(1e-3, 0.1)
    assert rule.recovery == "sack"
    assert "RFC 9002" in rule.cite()


def chromium_target(cwnd, origin, plateau, late, reno, connections, acked=1.0):
    """CongestionWindowAfterAck of cubic_bytes.cc in packets; times in s."""
    beta = (connections - 1 + 0.7) / connections
    alpha = 3 * connections**2 * (1 - beta) / (1 + beta)
    offset = abs(plateau - late)
    delta = 410 / 1024 * offset**3
    target = origin + delta if late > plateau else origin - delta
    target = min(target, cwnd + acked / 2)
    return max(target, reno + acked * alpha / reno)


@pytest.mark.parametrize("connections", [1, 2, 4])
@pytest.mark.parametrize("late", [0.2, 2.0, 4.0, 7.0, 30.0])
def test_chromium_sets_the_window_to_the_curve(connections, late):
    rule = ChromiumCUBIC(connections=connections)
    state = rule.State(82.3, 2.0, 100.0, 100.0, 3.5, 1.0, 0.05, 70.0)
    after = rule.on_ack(state, rule.params, Event(1.0 + late, 0.06))
    expected = chromium_target(82.3, 100.0, 3.5, late + 0.05, 70.0, connections)
    assert after.cwnd == pytest.approx(expected, rel=1e-12)


def test_a_curve_of_chromium_begins_at_the_first_ack_after_recovery():
    rule = ChromiumCUBIC()
    after = rule.on_ack(rule.State(85.0, 2.0, 100.0, base_rtt=0.05), rule.params, Event(3.0, 0.05))
    assert (after.since, after.origin) == (3.0, 100.0)
    assert after.plateau == pytest.approx((15 * 1024 / 410) ** (1 / 3))
    above = rule.on_ack(rule.State(120.0, 2.0, 100.0), rule.params, Event(3.0, 0.05))
    assert (above.origin, above.plateau) == (120.0, 0.0)


def test_a_loss_leaves_the_part_of_several_connections():
    for connections, kept, remembered in ((1, 70.0, 85.0), (2, 85.0, 92.5)):
        rule = ChromiumCUBIC(connections=connections)
        for peak, expected in ((0.0, 100.0), (100.9, 100.0), (101.1, remembered)):
            lost = rule.on_loss(rule.State(100.0, 2.0, peak), rule.params, None)
            assert (lost.cwnd, lost.peak) == (pytest.approx(kept), pytest.approx(expected))
    timeout = ChromiumCUBIC().on_timeout(ChromiumCUBIC.State(100.0), ChromiumCUBIC().params, None)
    assert (timeout.cwnd, timeout.ssthresh, timeout.peak) == (2.0, 50.0, 0.0)


@pytest.mark.parametrize(("rtt", "ends"), [(0.0449, False), (0.0451, True)])
def test_slow_start_of_chromium_ends_with_the_eighth_sample(rtt, ends):
    rule = ChromiumCUBIC()
    state, n = rule.State(20.0, base_rtt=0.04), 0
    while state.ssthresh == math.inf and n < 40:
        state, n = rule.on_ack(state, rule.params, Event(1.0, rtt)), n + 1
    assert n == (8 if ends else 40)
    if ends:
        assert state.cwnd == state.ssthresh == 27.0
    small = rule.State(10.0, base_rtt=0.04)
    for _ in range(5):
        small = rule.on_ack(small, rule.params, Event(1.0, 0.08))
    assert small.ssthresh == math.inf
    plain = ChromiumCUBIC(hystart=0)
    assert plain.on_ack(plain.State(20.0, base_rtt=0.04), plain.params, Event(1.0, 1.0)).cwnd == 21


@pytest.mark.parametrize("p", [1e-3, 1e-4, 1e-5, 1e-6])
def test_a_cycle_of_chromium_returns_to_the_expected_peak(p):
    """Of Reno's window to a packet, of the curve to a per cent: its first ACKs are held by the largest step."""
    rule, rtt = ChromiumCUBIC(), 0.1
    expected = float(rule.expected_peak(np.array(p), np.array(rtt)))
    assert rule.cycle(p, rtt).peak_window == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("C", [1e-3, 10.0])
def test_the_peak_of_chromium_is_found_for_other_curves(C):
    rule, rtt = ChromiumCUBIC(C=C), 0.1
    expected = float(rule.expected_peak(np.array(1e-5), np.array(rtt)))
    assert rule.cycle(1e-5, rtt).peak_window == pytest.approx(expected, rel=0.05)


def test_two_connections_of_chromium_have_the_rate_of_two_renos():
    rate = ChromiumCUBIC().rate(1e-3, 0.04)
    assert rate == pytest.approx(2 * NewReno().rate(1e-3, 0.04), rel=0.01)


def test_abe_keeps_more_at_a_mark_than_at_a_loss():
    rule = ABE()
    state = rule.State(50.0, 2.0)
    assert rule.on_loss(state, rule.params, None).cwnd == 40.0  # a mark
    assert rule.on_drop(state, rule.params, None).cwnd == 25.0
    assert rule.on_ack(state, rule.params, None).cwnd == 50.0 + 1 / 50
    assert rule.signal == "mark"
    assert rule.rate(0.01, 0.1) == pytest.approx(AIMD(1.0, 0.2).rate(0.01, 0.1))
    assert rule.rate(0.01, 0.1) > NewReno().rate(0.01, 0.1)
    with pytest.raises(ValueError, match=r"beta_ecn = 0\.4"):
        ABE(beta_ecn=0.4)


def test_slow_start_of_chromium_samples_every_round():
    """Rounds begin with ACKs 1, 21 and 61; the delay comes with ACK 31."""
    rule = ChromiumCUBIC()
    state = rule.State(20.0, base_rtt=0.04)
    for n in range(68):
        state = rule.on_ack(state, rule.params, Event(1.0, 0.04 if n < 30 else 0.06))
    assert state.ssthresh == 87.0
