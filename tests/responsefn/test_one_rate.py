"""One rate for a rule: by its equation, by its cycle, by simulation; units of time and data do not matter."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import responsefn
from hopflow import mbps, to_mbps
from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    DCTCP,
    HSTCP,
    PFTK,
    TFRC,
    Deterministic,
    DirectSimulation,
    Reno,
    Scalable,
    WindowRule,
    catalogue,
    curve,
    friendliness,
    fused,
    invert,
    simulate_curve,
    simulate_rule,
    twin,
)

RTT = 0.08
REPORTED = [
    (CTCP(alpha=0.02), 2e-3, 342.0),
    (CTCP(k=0.5), 2e-3, 342.0),
    (Scalable(legacy=60.0), 2e-3, 342.0),
    (Scalable(), 0.02, 108.0),
    (CTCP(), 0.05, 68.0),
]
"""Parameters outside of the closed form's region, and the rate of direct simulation."""


@pytest.mark.parametrize(("rule", "p", "rate"), REPORTED, ids=repr)
def test_outside_of_its_region_the_closed_form_gives_way_to_the_cycle(rule, p, rate):
    assert not rule.closed_form_holds(p, RTT)
    assert rule.rate(p, RTT) == pytest.approx(rate, rel=0.005)
    run = simulate_rule(rule, p, RTT, Deterministic(), events=2000)
    assert rule.rate(p, RTT) == pytest.approx(run.rate, rel=0.005)
    assert friendliness(rule, p, RTT, to=rule) == 1.0
    assert curve(rule, [p], RTT).rate[0, 0] == rule.rate(p, RTT)
    assert np.isnan(fused(rule, RTT)(np.array([p]))).all()
    assert invert(rule, rule.rate(p, RTT), RTT) == pytest.approx(p, rel=1e-9)


LOOSE = {
    "HSTCP()": 0.045,  # the RFC's line, 4 % below the cycle of its own a(w) and b(w) at 1e-3
    "Scalable(form='published')": 0.07,  # the peak in the place of the mean
    "CUBIC(form='published')": 0.042,  # the larger of two responses, and no lag
    "DCTCP()": 0.01,  # stated of its form: within 1 % of its cycle up to 0.015
    "CUBIC(fast_convergence=1)": 0.08,  # 0.85/sqrt(n) after n cycles, from below
    "BIC()": 0.06,  # fast convergence as well
    "Tahoe()": 0.03,  # whole packets of slow start
    "LinuxBIC()": 0.03,  # fast convergence as well
    "LinuxHTCP()": 0.03,  # cycles alternate, by the bandwidth switch
    "LinuxCUBIC()": 0.06,  # fast convergence, and whole packets at 0.02
    "AIMD(form='precise')": 0.15,  # round trips that the bare rule does not have
    "AIMD(form='recovery')": 0.3,
}
"""Relative differences of a response from its own rule's simulation, by cause; elsewhere 1 %."""
ENTRIES = [entry for entry in catalogue("rule").entries if entry.capacity != "needed"]
LONG = (
    "BIC()", "LinuxBIC()", "LinuxCUBIC()", "LinuxHTCP()", "LinuxIllinois()", "LinuxLP()", "LinuxScalable()",
)  # fmt: skip
"""One to five seconds each, for the compilation of their rules and the simplification of their formulas."""


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, id=repr(rule), marks=pytest.mark.slow if repr(rule) in LONG else []) for rule in ENTRIES],
)
def test_rate_cycle_and_simulation_agree_inside_the_domain(rule):
    # DCTCP at 1e-3 grows to 2000 packets by one per round trip of two marks: 4000 marks
    low, high = max(rule.domain[0], 1e-3 if rule == DCTCP() else 1e-4), rule.domain[1]
    for p in np.geomspace(low, high, 3):
        rate, cycle = rule.rate(p, RTT), rule.cycle(p, RTT).rate
        run = simulate_rule(rule, p, RTT, events=100_000 if rule == DCTCP() else 300)
        tolerance = LOOSE.get(repr(rule), 0.01)
        assert cycle == pytest.approx(rate, rel=tolerance)
        if run.rate != pytest.approx(rate, rel=tolerance):
            # a run may come to another attractor than the answer, which warns of it
            assert pytest.approx(run.rate, rel=tolerance) in rule.attractors(p, RTT)
        if rule.uses_closed_form() and rule.closed_form_holds(p, RTT):
            assert fused(rule, RTT)(np.array([p]))[0] == pytest.approx(rate, rel=1e-12)
            jax = pytest.importorskip("jax")
            del jax
            assert float(twin(rule)(p, RTT)) == pytest.approx(rate, rel=1e-12)


RTTS = (0.001, 0.01, 0.1, 0.6, 1.0)
"""From a data center to a path over two satellites."""
WITH_FORM = [entry for entry in ENTRIES if entry.uses_closed_form()]
MORE = (CUBIC(friendly=0), CUBIC(form="published"), BIC(fast_convergence=0), AIMD(0.2, 0.125))


def check_closed_form(rule: WindowRule, rtt: float, p: tuple[float, ...], events: int) -> None:
    """Compare `rate` with single ACKs where the closed form holds, and with the cycle elsewhere."""
    at = np.array([each for each in p if rule.in_domain(each)])
    # CUBIC's peaks come to rest from the published one in (K/R)^2 cycles; they stay at their own for as long
    begins = rule.replace(form="published") if isinstance(rule, CUBIC) else rule
    held = rule.closed_form_holds(at, rtt)
    runs = (
        simulate_curve(begins, at[held], rtt, options=DirectSimulation(method="acks"), events=events)
        if held.any()
        else ()
    )
    tolerance = LOOSE.get(repr(rule), 0.005)
    assert [run.rate for run in runs] == pytest.approx(rule.rate(at[held], rtt), rel=tolerance)
    np.testing.assert_array_equal(rule.rate(at[~held], rtt), rule.cycle(at[~held], rtt).rate)


@pytest.mark.parametrize("rtt", RTTS)
def test_closed_form_of_cubic_at_any_round_trip(rtt: float) -> None:
    """Without the lag of a round trip it was 1 % high at 0.1 s, 10 % at 0.6 s, 13 % at 1 s."""
    check_closed_form(CUBIC(), rtt, (1e-4, 1e-3, 0.02), 4000 if rtt == 0.1 else 500)
    assert CUBIC().closed_form_holds([1e-4], rtt).all()


@pytest.mark.parametrize(("rtt", "low", "high"), [(0.1, -1.2, 4.0), (1.0, -3.8, 0.2)])
def test_how_far_cubic_is_from_its_published_formula(rtt: float, low: float, high: float) -> None:
    """In percent of the formula of RFC 9438, as in the changelog."""
    p = np.logspace(-7, np.log10(0.02), 200)
    differences = 100.0 * (CUBIC().rate(p, rtt) / CUBIC(form="published").rate(p, rtt) - 1.0)
    assert [round(differences.min(), 1), round(differences.max(), 1)] == [low, high]


@pytest.mark.slow  # compiles a loop for each rule
@pytest.mark.parametrize("rule", [*WITH_FORM, *MORE], ids=repr)
def test_closed_forms_of_the_catalogue_at_any_round_trip(rule: WindowRule) -> None:
    p, events = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 0.02), 300
    if isinstance(rule, CUBIC):
        p, events = p[1:], 8000
    elif isinstance(rule, DCTCP):
        p, events = (0.01, 0.015), 20_000
    for rtt in RTTS:
        check_closed_form(rule, rtt, p, events)


CAPACITY = 8333.0
SEEING = [entry for entry in catalogue("rule").entries if entry.capacity == "needed"]
SLOW = {"Westwood()": 20_000, "WestwoodPlus()": 40_000}
"""Loss events until the window, which grows by less than a packet between two, is at the capacity; elsewhere 1000."""


@pytest.mark.slow  # a second each, for the compilation of their rules
@pytest.mark.parametrize("rule", SEEING, ids=repr)
def test_rules_that_need_the_capacity_agree_as_well(rule):
    """ARENO's cycles do not repeat: means of 1000 are 0.3 % apart."""
    for p in (1e-4, 1e-3):
        rate, cycle = rule.rate(p, RTT, CAPACITY), rule.cycle(p, RTT, CAPACITY).rate
        events = SLOW.get(repr(rule), 1000)
        run = simulate_rule(rule, p, RTT, events=events, options=DirectSimulation(bandwidth=CAPACITY))
        assert cycle == pytest.approx(rate, rel=1e-12)
        assert run.rate == pytest.approx(rate, rel=0.01)


def test_regions_follow_the_parameters():
    p = np.geomspace(1e-6, 0.5, 2000)

    def largest(rule: WindowRule) -> float:
        return float(p[rule.closed_form_holds(p, 0.1)].max())

    assert largest(Scalable()) == pytest.approx(0.01 * 0.875 / (16 * 0.125), rel=0.01)
    assert largest(Scalable(legacy=60.0)) == pytest.approx(0.01 * 0.875 / (60 * 0.125), rel=0.01)
    assert largest(CTCP()) == pytest.approx(0.00354, rel=0.01)
    assert largest(CTCP(alpha=0.02)) < 1e-4
    assert largest(Reno()) == pytest.approx(1 / 6, rel=0.01)
    assert not HSTCP().closed_form_holds(1e-8, 0.1)
    assert DCTCP().closed_form_holds(0.01, 0.1)


def test_quantities_may_be_texts() -> None:
    assert Reno().rate(1e-3, "80ms") == Reno().rate(1e-3, RTT)
    assert invert(Reno(), "12Mbps", "80ms") == invert(Reno(), 1000.0, RTT)
    drawn = curve(Reno(), [1e-3], "80ms", "12Mbps")
    assert (drawn.rtt, drawn.bandwidth) == (RTT, 1000.0)


# Units of time and data do not matter, and rates fall with p.

inverse = functools.partial(responsefn.invert, unit_check=False)
"""Rates at p = 1e-12 are larger than any that is not taken for bit/s."""
CLOSED = [
    rule
    for rule in catalogue().entries
    if rule.monotone and rule.uses_closed_form(None) and getattr(rule, "capacity", "ignored") != "needed"
]


def region(rule):
    """Return the ends of log10 p where the closed form holds, on a grid at three RTTs."""
    log_p = np.linspace(-10.0, -0.01, 2000)
    holds = rule.closed_form_holds(10.0**log_p, np.array([[1e-4], [0.01], [2.0]])).any(axis=0)
    return log_p[holds].min(), log_p[holds].max()


@pytest.mark.parametrize("rule", CLOSED, ids=repr)
@given(part=st.floats(0.0, 1.0), log_rtt=st.floats(-4.0, 0.3))
def test_monotone_scaling_and_round_trip(rule, part, log_rtt):
    low, high = region(rule)
    p, rtt = 10.0 ** (low + part * (high - low)), 10.0**log_rtt
    more = min(1.0, 1.01 * p)
    assume(rule.closed_form_holds(p, rtt) and rule.closed_form_holds(more, rtt))
    rate = rule.rate(p, rtt)
    assert rate >= rule.rate(more, rtt)
    found = inverse(rule, rate, rtt)
    assert found == pytest.approx(p, rel=1e-12)
    if not isinstance(rule, CUBIC):  # CUBIC's window depends on the RTT
        assert rule.rate(p, 2 * rtt) == pytest.approx(rate / 2, rel=1e-12)


TIMED = [
    lambda k: Reno(),
    lambda k: CUBIC(C=0.4 / k**3),
    lambda k: CTCP(),
    lambda k: TFRC(rto=0.3 * k),
    lambda k: PFTK(rto=0.3 * k),
]


@pytest.mark.parametrize("rule", TIMED, ids=lambda rule: repr(rule(1.0)))
@given(log_p=st.floats(-8.0, -0.1), log_k=st.floats(-2.0, 1.0))
def test_the_unit_of_time_does_not_matter(rule, log_p, log_k):
    p, k = 10.0**log_p, 10.0**log_k
    assert k * rule(k).rate(p, 0.2 * k) == pytest.approx(rule(1.0).rate(p, 0.2), rel=1e-12)


@pytest.mark.parametrize("rule", [Reno(), TFRC()], ids=repr)
@given(log_p=st.floats(-8.0, -0.8), size=st.floats(40.0, 9000.0))
def test_the_unit_of_data_does_not_matter(rule, log_p, size):
    """Up to p = 1/6: Reno's cycles of fewer packets may alternate, and then have no inverse."""
    p = 10.0**log_p
    bits = to_mbps(rule.rate(p, 0.1), packet_size=size)
    assert inverse(rule, mbps(bits, packet_size=size), 0.1) == pytest.approx(p, rel=1e-12)
