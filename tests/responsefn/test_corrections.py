"""Corrections for recovery, delayed ACKs, timeouts and window limits."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    HTCP,
    PFTK,
    Corrected,
    Mathis,
    Reno,
    catalogue,
    invert,
    simulate_rule,
)
from responsefn.linux import LinuxBIC, LinuxCUBIC, LinuxHTCP

P = np.geomspace(1e-6, 0.02, 9)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.5), (0.2, 0.125), (3 / 7, 0.25)])
def test_recovery_of_aimd_is_its_own_form(a, b):
    rate = Corrected(AIMD(a, b), recovery=1).rate(P, 0.1)
    np.testing.assert_allclose(rate, AIMD(a, b, "recovery").rate(P, 0.1), rtol=1e-9)


@pytest.mark.slow
def test_recovery_lowers_every_rule_less_the_longer_its_cycle():
    for rule in (CTCP(), CUBIC(), HTCP(), LinuxBIC()):
        part = Corrected(rule, recovery=1).rate([1e-5, 1e-3], 0.1) / rule.rate([1e-5, 1e-3], 0.1)
        assert (part < 1).all()
        assert part[0] > part[1] > 0.6


def test_delayed_acks_are_mathis_b_and_what_the_simulation_has():
    for b in (1.0, 2.0):
        rate = Corrected(AIMD(), packets_per_ack=b).rate(P, 0.1)
        np.testing.assert_allclose(rate, Mathis(b).rate(P, 0.1), rtol=1e-12)
    with pytest.raises(ValueError, match=r"packets_per_ack = 2: must be 1 for CUBIC\(\)"):
        Corrected(CUBIC(), packets_per_ack=2)
    # a round trip has half the ACKs: Reno with half the increase per ACK
    run = simulate_rule(AIMD(0.5, 0.5), 1e-4, 0.1, events=300)
    assert Corrected(Reno(), packets_per_ack=2).rate(1e-4, 0.1) == pytest.approx(run.rate, rel=2e-3)


def test_timeouts_of_reno_are_near_pftk():
    """The same model with W = 3 in the place of its exact probability: within 8 % to p = 0.02."""
    p = np.geomspace(1e-4, 0.02, 8)
    corrected = Corrected(Reno(form="precise"), rto=0.4).rate(p, 0.1)
    np.testing.assert_allclose(corrected, PFTK(rto=0.4).rate(p, 0.1), rtol=0.08)


def test_a_window_limit_and_the_inverse():
    rule = Corrected(Reno(), recovery=1, max_window=20.0)
    assert rule.rate(1e-6, 0.1) == 200.0
    p = np.array([0.003, 0.01, 0.03])
    free = Corrected(Reno(), recovery=1)
    np.testing.assert_allclose(invert(free, free.rate(p, 0.1), 0.1), p, rtol=1e-9)


LONG = {
    "ARENO()", "BIC()", "CTCP()", "Fusion()", "HSTCP()", "LinuxCUBIC()", "LinuxHTCP()", "LinuxIllinois()", "LinuxLP()",
    "LinuxYeAH()", "Tahoe()", "Westwood()", "WestwoodPlus()",
}  # fmt: skip
"""A second or more each, for their formulas or the compilation of their cycles."""


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=repr(rule), marks=pytest.mark.slow if repr(rule) in LONG else [])
        for rule in catalogue("rule").entries
    ],
)
def test_every_correction_lowers_the_rate_of_every_rule(rule):
    """At p = 0.01; delayed ACKs do not slow rules that grow with the time, which are refused."""
    p, rtt = 0.01, 0.1
    bandwidth = 2000.0 if rule.capacity == "needed" else None
    bare = rule.rate(p, rtt, bandwidth)
    for option in ({"recovery": 1}, {"rto": 0.4}, {"packets_per_ack": 2.0}, {"max_window": 4.0}):
        timed = type(rule) in (CUBIC, HTCP, LinuxCUBIC, LinuxHTCP)
        if "packets_per_ack" in option and timed:
            with pytest.raises(ValueError, match=r"packets_per_ack = 2: must be 1 for"):
                Corrected(rule, **option)
            continue
        rate = Corrected(rule, **option).rate(p, rtt, bandwidth)
        assert 0.0 < rate <= bare * (1.0 + 1e-9), option
    assert rate <= 4.0 / rtt
