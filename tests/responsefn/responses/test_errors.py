"""Errors and warnings of responses."""

from __future__ import annotations

import warnings

import pytest

from responsefn import (
    HTCP,
    TFRC,
    AmbiguousRateError,
    Illinois,
    Reno,
    RuleError,
    SeveralAttractorsWarning,
    UnreachableRateError,
    invert,
)
from responsefn.responses.response_warnings import collected, quiet, warns

# What errors carry beside their message.


def test_an_unreachable_rate_comes_with_the_rates_that_are():
    with pytest.raises(UnreachableRateError) as caught:
        invert(TFRC(), 1e-9, 0.1)
    assert caught.value.reachable == pytest.approx(tuple(TFRC().rate([1.0, 1e-12], 0.1)))
    assert caught.value.gap is None


def test_an_ambiguous_rate_comes_with_an_interval_in_which_each_has_one_p():
    with pytest.raises(AmbiguousRateError) as caught:
        invert(HTCP(), HTCP().rate(0.56, 0.1), 0.1)
    low, high = caught.value.unique
    for rate in (1.001 * low, 0.999 * high):
        p = invert(HTCP(), rate, 0.1, unit_check=False)
        assert HTCP().rate(p, 0.1) == pytest.approx(rate, rel=1e-12)


def test_all_are_value_errors():
    """As any other bad input is."""
    assert all(
        issubclass(e, ValueError) for e in (UnreachableRateError, AmbiguousRateError, RuleError)
    )
    with pytest.raises(ValueError, match="rate = 1e-09"):
        invert(Reno(), 1e-9, 0.1)


# Warnings point at the call outside of the package, and can be left out or collected.


def test_a_warning_names_the_line_that_asked():
    with pytest.warns(SeveralAttractorsWarning) as seen:
        Illinois().rate(0.02, 0.1)
    assert seen[0].filename == __file__


def test_quiet_and_collected_remarks():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            assert not warns()
            Illinois().rate(0.02, 0.1)
        with collected() as remarks:
            Illinois().rate(0.02, 0.1)
    assert warns()
    assert remarks[0].beside[0, 0] == pytest.approx(86.5, rel=0.01)  # Reno's law, sqrt(3/(2p))/R
