"""The inverse: round trips, shapes, and the rates that cannot be reached."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import responsefn
from responsefn import (
    AIMD,
    BIC,
    CUBIC,
    DCTCP,
    HSTCP,
    HTCP,
    PFTK,
    TFRC,
    NewReno,
    Reno,
    Tahoe,
)
from responsefn.errors import AmbiguousRateError
from tests.surface import for_each

invert = functools.partial(responsefn.invert, unit_check=False)
"""Rates at p = 1e-12 are larger than any that is not taken for bit/s."""
RULES = [
    *(AIMD(a, b, form) for a, b in ((0.2, 0.125), (32.0, 0.9)) for form in ("sqrt", "precise")),
    AIMD(0.2, 0.125, "recovery"),
    AIMD(32.0, 0.01, "recovery"),
    Reno(),
    NewReno("precise"),
    Reno("recovery"),
    Tahoe(),
    TFRC(),
    TFRC(2, 0.2),
    TFRC(1, 1e-3),
    PFTK(),
    PFTK(2),
    PFTK(1, 0.5),
    PFTK(form="approximate"),
    PFTK(2, 0.2, "approximate"),
]
LOSS_RATES = np.concatenate([np.logspace(-12, 0, 2001), 1 - np.logspace(-15, -1, 300)])


@for_each(RULES)
def test_round_trip_over_the_whole_range(rule):
    for rtt in (1e-4, 0.048, 0.5):
        p = LOSS_RATES[rule.closed_form_holds(LOSS_RATES, rtt)]
        rate = rule.rate(p, rtt)
        found = invert(rule, rate, rtt, unit_check=False)
        np.testing.assert_allclose(found, p, rtol=1e-12)
        np.testing.assert_allclose(rule.rate(found, rtt), rate, rtol=1e-12)


@pytest.mark.parametrize("rule", [Tahoe(), TFRC(), PFTK(), Reno("recovery")], ids=repr)
def test_many_at_once_without_a_warning(rule):
    """SciPy's root finder may warn of an invalid square root when many roots are asked."""
    p = np.logspace(-10, np.log10(1 / 7.1), 100_001)
    np.testing.assert_allclose(invert(rule, rule.rate(p, 0.1), 0.1), p, rtol=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    rule=st.one_of(
        st.builds(
            AIMD,
            st.floats(1e-3, 100.0),
            st.floats(0.01, 0.99),
            st.sampled_from(["sqrt", "precise", "recovery"]),
        ),
        st.sampled_from([Tahoe(), Reno("recovery")]),
        st.builds(TFRC, st.floats(1.0, 8.0), st.none() | st.floats(1e-6, 100.0)),
        st.builds(PFTK, st.floats(1.0, 8.0), st.none(), st.sampled_from(["full", "approximate"])),
    ),
    log_p=st.floats(-10.0, 0.0),
    log_rtt=st.floats(-6.0, 2.9),
)
def test_round_trip_everywhere(rule, log_p, log_rtt):
    p, rtt = 10.0**log_p, 10.0**log_rtt
    assume(rule.closed_form_holds(p, rtt))
    rate = rule.rate(p, rtt, unit_check=False)
    found = invert(rule, rate, rtt, unit_check=False)
    assert found == pytest.approx(p, rel=1e-12)
    assert rule.rate(found, rtt, unit_check=False) == pytest.approx(rate, rel=1e-12)


def test_shapes():
    assert type(invert(TFRC(), 1000.0, 0.1)) is float
    assert type(invert(Reno(), np.float64(1000.0), 0.1)) is float
    for rule in (Reno(), TFRC()):
        found = invert(rule, [[100.0], [1000.0], [5000.0]], [0.05, 0.1])
        assert found.shape == (3, 2)
        assert found[1, 1] == pytest.approx(invert(rule, 1000.0, 0.1), rel=1e-14)
        assert invert(rule, [], 0.1).shape == (0,)
    assert invert(HTCP(), [], 0.1).shape == (0,)
    assert type(invert(HTCP(), 100.0, 0.1)) is float


@for_each(RULES)
def test_unreachable_rates_are_refused_with_the_interval(rule):
    low, high = rule.rate(1.0, 0.1), rule.rate(1e-12, 0.1)
    if rule.closed_form_holds(1.0, 0.1) or rule.cycle(1.0, 0.1).period == 1:
        assert invert(rule, low, 0.1) == pytest.approx(1.0, rel=1e-12)
    else:  # cycles of a few packets alternate
        with pytest.raises(AmbiguousRateError, match="falls with p"):
            invert(rule, low, 0.1)
    assert invert(rule, high, 0.1) == pytest.approx(1e-12, rel=1e-12)
    for rate in (0.999 * low, 1.001 * high):
        with pytest.raises(ValueError, match=r"^rate = .*must be in .*packets/s.*rtt = 0\.1") as e:
            invert(rule, [rate, (low + high) / 2], 0.1)
        assert f"{low:g}..{high:g}" in str(e.value)


def test_pftk_with_a_timeout_below_the_round_trip_has_no_inverse():
    """Its full form rises with p there: more timeouts cost less than more round trips."""
    law = PFTK(rto=1e-3)
    assert law.rate(1.0, 1.0) > law.rate(0.9, 1.0)
    with pytest.raises(ValueError, match=r"rtt = 1: .*rto"):
        invert(law, 1.0, 1.0)


@pytest.mark.parametrize("rtt", [0.001, 0.03, 0.1, 0.7])
def test_the_ends_of_a_closed_forms_region_come_back(rtt):
    """DCTCP's 2/(pR) begins to hold at 0.003: round-off of the inverse may end just below."""
    p = np.array([0.003, 0.015])
    np.testing.assert_allclose(invert(DCTCP(), DCTCP().rate(p, rtt), rtt), p, rtol=1e-12)


@pytest.mark.parametrize("rule", [BIC(), CUBIC(), PFTK(), HSTCP()])
def test_the_inverse_is_the_same_for_one_rtt_a_broadcast_one_and_one_per_rate(rule):
    p = np.geomspace(1e-6, 3e-3, 50)
    rates = np.asarray(rule.rate(p, 0.1))
    rtts = np.full(50, 0.1)
    several = np.geomspace(0.05, 0.2, 50)
    for found in (
        invert(rule, rates, 0.1),
        invert(rule, rates, rtts),
        invert(rule, rates, np.broadcast_to(0.1, 50)),
        invert(rule, np.asarray(rule.rate(p, several)), several),
    ):
        np.testing.assert_allclose(found, p, rtol=1e-12)
