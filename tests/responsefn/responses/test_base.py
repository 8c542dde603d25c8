"""What rules and laws share: forms derived once, slopes, long arrays."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    HTCP,
    TFRC,
    Relentless,
    Reno,
    catalogue,
)
from responsefn.responses.base import Response
from responsefn.responses.equations import formula_of


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def test_formula_is_derived_once_for_equal_rules():
    assert formula_of(AIMD(0.2, 0.125)) is formula_of(AIMD(0.2, 0.125))
    assert AIMD(0.2, 0.125).expression == AIMD().expression


def test_elasticity():
    p = np.array([1e-6, 1e-4])
    np.testing.assert_allclose(Reno().elasticity(p, 0.1), -0.5, rtol=1e-12)
    cubic = CUBIC(friendly=0, form="published")
    np.testing.assert_allclose(cubic.elasticity(p, 0.1), -0.75, rtol=1e-12)
    rounds = (
        0.1 / p * 4 * 0.3 / (0.4 * 3.7)
    ) ** 0.25 / 0.1  # K in round trips, with C = 0.4 and beta = 0.7
    late = 0.59607 * 2.7 / 3.7  # by which a cycle is longer than K
    slope = -1 + 0.25 * rounds / (rounds + late)
    np.testing.assert_allclose(CUBIC(friendly=0).elasticity(p, 0.1), slope, rtol=1e-6)
    np.testing.assert_allclose(Relentless().elasticity(p, 0.1), -1.0, rtol=1e-12)
    np.testing.assert_allclose(CTCP().elasticity(p, 0.1), -0.8, rtol=1e-12)
    np.testing.assert_allclose(HTCP().elasticity(p, 0.1), -0.75, atol=0.1)
    assert TFRC().elasticity(0.3, 0.1) < -2


RTT = 0.08


def has_form(rule):
    """Return whether a rule has a closed form, which is not derived for it."""
    return type(rule).formula is not Response.formula


@pytest.mark.parametrize(
    "rule",
    [BIC(low_window=1000.0), *(rule for rule in catalogue().entries if has_form(rule))],
    ids=repr,
)
def test_long_arrays_have_the_rates_of_short_ones(rule):
    """Long arrays ask where the closed form holds in another way."""
    p = np.geomspace(1e-7, 0.4, 100)
    halves = np.concatenate([rule.rate(p[:50], RTT), rule.rate(p[50:], RTT)])
    np.testing.assert_allclose(rule.rate(p, RTT), halves, rtol=1e-14)
