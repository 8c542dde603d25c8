"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import pytest

from responsefn import LinuxBIC


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
@pytest.mark.parametrize("sixteenths", [16, 31])
def test_bic_takes_as_many_acks_as_bictcp_update_says_and_one(cwnd, sixteenths):
    """bictcp_cong_avoid counts up to a whole number and adds the packet at the ACK after it: within one ACK,
    and the distance of a packet that counting whole ones cuts off."""
    rule = LinuxBIC(per_ack=sixteenths / 16)
    state = rule.State(float(cwnd), 2.0, 1000.0)
    step = rule.on_ack(state, rule.params, None).cwnd - cwnd
    count = max(1, bic_count(cwnd, 1000) * 16 // sixteenths)
    assert 1 / step == pytest.approx(count + 1, rel=0.005, abs=1.0)


def test_bic_in_renos_region_grows_by_a_packet_per_round_trip():
    """bictcp_update returns there before it divides by the estimate of packets per ACK."""
    rule = LinuxBIC()
    assert rule.on_ack(rule.State(10.0, 2.0, 1000.0), rule.params, None).cwnd == 10.0 + 1 / 11


def test_bic_remembers_less_of_a_lower_peak():
    for rule, peak in ((LinuxBIC(), 100 * 1843 / 2048), (LinuxBIC(remembered=0.8), 80.0)):
        assert rule.on_loss(rule.State(100.0, 2.0, 120.0), rule.params, None).peak == peak
        assert rule.on_loss(rule.State(100.0, 2.0, 90.0), rule.params, None).peak == 100.0


def test_bics_estimate_of_packets_per_ack_rests_at_31_sixteenths():
    """bictcp_acked: cnt -= delayed_ack >> 4; delayed_ack += cnt, from 2 << 4 and cnt = 1."""
    delayed_ack = 2 << 4
    for _ in range(100):
        delayed_ack += 1 - (delayed_ack >> 4)
    assert LinuxBIC().per_ack == delayed_ack / 16
