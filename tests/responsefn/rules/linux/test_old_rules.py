"""Window rules as modules of Linux 2.6.22."""

from __future__ import annotations

import math

import pytest

from responsefn import BIC, CUBIC, Vegas
from responsefn.linux import (
    LinuxBIC,
    LinuxCUBIC,
    LinuxHTCP,
    LinuxIllinois,
    LinuxScalable,
    LinuxVegas,
)
from tests.responsefn.events import Event
from tests.surface import for_each

# The module of Linux against the integer arithmetic of its file, written here once more.


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
    rule = LinuxBIC(per_ack=sixteenths / 16, kernel="2.6.22")
    state = rule.State(float(cwnd), 2.0, 1000.0)
    step = rule.on_ack(state, rule.params, None).cwnd - cwnd
    count = max(1, bic_count(cwnd, 1000) * 16 // sixteenths)
    assert 1 / step == pytest.approx(count + 1, rel=0.005, abs=1.0)


def test_bic_in_renos_region_grows_by_a_packet_per_round_trip():
    """bictcp_update returns there before it divides by the estimate of packets per ACK."""
    rule = LinuxBIC(kernel="2.6.22")
    assert rule.on_ack(rule.State(10.0, 2.0, 1000.0), rule.params, None).cwnd == 10.0 + 1 / 11


def test_bic_remembers_less_of_a_lower_peak():
    for rule, peak in (
        (LinuxBIC(kernel="2.6.22"), 100 * 1843 / 2048),
        (LinuxBIC(remembered=0.8, kernel="2.6.22"), 80.0),
    ):
        assert rule.on_loss(rule.State(100.0, 2.0, 120.0), rule.params, None).peak == peak
        assert rule.on_loss(rule.State(100.0, 2.0, 90.0), rule.params, None).peak == 100.0


def test_bics_estimate_of_packets_per_ack_rests_at_31_sixteenths():
    """bictcp_acked: cnt -= delayed_ack >> 4; delayed_ack += cnt, from 2 << 4 and cnt = 1."""
    delayed_ack = 2 << 4
    for _ in range(100):
        delayed_ack += 1 - (delayed_ack >> 4)
    assert LinuxBIC(kernel="2.6.22").per_ack == delayed_ack / 16


# The module of Linux against the integer arithmetic of its file, written here once more.


def cubic_count(cwnd, origin, plateau, late, rtt, reno, sixteenths):
    """ACKs per packet of bictcp_update, version 2.1; times in s."""
    t = late + rtt
    delta = int(410 * abs(t - plateau) ** 3 / 1024)
    target = origin - delta if t < plateau else origin + delta
    count = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
    if t >= plateau:
        count = max(count, cwnd / (10 * 16 * rtt))
    if reno > cwnd:
        count = min(count, cwnd // (reno - cwnd))
    return max(1, int(count * 16 / sixteenths))


@pytest.mark.parametrize("sixteenths", [16, 31])
@pytest.mark.parametrize("late", [0.1, 2.0, 4.0, 5.5, 8.0])
@pytest.mark.parametrize("reno", [60, 90, 130])
def test_cubic_takes_as_many_acks_as_bictcp_update_says_and_one(late, reno, sixteenths):
    rule = LinuxCUBIC(per_ack=sixteenths / 16, kernel="2.6.22")
    state = rule.State(82.0, 2.0, 100.0, 4.0, 0.0, base_rtt=0.04, reno=reno + 0.5)
    grown = rule.on_ack(state, rule.params, Event(late, 0.04)).cwnd - 82.0
    count = cubic_count(82, 100, 4.0, late, 0.04, reno, sixteenths)
    assert 1 / grown == pytest.approx(count + 1, rel=1e-9)


def test_renos_window_grows_by_a_packet_in_23_eighths_of_a_window():
    """beta_scale = 8 (1024 + 819) / 3 / (1024 - 819), a whole number."""
    assert 8 * (1024 + 819) // 3 // (1024 - 819) == 23
    rule = LinuxCUBIC(kernel="2.6.22")
    state = rule.on_ack(rule.State(80.0, 2.0, 100.0), rule.params, Event(0.1, 0.04))
    assert state.reno - 1.0 == pytest.approx(8 / 23 / 80.0)


def test_a_loss_sets_the_curve():
    rule = LinuxCUBIC(kernel="2.6.22")
    state = rule.on_loss(rule.State(100.0, 2.0, 90.0), rule.params, Event(7.0, 0.04))
    assert (state.cwnd, state.peak) == pytest.approx((100 * 819 / 1024, 100.0))
    assert state.plateau == pytest.approx(((100.0 - state.cwnd) / (410 / 1024)) ** (1 / 3))
    lower = rule.on_loss(rule.State(80.0, 2.0, 100.0), rule.params, Event(7.0, 0.04))
    assert lower.peak == pytest.approx(80.0 * 1843 / 2048)


@pytest.mark.slow
def test_the_response_is_near_that_of_the_rfc_and_not_its():
    for p in (1e-4, 1e-3, 1e-2):
        assert LinuxCUBIC(kernel="2.6.22").rate(p, 0.04) == pytest.approx(CUBIC().rate(p, 0.04), rel=0.15)
    assert not math.isclose(LinuxCUBIC(kernel="2.6.22").rate(1e-2, 0.04), CUBIC().rate(1e-2, 0.04), rel_tol=0.02)


# The module of Linux against the integer arithmetic of its file, written here once more.


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
    rule = LinuxHTCP(kernel="2.6.22")
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
    rule = LinuxHTCP(kernel="2.6.22")
    state, cycles = (
        rule.State(100.0, 2.0, base_rtt=0.04),
        [1000, 1100, 1150, 900, 500, 520, 500, 700],
    )
    found = []
    for most in cycles:
        state = rule.on_loss(state._replace(cwnd=100.0, top_throughput=most), rule.params, Event(0.0, 0.04))
        found.append(state.beta)
    assert found == part_kept(cycles)
    assert set(found) == {0.5, 0.8}


def test_htcp_follows_the_throughput_by_a_quarter_per_round_trip():
    rule = LinuxHTCP(kernel="2.6.22")
    state = rule.State(200.0, 2.0, base_rtt=0.04, throughput=1000.0, top_throughput=1000.0)
    for _ in range(200):
        state = rule.on_ack(state._replace(cwnd=200.0), rule.params, Event(1.0, 0.04))
    assert state.throughput == pytest.approx(5000.0 - 4000.0 * math.exp(-0.25), rel=1e-3)
    assert state.top_throughput == state.throughput


# The module of Linux against the integer arithmetic of its file, written here once more.


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
    rule, base = LinuxIllinois(kernel="2.6.22"), 1 / 32  # times that are exact in binary
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
        rule = LinuxIllinois(keeps_beta=flag, kernel="2.6.22")
        state = rule.State(400.0, 2.0, b=0.125)
        assert rule.on_loss(state, rule.params, None).cwnd == kept * 400.0


def test_illinois_takes_whole_acks():
    """delta = cnt alpha >> 7; a packet more once delta >= cwnd: on average half an ACK late."""
    rule, late = LinuxIllinois(kernel="2.6.22"), []
    for cwnd in range(60, 120):
        acks = next(n for n in range(1, 1000) if (n * 1280) >> 7 >= cwnd)
        state = rule.State(float(cwnd), 2.0, 0.04, 0.08, 0.0, 0.0, 0.0, 10.0)
        grown = rule.on_ack(state, rule.params, Event(0.01, 0.04)).cwnd - cwnd
        late.append(acks - 1 / grown)
    assert abs(sum(late)) / len(late) < 0.1
    assert max(map(abs, late)) <= 0.5 + 1e-9


# The module of Linux against the integer arithmetic of its file, written here once more.


@for_each([5, 20, 49, 50, 51, 100, 1000])
def test_scalable_counts_beyond_fifty(cwnd):
    """cnt++, and a packet more once cnt > min(cwnd, 50)."""
    count, acks = 0, 0
    while count <= min(cwnd, 50):
        count, acks = count + 1, acks + 1
    rule = LinuxScalable(kernel="2.6.22")
    grown = rule.on_ack(rule.State(float(cwnd), 2.0), rule.params, None).cwnd - cwnd
    assert 1 / grown == pytest.approx(acks, rel=1e-9)


def test_the_modules_keep_other_parts_than_the_papers():
    state = LinuxScalable(kernel="2.6.22").State(100.0, 2.0)
    assert LinuxScalable(kernel="2.6.22").on_loss(state, LinuxScalable(kernel="2.6.22").params, None).cwnd == 87.5
    assert 1 - LinuxBIC(kernel="2.6.22").b == pytest.approx(819 / 1024)
    assert 1 - BIC().b == 0.875


# The module of Linux against the integer arithmetic of its file, written here once more.


def test_vegas_moves_half_as_fast_as_the_paper_says():
    for rtt in (0.0401, 0.05):
        steps = []
        for rule in (Vegas(), LinuxVegas(kernel="2.6.22")):
            state = rule.State(100.0, 2.0, 0.04)
            steps.append(rule.on_ack(state, rule.params, Event(0.0, rtt)).cwnd - 100.0)
        assert steps[1] == pytest.approx(0.5 * steps[0], rel=1e-9)
