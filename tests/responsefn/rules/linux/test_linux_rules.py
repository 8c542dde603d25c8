"""Window rules as modules of Linux 6.12, against the integer arithmetic of their files, written here once more."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from dfcmodel import Flow
from responsefn import HSTCP, Delivery
from responsefn.linux import (
    LinuxBIC,
    LinuxCDG,
    LinuxCUBIC,
    LinuxHSTCP,
    LinuxHTCP,
    LinuxHybla,
    LinuxIllinois,
    LinuxLP,
    LinuxNV,
    LinuxScalable,
    LinuxVegas,
    LinuxVeno,
    LinuxYeAH,
    WestwoodPlus,
)
from tests.responsefn.events import Event
from tests.surface import for_each

BOTH = (LinuxBIC, LinuxCUBIC, LinuxHTCP, LinuxIllinois, LinuxScalable, LinuxVegas)


@for_each(BOTH)
def test_the_kernel_selects_the_version_of_the_file(rule):
    new, old = rule(), rule(kernel="2.6.22")
    assert new == rule(kernel="6.12") != old
    assert (new.kernel, old.kernel) == ("6.12", "2.6.22")
    assert "Linux 6.12" in new.cite()
    assert "Linux 2.6.22" in old.cite()
    assert repr(old) == f"{rule.__name__}(kernel='2.6.22')"
    assert repr(new) == f"{rule.__name__}()"
    for each in (new, old):
        assert pickle.loads(pickle.dumps(each)) == each
        assert isinstance(each, rule)


@pytest.mark.slow  # cycles ACK by ACK
def test_rates_of_both_kernels() -> None:
    """Rates at p = 1e-3 and 40 ms, packets/s, as in the changelog; of delays on 8333 packets/s."""
    by_loss = (LinuxBIC, LinuxCUBIC, LinuxHTCP, LinuxScalable)
    by_delay = (LinuxIllinois, LinuxVegas)
    for kernel, expected in (
        ("6.12", (1218, 949, 1001, 2100, 6755, 950)),
        ("2.6.22", (1177, 968, 1061, 3671, 6784, 685)),
    ):
        rates = [rule(kernel=kernel).rate(1e-3, 0.04) for rule in by_loss]
        rates += [rule(kernel=kernel).rate(1e-3, 0.04, bandwidth=8333.0) for rule in by_delay]
        assert tuple(np.round(rates)) == expected


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


@for_each([10, 300, 640, 900, 970, 993, 996, 1001, 1030, 1200])
def test_bic_takes_the_acks_of_bictcp_update(cwnd):
    rule = LinuxBIC()
    assert 1 / grown(rule, rule.State(cwnd + 0.4, 2.0, 1000.0)) == pytest.approx(bic_count(cwnd, 1000))
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
    rule = LinuxCUBIC(counted=0)
    state = rule.State(82.3, 2.0, 100.0, 100.0, 4.0, 0.0, 0.04, reno + 0.5)
    count = cubic_count(82, 100, 4.0, late, 0.04, reno)
    assert 1 / grown(rule, state, Event(late, 0.04)) == pytest.approx(count)


def cong_avoid_ai(cwnd, stored, w):
    """Window and snd_cwnd_cnt after tcp_cong_avoid_ai for one packet acknowledged."""
    if stored >= w:
        stored, cwnd = 0, cwnd + 1
    stored += 1
    if stored >= w:
        cwnd, stored = cwnd + stored // w, stored % w
    return cwnd, stored


@pytest.mark.parametrize("stored", [0, 20, 80, 81, 500])
@pytest.mark.parametrize("late", [1.1, 3.9, 4.0, 5.5, 30.0])
def test_cubic_counts_acks_as_tcp_cong_avoid_ai(late, stored):
    """ACKs that came while the curve was not above the window count once it is."""
    rule = LinuxCUBIC()
    state = rule.State(82.0, 2.0, 100.0, 100.0, 4.0, 0.0, 0.04, 82.0, since_growth=float(stored))
    found = rule.on_ack(state, rule.params, Event(late, 0.04))
    count = cubic_count(82, 100, 4.0, late, 0.04, 82)
    assert (found.cwnd, found.since_growth) == cong_avoid_ai(82, stored, count)
    for cut in (rule.on_loss, rule.on_timeout):
        assert cut(found, rule.params, Event(late, 0.04)).since_growth == 0.0


def test_a_window_that_follows_a_slow_curve_by_counts_is_a_round_trip_ahead():
    """The curve from 70 packets up to its plateau of 100 and past it, an ACK each 0.5 ms, a round trip of 40 ms."""
    times = {}
    for counted in (0, 1):
        rule = LinuxCUBIC(counted=counted)
        state = rule.State(70.0, 70.0, 100.0, base_rtt=0.04)
        for n in range(20_000):
            state = rule.on_ack(state, rule.params, Event(0.0005 * n, 0.04))
            if state.cwnd >= 105.0:
                times[counted] = 0.0005 * n
                break
    assert times[0] - times[1] == pytest.approx(0.05, abs=0.02)


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
        assert state.hystart_exit == 1.0
        assert state.ssthresh == 20.0 + n
    assert slow_start(LinuxCUBIC(), 2.1e-3, 0.04, 60)[0] == 60
    assert slow_start(LinuxCUBIC(hystart=2), 1.05e-3, 0.04, 60)[0] == 60
    assert slow_start(LinuxCUBIC(hystart=0), 1.05e-3, 0.08, 60)[0] == 60


def test_a_delay_above_an_eighth_ends_slow_start_with_the_ninth_sample():
    assert slow_start(LinuxCUBIC(), 3e-3, 0.0451, 60)[0] == 8
    assert slow_start(LinuxCUBIC(), 3e-3, 0.0449, 60)[0] == 60  # 5 ms is an eighth of 40


def test_the_fluid_runs_hystart_by_delay_only():
    assert LinuxCUBIC().in_fluid() == LinuxCUBIC(hystart=2, counted=0)
    assert LinuxCUBIC(hystart=1).in_fluid() == LinuxCUBIC(hystart=0, counted=0)
    smooth = LinuxCUBIC(hystart=2, counted=0)
    assert smooth.in_fluid() is smooth
    assert LinuxBIC().in_fluid() == LinuxBIC()


@for_each([5, 20, 99, 100, 101, 1000])
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
    state = rule.State(139.6, 2.0, 0.0, 0.0406, 0.0624, top_throughput=100.0, last_top_throughput=100.0, steady=1.0)
    lost = rule.on_loss(state, rule.params, Event(5.0, 0.0624))
    assert lost.cwnd == 139 * ((11 << 7) // 16) >> 7
    assert lost.top_rtt == pytest.approx(0.0406 + 0.95 * 0.0218)
    assert rule.on_loss(state._replace(steady=0.0), rule.params, Event(5.0, 0.0624)).cwnd == 69


@pytest.mark.parametrize("part", [0.005, 0.1, 0.5, 0.78, 1.0])
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
    assert 1 / grown(rule, state._replace(cwnd=50.5), Event(1.0, 0.05)) == pytest.approx(acks, abs=1)
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


def test_westwood_plus_takes_its_estimate_when_the_recovery_ends():
    """As the module: a loss halves the window (Reno's ssthresh), CA_EVENT_COMPLETE_CWR sets it to the estimate times RTT_min."""
    rule = WestwoodPlus()
    state = rule.State(40.0, 40.0, 0.05, 300.0, 300.0)
    lost = rule.on_loss(state, rule.params, Event(0.0, 0.1))
    assert (lost.cwnd, lost.ssthresh) == (20.0, 20.0)
    after = rule.on_ack(lost, rule.params, Event(0.0, 0.1))
    assert (after.ssthresh, after.cwnd) == (15.0, 15.0 + 1.0 / 15.0)
    assert rule == WestwoodPlus(deferred=1)
    assert WestwoodPlus(deferred=0).on_loss(state, WestwoodPlus(deferred=0).params, Event(0.0, 0.1)).cwnd == 15.0


# The modules without a class for an older kernel, against the integer arithmetic of their files.

SIX = (LinuxHybla, LinuxLP, LinuxNV, LinuxVeno, LinuxYeAH, LinuxCDG)


@for_each(SIX)
def test_modules_without_an_older_version_say_so(rule):
    assert "Linux 6.12.117, net/ipv4/tcp_" in rule().cite()
    assert pickle.loads(pickle.dumps(rule())) == rule()
    with pytest.raises(ValueError, match=r"kernel = '2.6.22': must be one of '6.12'"):
        rule(kernel="2.6.22")


def hybla_increment(rtt_us, cwnd, slow):
    """128ths of a packet that hybla_cong_avoid adds for an ACK."""
    rho_3ls = max(8 * rtt_us // 25_000, 8)
    rho = rho_3ls >> 3
    if not slow:
        return ((rho_3ls * rho_3ls) << 1) // cwnd
    fraction = (128, 139, 152, 165, 181, 197, 215, 234)[rho_3ls - (rho << 3)]
    return (1 << rho) * fraction - 128


@for_each([10_000, 25_000, 40_040, 47_000, 80_100, 250_000])
def test_hybla_adds_128ths_of_a_packet_per_ack(rtt_us):
    rule, seen = LinuxHybla(), Event(1.0, rtt_us / 1e6)
    for cwnd in (2, 20, 150):
        slow = rule.State(cwnd + 0.3, math.inf)
        assert grown(rule, slow, seen) == pytest.approx(hybla_increment(rtt_us, cwnd, True) / 128)
        above = hybla_increment(rtt_us, cwnd, False) / 128
        state = rule.State(cwnd + 0.3, 2.0)
        assert grown(rule, state, seen) == pytest.approx(above or 1 / cwnd)
    capped = rule.on_ack(rule.State(20.0, 20.5), rule.params, seen)
    assert capped.cwnd == 20.5
    assert rule.on_loss(rule.State(21.7), rule.params, seen).cwnd == 10.0


def test_hybla_begins_with_rho_packets_and_counts_acks():
    assert LinuxHybla().start(0.04).cwnd == 1.0
    assert LinuxHybla().start(0.26).cwnd == 10.0
    flow = Flow("f", ("a", "b"), LinuxHybla(), stack="linux-6.12")
    assert flow.initial_window is None
    assert Flow("f", ("a", "b"), LinuxVeno(), stack="linux-6.12").initial_window == 10
    assert not LinuxHybla.counts_in_slow_start


@pytest.mark.parametrize(("cwnd", "rtt_us"), [(50, 40_000), (50, 42_400), (50, 42_600), (90, 60_000)])
def test_veno_takes_losses_without_a_queue_for_random(cwnd, rtt_us):
    base = 40_000
    diff = (cwnd << 1) - (cwnd * base << 1) // rtt_us
    rule = LinuxVeno()
    state = rule.State(cwnd + 0.5, 2.0, base / 1e6)
    after = rule.on_ack(state, rule.params, Event(1.0, rtt_us / 1e6))
    assert after.waiting == diff / 2
    assert 1 / (after.cwnd - state.cwnd) == pytest.approx(cwnd if diff < 6 else 2 * (cwnd + 1))
    kept = cwnd * 4 // 5 if diff < 6 else cwnd >> 1
    assert rule.on_loss(after, rule.params, None).cwnd == kept
    timeout = rule.on_timeout(after, rule.params, None)
    assert (timeout.cwnd, timeout.ssthresh) == (1.0, kept)


def yeah_round(cwnd, rtt, reno_count, doing_reno, fast_count, base=40_000):
    """What tcp_yeah_cong_avoid does at the end of a round: window, reno_count, doing_reno_now, fast_count."""
    queue = cwnd * (rtt - base) // rtt
    if queue > 80 or rtt - base > base // 8:
        if queue > 80 and cwnd > reno_count:
            cwnd = max(cwnd - min(queue, cwnd >> 1), reno_count)
        reno_count = max(cwnd >> 1, 2) if reno_count <= 2 else reno_count + 1
        return cwnd, reno_count, doing_reno + 1, fast_count, queue
    fast_count += 1
    if fast_count > 50:
        reno_count, fast_count = 2, 0
    return cwnd, reno_count, 0, fast_count, queue


@for_each([
    (60, 41_000, 2, 3, 4), (60, 41_000, 30, 0, 50), (75, 46_000, 2, 0, 1), (75, 46_000, 40, 5, 1),
    (150, 87_000, 60, 9, 0), (150, 87_000, 140, 9, 0),
])  # fmt: skip
def test_yeah_judges_the_queue_once_per_round(cwnd, rtt, reno, doing, fast):
    rule = LinuxYeAH()
    state = rule.State(cwnd, 2.0, 0.04, math.inf, 5.0, 1.0, 0.0, doing, reno, fast)
    after = rule.on_ack(state, rule.params, Event(1.0, rtt / 1e6))
    step = 1 / (cwnd if doing else min(cwnd, 100))
    window, *others, queue = yeah_round(cwnd, rtt, reno, doing, fast)
    assert after.cwnd == pytest.approx(window + (step if window == cwnd else 0.0))
    assert [after.reno, after.long_rounds, after.short_rounds, after.queue] == [*others, queue]
    assert after.left == cwnd


@pytest.mark.parametrize("doing", [3, 16])
@pytest.mark.parametrize("queue", [0, 20, 70])
def test_yeah_loses_the_queue_or_half_of_the_window(doing, queue):
    cwnd, half = 100, 50
    reduction = max(min(queue, half), cwnd >> 3) if doing < 16 else half
    rule = LinuxYeAH()
    state = rule.State(cwnd + 0.5, 2.0, queue=float(queue), long_rounds=doing, reno=41.0)
    lost = rule.on_loss(state, rule.params, Event(1.0, 0.05))
    assert (lost.cwnd, lost.reno, lost.short_rounds) == (cwnd - reduction, 20, 0)
    assert rule.on_timeout(state, rule.params, Event(1.0, 0.05)).ssthresh == cwnd - reduction


def nv_state(rule, cwnd, *, acks, rounds=3.0, ssthresh=50.0, rtt=0.06):
    """A state one ACK before the end of a round: 60 packets delivered in each round trip."""
    return rule.State(
        cwnd, ssthresh, rtt, 0.04, 0.04, 99.0, 60.0, 60.0 / rtt, acks - 1.0, rounds - 1.0, 1.0, 1.0
    )  # fmt: skip


def test_nv_shrinks_by_a_part_of_what_is_too_much():
    """60 packets in 60 ms, 40 ms without queue: 40 packets and 10, of which a window of 80 has 30 too many."""
    rule = LinuxNV()
    after = rule.on_ack(nv_state(rule, 80.0, acks=60.0), rule.params, Event(2.0, 0.06))
    assert after.cwnd == 80 - (30 * (30 * 128 // 100) >> 7)
    assert (after.ssthresh, after.grows, after.acks, after.rounds) == (50.0, 0.0, 0.0, 0.0)
    for few in (nv_state(rule, 80.0, acks=59.0), nv_state(rule, 80.0, acks=60.0, rounds=1.0)):
        kept = rule.on_ack(few, rule.params, Event(2.0, 0.06))
        assert kept.cwnd == pytest.approx(80.0 + 1 / 80)
    tired = rule.on_ack(nv_state(rule, 80.0, acks=59.0, rounds=11.0), rule.params, Event(2.0, 0.06))
    assert (tired.cwnd, tired.grows) == (80.0, 0.0)
    first = nv_state(rule, 80.0, acks=30.0, ssthresh=math.inf)
    assert rule.on_ack(first, rule.params, Event(2.0, 0.06)).cwnd == 72.0
    barely = rule.on_ack(nv_state(rule, 52.0, acks=60.0), rule.params, Event(2.0, 0.06))
    assert barely.cwnd == 50.0


def test_nv_grows_two_packets_below_the_largest_window():
    rule = LinuxNV()
    for cwnd, grows in ((48.0, 1.0), (49.0, 0.0)):
        state = nv_state(rule, cwnd, acks=20.0)._replace(grows=0.0)
        assert rule.on_ack(state, rule.params, Event(2.0, 0.06)).grows == grows
    waits = nv_state(rule, 48.0, acks=19.0)._replace(grows=0.0)
    assert rule.on_ack(waits, rule.params, Event(2.0, 0.06)).grows == 0.0


def test_nv_grows_half_as_fast_after_a_timeout():
    rule = LinuxNV()
    state = nv_state(rule, 100.0, acks=20.0)
    lost = rule.on_loss(state, rule.params, Event(2.0, 0.06))
    assert (lost.cwnd, lost.ssthresh, lost.grows) == (100 * 819 >> 10, 79.0, 0.0)
    late = rule.on_timeout(state, rule.params, Event(2.0, 0.06))
    assert (late.cwnd, late.speed) == (1.0, -1.0)
    slow = late._replace(cwnd=80.0, grows=1.0, left=50.0, last=2.0)
    assert 1 / grown(rule, slow, Event(2.0, 0.06)) == pytest.approx(160.0)
    for n in range(9):
        assert late.speed == -1.0
        ready = late._replace(cwnd=40.0, acks=30.0, left=1.0, base_rtt=0.04, begun=60.0)
        late = rule.on_ack(ready, rule.params, Event(3.0 + n, 0.06))
    assert late.speed == 0.0


def test_nv_renews_the_least_round_trip_time():
    rule = LinuxNV()
    state = nv_state(rule, 50.0, acks=5.0)._replace(left=50.0, renewal=2.0, next_rtt=0.055)
    after = rule.on_ack(state, rule.params, Event(2.0, 0.06))
    assert (after.base_rtt, after.next_rtt, after.renewal) == (0.055, math.inf, 7.0)
    again = rule.on_ack(after, rule.params, Event(2.0, 0.06))  # the same ACK
    assert again.acks == after.acks


def lp_words(stamps):
    """Flags of tcp_lp_pkts_acked for pairs of stamps, in whole numbers of 32 bits: whether each ACK cuts the window."""
    m32 = 2**32
    hz = ref_v = ref_e = sowd = owd_max = rsv = 0
    owd_min, cuts = m32 - 1, []
    for v, e in stamps:
        if ref_v and ref_e and v != ref_v and e != ref_e:
            ratio = 1000 * ((v - ref_v) % m32) // ((e - ref_e) % m32)
            hz = ((hz << 6) + ratio - hz) >> 6 if hz > 0 else ratio
        ref_v, ref_e = v, e
        owd = (v * (1000 // hz) - e) % m32 if hz > 0 else 0
        if owd:
            owd_min = min(owd_min, owd)
            if owd > owd_max:
                owd_max, rsv = ((rsv or owd), owd) if owd > rsv else (owd, rsv)
            sowd = (sowd + owd - (sowd >> 3)) % m32 if sowd else (owd << 3) % m32
        limit = (owd_min + (15 * ((owd_max - owd_min) % m32)) % m32 // 100) % m32
        cuts.append(sowd >> 3 >= limit)
        if cuts[-1]:
            owd_min, owd_max, rsv = sowd >> 3, sowd >> 2, sowd >> 2
    return cuts


@pytest.mark.parametrize("offset", [0.0, 2.0**20, 2.0**28, 2.0**31, 2.0**32 - 5.0])
def test_lp_cuts_where_the_words_of_the_module_do(offset):
    rule = LinuxLP(offset=offset)
    rng = np.random.default_rng(7)
    time, state, stamps, cuts = 3.0, rule.State(20.0, 2.0, 0.04), [], []
    for n in range(400):
        time += float(rng.choice([0.0011, 0.0024, 0.013]))
        rtt = 0.04 + 0.03 * abs(math.sin(n / 40.0)) + 0.001 * float(rng.random())
        v = (math.floor(1000.0 * (time - 0.02)) + int(offset)) % 2**32
        stamps.append((v, math.floor(1000.0 * (time - rtt))))
        before = state._replace(cwnd=20.0)
        state = rule.on_ack(before, rule.params, Event(time, rtt))
        cuts.append(state.last_cut != before.last_cut)
    expected = lp_words(stamps)
    assert cuts == expected
    assert any(expected) == (offset in (0.0, 2.0**20, 2.0**32 - 5.0))


def test_lp_halves_and_then_falls_to_one_packet():
    rule = LinuxLP(offset=0.0)
    state = rule.State(30.5, 2.0, 0.04, 1000.0, 970.0, 950.0, 8 * 60.0, 20.0, 30.0, 30.0)
    first = rule.on_ack(state, rule.params, Event(1.0, 0.05))
    assert (first.cwnd, first.last_cut, first.owd_min) == (15.0 + 1 / 15.0, 1000.0, 56.0)
    second = rule.on_ack(first._replace(owd_min=20.0, owd_max=30.0), rule.params, Event(1.01, 0.05))
    assert second.cwnd == 1.0
    quiet = second._replace(smoothed=8 * 30.0, owd_min=30.0, owd_max=90.0)
    assert rule.on_ack(quiet, rule.params, Event(1.02, 0.05)).cwnd == 1.0  # within three round trips
    assert rule.on_ack(quiet, rule.params, Event(1.30, 0.05)).cwnd == 2.0


def delivered(state, rule, rtt, drawn=1.0, **others):
    """The state after a delivery that ends a round."""
    seen = Delivery(*[0.0] * 15)._replace(time=2.0, rtt=rtt, acked=1.0, random=drawn, **others)
    return LinuxCDG.on_delivery(state._replace(left=1.0), rule.params, seen)


def test_cdg_cuts_with_the_probability_of_its_gradient():
    """Two rounds, 40 and 44 ms: both sums are 4 ms, extrapolated to 8 rounds."""
    rule = LinuxCDG()
    begun = delivered(rule.State(40.0, 2.0), rule, 0.040)
    kept = math.exp(-42.0 * 8 * 0.004)
    spared = delivered(begun, rule, 0.044, kept - 1e-6)
    assert (spared.reduced, spared.gradients) == (0.0, 1.0)
    assert spared.cwnd == pytest.approx(begun.cwnd + 1 / 40)
    cut = delivered(begun, rule, 0.044, kept + 1e-6)
    assert (cut.reduced, cut.ssthresh, cut.cuts) == (1.0, 40 * 724 >> 10, 1.0)
    assert cut.shadow == cut.cwnd
    within = LinuxCDG.on_delivery(cut, rule.params, Delivery(*[0.0] * 15)._replace(time=2.0, rtt=0.044, acked=2.0))
    assert within.cwnd == pytest.approx(cut.cwnd - 2 * (1 - 724 / 1024))
    ended = delivered(within, rule, 0.044)
    assert (ended.cwnd, ended.reduced, ended.last_min_rtt) == (28.0, 0.0, 0.044)


def test_cdg_gives_up_cutting_without_effect():
    rule = LinuxCDG()
    begun = delivered(rule.State(40.0, 2.0), rule, 0.040)._replace(cuts=5.0)
    assert delivered(begun, rule, 0.044).reduced == 0.0
    assert delivered(begun, LinuxCDG(use_ineff=0), 0.044).reduced == 1.0
    fallen = delivered(begun, rule, 0.0399)
    assert fallen.cuts == 0.0


def test_cdg_halves_the_shadow_window_at_a_loss():
    rule = LinuxCDG()
    for shadow, kept in ((90.0, 40.0), (70.0, 35.0), (30.0, 20.0)):
        state = rule.State(40.5, 30.0, shadow)
        assert rule.on_loss(state, rule.params, None).cwnd == kept
    assert rule.replace(use_shadow=0).on_loss(state, rule.replace(use_shadow=0).params, None).cwnd == 20.0
    in_cut = rule.State(40.0, 28.0, 60.0, 1.0)
    assert rule.on_loss(in_cut, rule.params, None).cwnd == 28.0
    late = rule.on_timeout(rule.State(40.5, 30.0, 70.0), rule.params, None)
    assert (late.cwnd, late.ssthresh) == (1.0, 35.0)


def cdg_slow_start(rule, gap, rtt):
    """Packets after which slow start ends, of 60 that come ``gap`` s apart; 60: it does not."""
    state = rule.State(10.0, left=100.0)
    for n in range(60):
        seen = Delivery(*[0.0] * 15)._replace(time=1.0 + n * gap, rtt=rtt(n), acked=1.0)
        state = LinuxCDG.on_delivery(state, rule.params, seen)
        if state.ssthresh < math.inf:
            return n
    return 60


def test_slow_start_of_cdg_ends_by_trains_and_by_delay():
    def constant(_):
        return 0.04

    assert cdg_slow_start(LinuxCDG(), 1.1e-3, constant) == math.floor(0.02 / 1.1e-3) + 1
    assert cdg_slow_start(LinuxCDG(hystart=2), 1.1e-3, constant) == 60
    assert cdg_slow_start(LinuxCDG(), 3.1e-3, constant) == 60
    state = LinuxCDG().State(10.0, left=100.0, base_rtt=0.04, min_rtt=0.0451, max_rtt=0.0451)
    rule, n = LinuxCDG(hystart=2), 0
    while state.ssthresh == math.inf:
        seen = Delivery(*[0.0] * 15)._replace(time=1.0, rtt=0.0451, acked=1.0)
        state, n = LinuxCDG.on_delivery(state, rule.params, seen), n + 1
    assert n == 9
