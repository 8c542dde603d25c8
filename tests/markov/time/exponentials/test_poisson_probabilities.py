"""Poisson weights in words and a number that is not exceeded, against sixty digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from markov.time.exponentials.poisson_probabilities import most_jumps, weights_in_words


@pytest.mark.parametrize("words", [2, 3])
@pytest.mark.parametrize("x", [Fraction(2), Fraction(0.7), Fraction(1, 3), Fraction(1e-20)])
def test_every_weight_is_right_in_all_words(words, x):
    found = weights_in_words(x, 40, words)
    with mpmath.workdps(80):
        for k in range(40):
            exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            exact *= (mpmath.mpf(x.numerator) / x.denominator) ** k / mpmath.factorial(k)
            if exact > 1e-200:
                value = sum(map(mpmath.mpf, found[:, k].tolist()))
                assert abs(value - exact) <= 2.0 ** (-52 * words) * exact


@pytest.mark.parametrize("mean", [1e-250, 1e-3, 1.0, 40.0, 1e4, 1e9])
def test_more_jumps_have_a_probability_below_1e_320(mean):
    most = most_jumps(mean)
    with mpmath.workdps(60):
        k = mpmath.floor(most) + 1
        term = mpmath.exp(k * mpmath.log(mean) - mean - mpmath.loggamma(k + 1))
        assert term / (1 - mpmath.mpf(mean) / (k + 1)) < mpmath.mpf("1e-320")
    assert mean < most < 1.0 + 500.0 + mean + 60.0 * mean**0.5


def test_without_time_nothing_jumps():
    assert most_jumps(0.0) == 0.0
