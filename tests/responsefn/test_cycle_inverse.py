"""The inverse of numerical cycles: jumps, alternating cycles, and the capacity."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import pytest

import responsefn
from hopflow import maximum, minimum, where
from responsefn import (
    BIC,
    CTCP,
    FAST,
    HSTCP,
    HTCP,
    Corrected,
    DeliveryRule,
    Illinois,
    Tahoe,
    Vegas,
    WindowRule,
    catalogue,
)
from responsefn.errors import AmbiguousRateError, UnreachableRateError
from responsefn.linux import LinuxHSTCP, LinuxHTCP, LinuxIllinois, LinuxVegas

invert = functools.partial(responsefn.invert, unit_check=False)
"""Rates at p = 1e-12 are larger than any that is not taken for bit/s."""
CAPACITY = 2000.0
SLOW = {HSTCP, LinuxHSTCP, LinuxHTCP, LinuxIllinois, Tahoe}
"""Rules whose cycles take many seconds over ten decades of p."""
SLOW_WITH_A_QUEUE = {*SLOW, CTCP, Illinois, LinuxVegas}
ASKED = [
    pytest.param(
        rule,
        bandwidth,
        marks=[pytest.mark.slow] if type(rule) in (SLOW_WITH_A_QUEUE if bandwidth else SLOW) else [],
        id=f"{rule}-{bandwidth}",
    )
    for rule in catalogue().entries
    if not isinstance(rule, DeliveryRule)
    for bandwidth in (None, CAPACITY)
    if bandwidth or getattr(rule, "capacity", "ignored") != "needed"
    if not bandwidth or getattr(rule, "capacity", "ignored") != "ignored"
]
TOO_LONG = "must be at least 1e-08 for a rule that acts at some ACKs only"


def rates_of(rule, p, rtt, bandwidth):
    """Return the p at which the rule has a rate, and the rates.

    Below 1e-7 a cycle may be too long for single ACKs, or its window drift for as many as are followed: Linux's Illinois at 1.28e-8.
    """
    try:
        return p, rule.rate(p, rtt, bandwidth)
    except ArithmeticError:
        with pytest.raises(ArithmeticError, match=TOO_LONG):
            rule.rate(p, rtt, bandwidth)
    some = p[p >= 1e-7]
    return some, rule.rate(some, rtt, bandwidth)


@pytest.mark.filterwarnings("ignore:the rate of .* jumps or bends:UserWarning")  # its size alone is used here
@pytest.mark.parametrize(("rule", "bandwidth"), ASKED)
def test_round_trip_or_a_reason(rule, bandwidth):
    """The whole catalogue, p log-uniform: rate and p come back, or the rule says why they cannot.

    p comes back as sharply as the rate determines it, to 1e-12 over the elasticity. Closed forms come
    back everywhere, numerical cycles at least where they neither alternate nor fill the path.
    """
    rtt, came_back = 0.1, []
    if not rule.monotone:
        with pytest.raises(TypeError, match=rule.why_no_inverse):
            invert(rule, 1000.0, rtt, bandwidth)
        return
    random = np.random.default_rng(11)
    p = 10.0 ** (-10.0 * (np.arange(20) + random.uniform(size=20)) / 20)
    if type(rule) is LinuxHTCP:  # between a capacity and its jumps few p are the only ones of a rate
        p = np.concatenate([p, random.uniform(0.01, 0.05, 6)])
    p, rates = rates_of(rule, p, rtt, bandwidth)
    for x, rate in zip(p, rates, strict=True):
        try:
            found = invert(rule, rate, rtt, bandwidth, unit_check=False)
        except AmbiguousRateError as error:
            low, high = error.unique
            assert not low * (1 + 1e-9) < rate < high * (1 - 1e-9)
        except UnreachableRateError as error:
            low, high = error.gap
            assert low <= rate <= high
        else:
            slope = min(1.0, abs(rule.elasticity(x, rtt, bandwidth)))
            assert rule.rate(found, rtt, bandwidth) == pytest.approx(rate, rel=1e-12)
            came_back.append(x)
            if rule.closed_form_holds(found, rtt) and not rule.closed_form_holds(x, rtt):
                continue  # several p have this rate: that of the closed form is answered
            assert found == pytest.approx(x, rel=1e-12 / slope)
    sure = p[(p > 3e-3) & (p < 0.1)]
    if rule.uses_closed_form(bandwidth):
        sure = p[rule.closed_form_holds(p, rtt)]
    elif type(rule) is LinuxIllinois:  # with a capacity no cycle repeats between p = 0.001 and 0.012
        sure = sure[rule.cycle(sure, rtt, bandwidth).period == 1]
    if type(rule) in (LinuxHTCP, LinuxVegas):
        # Vegas' whole windows have the same cycle, and rate, at several p; H-TCP's rate jumps up at
        # 17 places between p = 0.001 and 0.05, where its cycles begin or cease to alternate
        sure = sure[:0]
    assert {*sure} <= {*came_back}
    assert len(came_back) > 1


def test_round_trip_of_numerical_cycles():
    """All entries at once; the amounts that ACKs add lose no digits, so that the rate is smooth."""
    rule, p, rtt = HTCP(), np.geomspace(1e-10, 0.1, 10), np.array([[0.04], [0.3]])
    rate = rule.rate(p, rtt)
    found = invert(rule, rate, rtt)
    np.testing.assert_allclose(rule.rate(found, rtt), rate, rtol=1e-12)
    np.testing.assert_allclose(found, np.broadcast_to(p, (2, 10)), rtol=1e-12)


@pytest.mark.slow
def test_where_cycles_do_not_repeat_ack_by_ack_there_is_no_inverse():
    """Linux's H-TCP at 4.66e-7: the check of blocks fails, and the mean rate of ACKs is no smooth function of p."""
    rule, p = LinuxHTCP(kernel="2.6.22"), 4.66207e-7
    cycle = rule.cycle(p, 0.1)
    assert cycle.by_acks
    assert cycle.period == 0
    with pytest.raises(AmbiguousRateError, match="falls with p") as e:
        invert(rule, cycle.rate, 0.1)
    low, high = e.value.unique
    assert not low < cycle.rate < high


def test_short_cycles_that_acks_confirm_keep_a_rate_that_is_continuous():
    """Linux's H-TCP around p = 0.02: a flag differs after an ACK, the rate does not; blocks repeat, ACKs would not."""
    rule, p = LinuxHTCP(kernel="2.6.22"), np.geomspace(0.0105, 0.024, 7)
    assert (rule.cycle(p, 0.1).period == 1).all()
    found = invert(rule, rule.rate(p, 0.1), 0.1)
    np.testing.assert_allclose(found, p, rtol=1e-12)


def test_where_a_cycle_of_few_packets_alternates_there_is_no_inverse():
    """H-TCP above p = 0.37: several cycles repeat together, and the rate is no function that falls."""
    rule, p = HTCP(), np.array([0.56, 1.0])
    assert (rule.cycle(p, 0.1).period > 1).all()
    for rate in rule.rate(p, 0.1):
        with pytest.raises(
            AmbiguousRateError, match=r"must be > .* rate of HTCP\(\) at rtt = 0\.1 s falls with p"
        ) as e:
            invert(rule, rate, 0.1)
        assert 0.3 < invert(rule, 1.001 * e.value.unique[0], 0.1) < 0.4


def test_at_the_capacity_p_leaves_no_trace():
    """H-TCP holds 2000 packets/s to a relative 1e-13 at 1e-9, whatever p is; Vegas and FAST still show p there."""
    with pytest.raises(AmbiguousRateError, match="falls with p") as e:
        invert(HTCP(), HTCP().rate(1e-9, 0.1, CAPACITY), 0.1, CAPACITY)
    assert e.value.unique[1] < CAPACITY
    assert invert(HTCP(), HTCP().rate(1e-4, 0.1, CAPACITY), 0.1, CAPACITY) == pytest.approx(1e-4, rel=1e-6)
    for rule in (Vegas(), FAST()):
        p = np.geomspace(1e-9, 0.1, 9)
        rate = rule.rate(p, 0.1, CAPACITY)
        found = invert(rule, rate, 0.1, CAPACITY)
        np.testing.assert_allclose(rule.rate(found, 0.1, CAPACITY), rate, rtol=1e-12)
        np.testing.assert_allclose(found, p, rtol=1e-4)


class Holding(WindowRule):
    """Reno that holds its window while the queue is longer than a bound in s."""

    class Params(NamedTuple):
        bound: float = 0.005

    class State(NamedTuple):
        cwnd: float = 2.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    assigned = ("base_rtt",)

    @staticmethod
    def on_ack(s, q, e):
        base = minimum(s.base_rtt, e.rtt)
        step = where(e.rtt - base > q.bound, 0.0, 1.0) / s.cwnd
        return s._replace(cwnd=maximum(2.0, s.cwnd + step), base_rtt=base)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


@pytest.mark.parametrize(
    ("rule", "bandwidth"),
    [(Vegas(), 1000.0), (Vegas(1.0, 3.0), 3000.0), (Vegas(), 10000.0), (FAST(alpha=20.0), 1000.0), (Holding(), 1000.0)],
    ids=str,
)
def test_near_the_capacity_rates_that_fall_over_decades_have_an_inverse(rule, bandwidth):
    """The rates differ by less than a factor of two there, over decades of p."""
    p = np.geomspace(1e-5, 0.03, 7)
    many = np.geomspace(p[0], p[-1], 60)
    assert (np.diff(rule.rate(many, 0.04, bandwidth)) < 0.0).all()
    found = invert(rule, rule.rate(p, 0.04, bandwidth), 0.04, bandwidth)
    np.testing.assert_allclose(found, p, rtol=1e-6)


def test_unreachable_rates_of_numerical_cycles():
    reachable = HTCP().rate([1.0, 1e-10], 0.1)
    for rate in (0.9 * reachable[0], 1.001 * reachable[1]):
        with pytest.raises(UnreachableRateError, match=r"^rate = .*HTCP.*rtt = 0\.1") as e:
            invert(HTCP(), [100.0, rate], 0.1)
        assert e.value.reachable == pytest.approx(reachable, rel=1e-12)
        assert e.value.gap is None


def test_two_windows_that_follow_each_other_lose_no_digits():
    """CTCP with a capacity beyond reach, windows up to 3e5: amounts, not differences of windows."""
    p = 10.0 ** np.random.default_rng(3).uniform(-8.0, -2.0, 12)
    found = invert(CTCP(), CTCP().rate(p, 0.1, 1e7), 0.1, 1e7)
    np.testing.assert_allclose(found, p, rtol=1e-12)


class Steps(WindowRule):
    """A rule whose cut changes at a window of 40 packets: its response jumps there."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        kept = where(s.cwnd < 40.0, 0.5, 0.8) * s.cwnd
        return s._replace(cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept))


def test_a_response_that_jumps_says_from_where_to_where():
    """At the window 40 before the loss: ACKs of 1/w each make n = b (2-b)/2 W^2 - log(1/(1-b))/2.

    The squared window grows by 2 + 1/w^2 with each ACK, and the cycle takes b W round trips.
    """
    rule = Steps()
    for p in (1e-3, 4e-3):
        assert invert(rule, rule.rate(p, 0.1), 0.1) == pytest.approx(p, rel=1e-12)
    packets = 600.0 - 0.5 * np.log(2.0)
    after = np.sqrt((packets + 0.5 * np.log(1.25)) / 0.18)
    gap = packets / (0.1 * 20.0), packets / (0.1 * 0.2 * after)
    for rate in (320.0, 380.0, 510.0):
        with pytest.raises(UnreachableRateError, match=r"jumps at p = 0\.001667[56]\d* and rtt = 0\.1") as e:
            invert(rule, rate, 0.1)
        # false position narrows a jump slowly: 1e-4 of p after its last step
        assert e.value.gap == pytest.approx(gap, rel=1e-4)


def test_a_rate_within_a_jump_is_named_with_its_place():
    """BIC that is Reno below 1000 packets: the second of two rates is within the leap."""
    with pytest.raises(
        UnreachableRateError, match=r"^rate = 4000: .* jumps at p = 4\.317\d*e-05 and rtt = 0\.1 s"
    ) as e:
        invert(BIC(low_window=1000.0), [500.0, 4000.0], 0.1)
    low, high = e.value.gap
    assert low < 4000.0 < high


def test_a_closed_form_that_jumps():
    """BIC that is Reno below 1000 packets leaps from one to the other."""
    rule = BIC(low_window=1000.0)
    p = np.geomspace(1e-7, 1e-3, 9)
    np.testing.assert_allclose(invert(rule, rule.rate(p, 0.1), 0.1), p, rtol=1e-12)
    with pytest.raises(UnreachableRateError, match=r"jumps at p = 4\.317\d*e-05 and rtt = 0\.1") as e:
        invert(rule, 4000.0, 0.1)
    low, high = e.value.gap
    # to both sides of the jump, the window is sqrt(3/(2p)) and that of the cubic's closed form
    border = 0.5 * (invert(rule, low * (1 - 1e-4), 0.1) + invert(rule, high * (1 + 1e-4), 0.1))
    assert low == pytest.approx(np.sqrt(1.5 / border) / 0.1, rel=1e-3)
    assert high == pytest.approx(rule.value_of(rule.expression, p=border, R=0.1), rel=1e-3)


@pytest.mark.parametrize(
    ("rule", "inside"),
    [
        (Steps(), 400.0),
        (BIC(low_window=1000.0), 4000.0),
        pytest.param(Corrected(Steps()), 400.0, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_within_a_jump_no_rate_has_an_inverse_and_beside_it_each(rule, inside):
    """Up to a millionth of both ends, where a coarser criterion would return the p of the jump."""
    with pytest.raises(UnreachableRateError, match=r"over which the rate of .* jumps") as e:
        invert(rule, inside, 0.1)
    low, high = e.value.gap
    assert low < inside < high
    for rate in (low * (1 + 1e-6), high * (1 - 1e-6), 0.5 * (low + high)):
        with pytest.raises(UnreachableRateError, match="jumps"):
            invert(rule, rate, 0.1)
        with pytest.raises(UnreachableRateError, match="jumps"):
            invert(rule, [0.5 * low, rate], 0.1)
    for rate in (low * (1 - 1e-4), high * (1 + 1e-4)):
        assert rule.rate(invert(rule, rate, 0.1), 0.1) == pytest.approx(rate, rel=1e-9)
