"""Linux's modules that go by losses against the integer arithmetic of their files, written here once more."""

from __future__ import annotations

import pytest

from responsefn import (
    BIC,
    LinuxBIC,
    LinuxHTCP,
    LinuxScalable,
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


@pytest.mark.parametrize("cwnd", [300, 640, 900, 950, 970, 990, 993, 996, 1001, 1030, 1200])
def test_bic_takes_as_many_acks_as_bictcp_update_says(cwnd):
    """The count is cut to a whole number there: below 100 of them that is a percent or more."""
    rule = LinuxBIC(per_ack=1.0)
    state = rule.State(float(cwnd), 2.0, 1000.0)
    step = rule.on_ack(state, rule.params, None).cwnd - cwnd
    count = bic_count(cwnd, 1000)
    assert 1 / step == pytest.approx(count, rel=0.05)


def test_bic_in_renos_region_grows_by_a_packet_per_round_trip():
    """bictcp_update returns there before it divides by the estimate of packets per ACK."""
    rule = LinuxBIC()
    assert rule.on_ack(rule.State(10.0, 2.0, 1000.0), rule.params, None).cwnd == 10.1


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
