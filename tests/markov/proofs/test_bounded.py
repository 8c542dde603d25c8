"""A number and the interval that holds the exact one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from markov import MM1K, passage
from markov.proofs.bounded import ExactBounded

Bounded = type(passage(MM1K(capacity=2), to=(2,), start=(0,)).quantile(0.5))


def test_the_error_is_the_distance_to_the_farther_end() -> None:
    found = Bounded(2.0, 1.5, 2.25)
    assert found.error == 0.5
    assert float(found) == 2.0
    assert 1.5 in found
    assert 2.3 not in found
    assert repr(found) == "2 +- 0.5"


@pytest.mark.parametrize(
    ("bounded", "error"),
    [
        (Bounded(2.0, 1.0, 4.0), 2.0),  # |exact| >= 1, off by at most 2
        (Bounded(-2.0, -4.0, -1.0), 2.0),
        (Bounded(0.5, -1.0, 1.0), math.inf),  # it may be zero
        (Bounded(0.0, 0.0, 0.0), 0.0),
        (Bounded(3.0, 3.0, 3.0), 0.0),
        (Bounded(3.0, -math.inf, math.inf), math.inf),
        (Bounded(math.inf, math.inf, math.inf), 0.0),
    ],
    ids=repr,
)
def test_the_relative_error_is_relative_to_the_smallest_size(bounded: Any, error: float) -> None:
    assert bounded.relative_error == error


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
def test_errors_of_exact_intervals(
    low: Fraction, high: Fraction, error: float, relative: float
) -> None:
    found = ExactBounded.between(low, high)
    assert (found.error, found.relative_error) == (error, relative)


@pytest.mark.parametrize(
    "width", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 10), Fraction(1, 10**400)]
)
def test_an_error_is_rounded_up(width: Fraction) -> None:
    found = ExactBounded.between(Fraction(1), 1 + 2 * width)
    assert width <= Fraction(found.error) <= width * (1 + Fraction(1, 2**52)) + Fraction(5e-324)
