"""Rules as modules of kernels are: rate and simulation ACK by ACK, whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import AIMD, BIC, HTCP, DirectSimulation, Reno, Scalable, WindowRule, simulate_rule
from responsefn.cycles import Limits, build_cases, find_cycles
from responsefn.errors import RuleError
from responsefn.linux import LinuxBIC
from tests.responsefn.simulation.kernel_rules import (
    RULES,
    CountedReno,
    CubicCount,
    PerRound,
    ScalableCount,
    TimedProbe,
    Timer,
    ack_by_ack,
)

ACCURACY = 0.005
"""The stated one of rates."""
QUICK = (RULES[0], RULES[2], RULES[5], RULES[7], RULES[10], RULES[16])


def check(rule: WindowRule, p: float, rtt: float) -> None:
    cycles = max(40, min(4000, int(4e7 * p)))
    if isinstance(rule, ScalableCount):  # comes an eighth nearer per cycle
        cycles = max(cycles, 300)
    if isinstance(rule, CubicCount) and (p, rtt) == (
        1e-5,
        0.6,
    ):  # 400 are 1.9 % away, 3000 are as 10,000
        cycles = 3000
    if isinstance(rule, CubicCount) and p == 1e-6:  # 50 are 3 to 9 % away
        cycles = 2000 if rtt == 0.6 else 1200 if rtt == 0.1 else 400
    if isinstance(rule, TimedProbe) and (p, rtt) == (1e-6, 1e-3):  # 50 have 4 probes
        cycles = 400
    truth = simulate_rule(rule, p, rtt, options=DirectSimulation(method="acks"), events=max(50, cycles)).rate
    assert rule.rate(p, rtt) == pytest.approx(truth, rel=ACCURACY)
    assert simulate_rule(rule, p, rtt, events=max(50, cycles)).rate == pytest.approx(truth, rel=ACCURACY)


@pytest.mark.parametrize("rule", QUICK, ids=lambda rule: type(rule).__name__)
def test_rates_are_those_of_single_acks(rule):
    for p, rtt in ((1e-2, 0.01), (1e-3, 0.1), (1e-4, 0.6)):
        check(rule, p, rtt)
    with np.errstate(all="raise"):
        peak = float(rule.cycle(1e-2, 0.1).peak_window)
        plain = ack_by_ack(rule, 1e-2, 0.1, 100, peak)
    assert rule.rate(1e-2, 0.1) == pytest.approx(plain, rel=ACCURACY)


@pytest.mark.slow
@pytest.mark.parametrize("rtt", [1e-3, 1e-2, 0.1, 0.6])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rates_are_those_of_single_acks_at_every_loss_rate(rule, rtt):
    for p in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        check(rule, p, rtt)


class Flagged(CountedReno):
    counts_acks = True


def test_a_rule_that_counts_acks_is_solved_ack_by_ack():
    cycle = Flagged().cycle([1e-2, 1e-3], 0.1)
    assert cycle.by_acks.all()
    np.testing.assert_array_equal(cycle.rate, CountedReno().cycle([1e-2, 1e-3], 0.1).rate)
    assert simulate_rule(Flagged(), 1e-5, 0.1, events=50).method == "acks"


@pytest.mark.parametrize("rule", [CountedReno(), PerRound(), Timer()], ids=lambda r: type(r).__name__)
def test_blocks_are_not_taken_where_they_do_not_follow(rule):
    assert simulate_rule(rule, 1e-5, 0.1, events=50).method == "acks"
    with pytest.raises(ValueError, match="must be 'acks' or 'auto'"):
        simulate_rule(rule, 1e-5, 0.1, events=50, options=DirectSimulation(method="blocks"))


def test_a_smooth_rule_keeps_its_blocks():
    assert simulate_rule(Reno(), 1e-5, 0.1, events=50).method == "blocks"
    assert not Reno().cycle(1e-5, 0.1).by_acks


@pytest.mark.parametrize(
    ("rule", "p", "by_acks"),
    [
        (LinuxBIC(kernel="2.6.22"), 1e-3, True),
        (BIC(b=1.0, low_window=0.0), 1e-2, True),
        (Reno(), 3e-3, False),
        (HTCP(), 1e-3, False),
    ],
    ids=str,
)
def test_short_cycles_are_solved_ack_by_ack_where_blocks_differ(rule, p, by_acks):
    """Compared over the cycle itself: over longer ones windows of blocks come nearer."""
    cycle = rule.cycle(p, 0.05)
    assert bool(cycle.by_acks) == by_acks
    truth = simulate_rule(rule, p, 0.05, events=600, options=DirectSimulation(method="acks"))
    assert cycle.rate == pytest.approx(truth.rate, rel=ACCURACY)


class BacksOff(WindowRule):
    """AIMD that gives up a tenth once per round trip above 10 ms of queue; never less than two packets."""

    State = PerRound.State
    assigned = ("last", "value", "other")
    capacity = "optional"

    @staticmethod
    def on_ack(s, q, e):
        base = e.rtt if s.other <= 0.0 else min(s.other, e.rtt)
        s = s._replace(other=base)
        if e.rtt - base > 0.01 and e.time - s.last > e.rtt:
            w = max(2.0, 0.9 * s.cwnd)
            return s._replace(cwnd=w, ssthresh=w, last=e.time)
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, 0.7 * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, last=e.time)


def test_blocks_of_acks_with_an_invalid_window_end_no_other_case():
    """At p = 1e-4 they cut the window to below 0. In plain Python, as the machine code."""
    p, rtts = np.array([1e-4, 1e-2]), np.full(2, 0.05)
    columns, alone = (
        find_cycles(build_cases(BacksOff(), p[n:], rtts[n:], 2000.0), Limits(2000, 32), compiled=False).columns
        for n in (0, 1)
    )
    assert columns[:, 6].tolist() == [-1.0, 1.0]
    np.testing.assert_array_equal(columns[1], alone[0])


def test_no_rule_is_accused_of_what_a_block_of_acks_makes():
    """Blocks of ACKs multiply the cut, to windows below 0."""
    try:
        rate = BacksOff().rate(1e-4, 0.05, bandwidth=2000.0)
    except RuleError as error:  # pragma: no cover - the assertion says more
        pytest.fail(str(error))
    truth = simulate_rule(
        BacksOff(),
        1e-4,
        0.05,
        options=DirectSimulation(bandwidth=2000.0, method="acks"),
        events=200,
    ).rate
    assert rate == pytest.approx(truth, rel=ACCURACY)
    assert len(BacksOff().attractors(1e-3, 0.05, 2000.0)) >= 1


@pytest.mark.parametrize("rule", [AIMD(1.0, 0.25), Scalable()], ids=str)
def test_windows_of_cycles_and_of_blocks_agree(rule):
    runs = [
        simulate_rule(rule, 1e-4, 0.1, events=100, options=DirectSimulation(method=m)) for m in ("cycles", "blocks")
    ]
    for name in ("rate", "mean_window", "packet_mean_window", "peak_window"):
        assert getattr(runs[0], name) == pytest.approx(getattr(runs[1], name), rel=1e-3), name
