"""Poisson weights e^-x x^k / k! to any relative accuracy, and how many jumps a chain makes at most."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from markov.time.exponentials.words import Words

__all__ = ["most_jumps", "weights"]

BITS = 220  # of a mantissa
NEVER = 738.0  # minus the logarithm of 1e-320


def most_jumps(mean: float) -> float:
    """Return a number that a Poisson number of this mean exceeds with a probability below 1e-320.

    By Bernstein's inequality, P(N >= mean (1 + d)) <= exp(-mean d^2 / (2 + 2 d / 3)).
    """
    if mean == 0.0:
        return 0.0
    more = NEVER / 3.0 + math.sqrt(NEVER * NEVER / 9.0 + 2.0 * NEVER * mean)  # mean d
    return 1.0 + (mean + more) * (1.0 + 1e-12)


def weights(x: Fraction, count: int, words: int) -> Words:
    """Return e^-x x^k / k! for k < count as words, shape (words, count), for 0 <= x <= 2; each to some 2^-200."""
    numerator, shift = _mantissa(x.numerator, 0)
    denominator = x.denominator
    value, exponent = _exp_minus(x), -BITS
    found = np.empty((words, count))
    for k in range(count):
        left = value
        for word in range(words):
            rounded = float(left)
            found[word, k] = math.ldexp(rounded, exponent)
            left -= int(rounded)
        value, more = _mantissa((value * numerator << BITS) // (denominator * (k + 1)), -BITS)
        exponent += more + shift
    return found


def _mantissa(value: int, exponent: int) -> tuple[int, int]:
    """Return a whole number of at most `BITS` bits and the exponent of two that it is to be multiplied by."""
    extra = max(value.bit_length() - BITS, 0)
    return value >> extra, exponent + extra


def _exp_minus(x: Fraction) -> int:
    """Return e^-x in units of 2^-BITS, for 0 <= x <= 2, to some 100 units."""
    scaled = (x.numerator << BITS) // x.denominator
    total, term, k = 0, 1 << BITS, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * scaled >> BITS) // k
    return total
