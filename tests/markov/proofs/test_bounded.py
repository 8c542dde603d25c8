"""Exact intervals: what they print, and errors rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from markov.proofs.bounded import ExactBounded


def test_an_exact_interval_prints_what_it_holds() -> None:
    third = Fraction(1, 3)
    found = ExactBounded.between(third - Fraction(1, 10**25), third + Fraction(1, 10**25))
    assert found.value == third
    assert (third in found, 1 / 3 in found) == (True, False)  # 1/3 in float64 is 2e-17 below
    assert float(found) == 1 / 3
    value, _, error = repr(found).partition(" +- ")
    assert Fraction(value) - Fraction(error) <= found.lower
    assert found.upper <= Fraction(value) + Fraction(error) <= third + Fraction(2, 10**25)
    assert repr(ExactBounded.between(third, third)) == "1/3 +- 0"
    assert repr(ExactBounded.between(Fraction(-(10**9)), Fraction(10**9))) == "0 +- 1.00e9"


@pytest.mark.parametrize(
    ("low", "high", "error", "relative"),
    [
        (Fraction(1), Fraction(3), 1.0, 1.0),
        (Fraction(-3), Fraction(-1), 1.0, 1.0),
        (Fraction(-1), Fraction(1), 1.0, math.inf),
        (Fraction(0), Fraction(0), 0.0, 0.0),
        (Fraction(2), Fraction(2), 0.0, 0.0),
    ],
)
def test_errors_of_exact_intervals(low: Fraction, high: Fraction, error: float, relative: float) -> None:
    found = ExactBounded.between(low, high)
    assert (found.error, found.relative_error) == (error, relative)


@pytest.mark.parametrize("width", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 10), Fraction(1, 10**400)])
def test_an_error_is_rounded_up(width: Fraction) -> None:
    found = ExactBounded.between(Fraction(1), 1 + 2 * width)
    assert width <= Fraction(found.error) <= width * (1 + Fraction(1, 2**52)) + Fraction(5e-324)
