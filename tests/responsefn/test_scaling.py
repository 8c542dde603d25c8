"""Units of time and data do not matter, and rates fall with p."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import responsefn
from hopflow import mbps, to_mbps
from responsefn import (
    CTCP,
    CUBIC,
    PFTK,
    TFRC,
    Reno,
    catalogue,
)

invert = functools.partial(responsefn.invert, unit_check=False)
"""Rates at p = 1e-12 are larger than any that is not taken for bit/s."""


CLOSED = [rule for rule in catalogue().entries if rule.monotone and rule.uses_closed_form(None)]


CLOSED = [rule for rule in CLOSED if getattr(rule, "capacity", "ignored") != "needed"]


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
    found = invert(rule, rate, rtt)
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
    assert invert(rule, mbps(bits, packet_size=size), 0.1) == pytest.approx(p, rel=1e-12)
