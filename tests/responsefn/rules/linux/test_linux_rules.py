"""Window rules as modules of Linux 6.12, against the integer arithmetic of their files, written here once more."""

from __future__ import annotations

import math
import pickle

import pytest

from hopflow.parameters import canonical_text
from responsefn import HSTCP
from responsefn.linux import (
    LinuxBIC,
    LinuxCUBIC,
    LinuxHSTCP,
    LinuxHTCP,
    LinuxIllinois,
    LinuxScalable,
    LinuxVegas,
    WestwoodPlus,
)
from tests.responsefn.events import Event

BOTH = (LinuxBIC, LinuxCUBIC, LinuxHTCP, LinuxIllinois, LinuxScalable, LinuxVegas)


@pytest.mark.parametrize("rule", BOTH)
def test_the_kernel_selects_the_version_of_the_file(rule):
    new, old = rule(), rule(kernel="2.6.22")
    assert new == rule(kernel="6.12") != old
    assert (new.kernel, old.kernel) == ("6.12", "2.6.22")
    assert "Linux 6.12" in new.cite()
    assert "Linux 2.6.22" in old.cite()
    assert repr(old) == canonical_text(old) == f"{rule.__name__}(kernel='2.6.22')"
    assert canonical_text(new) == f"{rule.__name__}()"
    for each in (new, old):
        assert pickle.loads(pickle.dumps(each)) == each
        assert isinstance(each, rule)


def test_other_versions_are_refused():
    with pytest.raises(ValueError, match=r"kernel = '6.1': must be one of '6.12', '2.6.22'"):
        LinuxCUBIC(kernel="6.1")
    with pytest.raises(ValueError, match=r"kernel = '6.12': must be '2.6.22' of this object"):
        LinuxCUBIC(kernel="2.6.22").replace(kernel="6.12")
    with pytest.raises(ValueError, match=r"kernel = '2.6.22': must be one of '6.12'"):
        LinuxHSTCP(kernel="2.6.22")
    with pytest.raises(TypeError, match="per_ack"):
        LinuxCUBIC(per_ack=1.0)


def grown(rule, state, event=None):
    """Packets that an ACK adds."""
    return rule.on_ack(state, rule.params, event).cwnd - state.cwnd


def bic_count(cwnd, last_max, sixteenths=31):
    """ACKs per packet of bictcp_update."""
    if cwnd <= 14:
        return cwnd
    if cwnd < last_max:
        dist = (last_max - cwnd) // 4
        count = cwnd // 16 if dist > 16 else cwnd * 20 // 4 if dist <= 1 else cwnd // dist
    elif cwnd < last_max + 4:
        count = cwnd * 20 // 4
    else:
        count = cwnd * 3 // (cwnd - last_max) if cwnd < last_max + 48 else cwnd // 16
    return max(1, (count << 4) // sixteenths)


@pytest.mark.parametrize("cwnd", [10, 300, 640, 900, 970, 993, 996, 1001, 1030, 1200])
def test_bic_takes_the_acks_of_bictcp_update(cwnd):
    rule = LinuxBIC()
    assert 1 / grown(rule, rule.State(cwnd + 0.4, 2.0, 1000.0)) == pytest.approx(
        bic_count(cwnd, 1000)
    )
    lost = rule.on_loss(rule.State(cwnd + 0.4, 2.0, 1000.0), rule.params, None)
    assert lost.cwnd == (cwnd // 2 if cwnd <= 14 else cwnd * 819 // 1024)
    assert lost.peak == (cwnd * 1843 // 2048 if cwnd < 1000 else cwnd)


def cubic_count(cwnd, origin, plateau, late, rtt, reno):
    """ACKs per packet of bictcp_update, version 2.3; times in s."""
    t = late + rtt
    delta = int(410 * abs(t - plateau) ** 3 / 1024)
    target = origin - delta if t < plateau else origin + delta
    count = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
    if reno > cwnd:
        count = min(count, cwnd // (reno - cwnd))
    return max(2, count)


@pytest.mark.parametrize("late", [1.1, 2.0, 4.0, 5.5, 8.0, 30.0])
@pytest.mark.parametrize("reno", [60, 90, 130])
def test_cubic_takes_the_acks_of_bictcp_update(late, reno):
    rule = LinuxCUBIC()
    state = rule.State(82.3, 2.0, 100.0, 100.0, 4.0, 0.0, 0.04, reno + 0.5)
    count = cubic_count(82, 100, 4.0, late, 0.04, reno)
    assert 1 / grown(rule, state, Event(late, 0.04)) == pytest.approx(count)


def test_renos_window_of_cubic_grows_by_a_packet_in_15_eighths_of_a_window():
    assert 8 * (1024 + 717) // 3 // (1024 - 717) == 15
    rule = LinuxCUBIC()
    state = rule.on_ack(rule.State(80.0, 2.0, 100.0), rule.params, Event(0.1, 0.04))
    assert state.reno == pytest.approx(80 + 1 / (80 * 15 // 8))
    assert state.plateau == pytest.approx((20 / (410 / 1024)) ** (1 / 3))
    assert state.since == 0.1


def test_cubic_compares_and_cuts_whole_windows():
    """135.04 packets after 135.13 are no lower peak: both are 135."""
    rule = LinuxCUBIC()
    first = rule.on_loss(rule.State(135.13, 2.0), rule.params, Event(1.0, 0.04))
    assert (first.cwnd, first.ssthresh, first.peak) == (135 * 717 // 1024, 94.0, 135.0)
    again = rule.on_loss(first._replace(cwnd=135.04), rule.params, Event(4.5, 0.04))
    assert again.peak == 135.0
    lower = rule.on_loss(first._replace(cwnd=134.96), rule.params, Event(4.5, 0.04))
    assert lower.peak == 134 * (1024 + 717) // 2048


def slow_start(rule, gap, rtt, acks):
    """The state after ACKs ``gap`` s apart from one window of 20 packets on, and how many came before slow start ended."""
    state = rule.State(20.0, base_rtt=0.04)
    for n in range(acks):
        state = rule.on_ack(state, rule.params, Event(1.0 + n * gap, rtt))
        if state.ssthresh < math.inf:
            return n, state
    return acks, state


def test_a_train_of_acks_ends_slow_start():
    """After (40 + 1) / 2 ms without gaps above 2 ms: at the 21st millisecond, within a round of 20 ACKs or more."""
    for gap, rule in ((1.05e-3, LinuxCUBIC(hystart=1)), (1.05e-3, LinuxCUBIC())):
        n, state = slow_start(rule, gap, 0.04, 60)
        # the first round of 20 ACKs ends at 19 gaps; the next has 40 and is the one that is long enough
        assert n == 20 + math.floor(0.0205 / gap) + 1
        assert state.found == 1.0
        assert state.ssthresh == 20.0 + n
    assert slow_start(LinuxCUBIC(), 2.1e-3, 0.04, 60)[0] == 60
    assert slow_start(LinuxCUBIC(hystart=2), 1.05e-3, 0.04, 60)[0] == 60
    assert slow_start(LinuxCUBIC(hystart=0), 1.05e-3, 0.08, 60)[0] == 60


def test_a_delay_above_an_eighth_ends_slow_start_with_the_ninth_sample():
    assert slow_start(LinuxCUBIC(), 3e-3, 0.0451, 60)[0] == 8
    assert slow_start(LinuxCUBIC(), 3e-3, 0.0449, 60)[0] == 60  # 5 ms is an eighth of 40


def test_the_fluid_runs_hystart_by_delay_only():
    assert LinuxCUBIC().in_fluid() == LinuxCUBIC(hystart=2)
    assert LinuxCUBIC(hystart=1).in_fluid() == LinuxCUBIC(hystart=0)
    assert LinuxBIC().in_fluid() == LinuxBIC()


@pytest.mark.parametrize("cwnd", [5, 20, 99, 100, 101, 1000])
def test_scalable_takes_up_to_a_hundred_acks(cwnd):
    rule = LinuxScalable()
    assert 1 / grown(rule, rule.State(cwnd + 0.5, 2.0)) == pytest.approx(min(cwnd, 100))
    kept = rule.on_loss(rule.State(cwnd + 0.5, 2.0), rule.params, None).cwnd
    assert kept == max(2, cwnd - (cwnd >> 3))


def test_highspeed_has_the_rows_of_the_table():
    """tcp_highspeed.c: the first row whose window is not below, its number of packets per window of ACKs."""
    rule = LinuxHSTCP()
    for cwnd, row, md in ((38, 1, 128), (39, 2, 112), (118, 2, 112), (119, 3, 104), (1000, 8, 83)):
        assert grown(rule, rule.State(cwnd + 0.5, 2.0)) == pytest.approx(row / cwnd)
        seen = rule.on_ack(rule.State(cwnd + 0.5, 2.0), rule.params, None)._replace(cwnd=cwnd + 0.5)
        assert seen.row == row - 1
        lost = rule.on_loss(seen, rule.params, None)
        assert lost.cwnd == cwnd - (cwnd * md >> 8)
        timeout = rule.on_timeout(seen, rule.params, None)
        assert (timeout.cwnd, timeout.ssthresh) == (1.0, lost.cwnd)
    first = rule.on_ack(rule.State(999.0), rule.params, None)  # slow start looks up no row
    assert (first.cwnd, first.row) == (1000.0, 0.0)
    assert rule.on_loss(first, rule.params, None).cwnd == 500.0
    assert not rule.counts_packets
    assert HSTCP().counts_packets


@pytest.mark.parametrize(
    ("late", "rtt", "alpha"),
    [
        (0.5, 0.1, 128),
        (2.0, 0.1, 11 * 128),
        (2.0, 0.048, 5 * 128),
        (2.0, 0.4, 22 * 128),
        (30.0, 0.04, 200 * 128),
    ],
)
def test_htcp_takes_the_acks_of_its_counter(late, rtt, alpha):
    """cwnd + 1 once (count alpha) >> 7 >= cwnd, which is asked before the ACK is counted."""
    rule = LinuxHTCP()
    hz, ticks = 250, math.ceil(rtt * 250)
    diff = int(late * hz) - hz
    factor = 1 + (10 * diff + (diff // 2) ** 2 // hz) // hz if diff > 0 else 1
    scale = min(80, max(4, (hz << 3) // (10 * ticks)))
    assert max(1, (factor << 3) // scale) * 128 == alpha
    count = acks = 0
    while (count * alpha) >> 7 < 100:
        count, acks = count + 1, acks + 1
    state = rule.State(100.0, 2.0, 0.0, rtt, rtt, 0.5)
    assert 1 / grown(rule, state, Event(late, rtt)) == pytest.approx(acks + 1)


def test_htcp_keeps_a_ratio_of_jiffies_in_128ths():
    rule = LinuxHTCP()
    state = rule.State(139.6, 2.0, 0.0, 0.0406, 0.0624, most=100.0, most_before=100.0, steady=1.0)
    lost = rule.on_loss(state, rule.params, Event(5.0, 0.0624))
    assert lost.cwnd == 139 * ((11 << 7) // 16) >> 7
    assert lost.top_rtt == pytest.approx(0.0406 + 0.95 * 0.0218)
    assert rule.on_loss(state._replace(steady=0.0), rule.params, Event(5.0, 0.0624)).cwnd == 69


@pytest.mark.parametrize("part", [0.005, 0.1, 0.5, 1.0])
def test_illinois_sets_alpha_and_beta_once_per_round(part):
    """alpha and beta of tcp_illinois.c in us, 128ths and 64ths."""
    dm, da = 40_000, int(part * 40_000)
    d1 = dm // 100
    x = 1280 if da <= d1 else (dm - d1) * 1280 // (dm - d1 + (da - d1) * (1280 - 38) // 38)
    d2, d3 = dm // 10, 8 * dm // 10
    y = 8 if da <= d2 else 32 if da >= d3 else (8 * d3 - 32 * d2 + 24 * da) // (d3 - d2)
    rule = LinuxIllinois()
    state = rule.State(50.5, 2.0, 0.04, 0.08, left=50.0)
    for _ in range(50):
        state = rule.on_ack(state._replace(cwnd=50.5), rule.params, Event(1.0, 0.04 + part * 0.04))
    assert (state.a, state.b) == (x / 128, y / 64)
    acks = next(n for n in range(1, 10_000) if (n * x) >> 7 >= 50)
    assert 1 / grown(rule, state._replace(cwnd=50.5), Event(1.0, 0.05)) == pytest.approx(
        acks, abs=1
    )
    assert rule.on_loss(state._replace(cwnd=50.5), rule.params, None).cwnd == 50 - (50 * y >> 6)


def vegas_rounds(cwnd, ssthresh, rtts, base=40_000):
    """Windows of tcp_vegas_cong_avoid after rounds of these minima in us, in congestion avoidance."""
    found = []
    for rtt in rtts:
        diff = cwnd * (rtt - base) // base
        if diff > 1 and cwnd < ssthresh:
            cwnd = min(cwnd, cwnd * base // rtt + 1)
            ssthresh = min(ssthresh, cwnd)
        elif diff > 4:
            cwnd -= 1
            ssthresh = min(ssthresh, cwnd)
        elif diff < 2:
            cwnd += 1
        ssthresh = max(ssthresh, (cwnd >> 1) + (cwnd >> 2))
        found.append(cwnd)
    return found


def test_vegas_compares_once_per_round_and_ends_slow_start_by_delay():
    rule, rtts = LinuxVegas(), [42_000, 40_010, 40_010, 43_000, 45_000, 45_000, 41_500]
    state = rule.State(60.0, math.inf, 0.04, left=1.0, samples=5.0)
    found = []
    for rtt in rtts:
        seen = Event(0.0, rtt / 1e6)
        while state.left > 1.0:
            before = state.cwnd
            state = rule.on_ack(state, rule.params, seen)
            assert state.cwnd == before  # between, out of slow start
        state = rule.on_ack(state, rule.params, seen)
        found.append(state.cwnd)
    assert found == vegas_rounds(60, math.inf, rtts)
    assert found[0] == 60 * 40 // 42 + 1


def test_vegas_doubles_until_then_and_halves_at_a_loss():
    rule = LinuxVegas()
    state = rule.State(4.0, base_rtt=0.04)
    for _ in range(12):
        state = rule.on_ack(state, rule.params, Event(0.0, 0.04))
    assert state.cwnd == 16.0
    lost = rule.on_loss(state._replace(cwnd=17.0), rule.params, None)
    assert (lost.cwnd, lost.ssthresh, lost.samples) == (8.0, 8.0, 0.0)


# The module of Linux against the integer arithmetic of its file, written here once more.


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
