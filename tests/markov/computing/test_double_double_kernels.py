"""The loops in double-double as plain Python, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from markov.computing.double_double_kernels import (
    drifts,
    net_flows,
    two_product,
    two_sum,
    variation,
)

NUMBERS = st.floats(1e-100, 1e100) | st.floats(-1e100, -1e-100)
INDPTR, INDICES = np.array([0, 2, 3, 5]), np.array([0, 1, 2, 0, 1])
RATES = np.array([-0.1, 0.1, 0.3, 0.7, 0.2])  # the first one is on the diagonal
EDGES = [(0, 1, 0.1), (1, 2, 0.3), (2, 0, 0.7), (2, 1, 0.2)]


@given(NUMBERS, NUMBERS)
def test_a_rounded_operation_and_what_it_lost_are_exact(a: float, b: float) -> None:
    assert Fraction(a + b) + Fraction(two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert Fraction(a * b) + Fraction(two_product(a, b)) == Fraction(a) * Fraction(b)


def test_flows_and_drifts_leave_the_diagonal_out() -> None:
    x, low = np.array([1.0, 1 / 3, -7e3]), np.array([1e-17, -1e-18, 1e-14])
    exact = [Fraction(float(a)) + Fraction(float(b)) for a, b in zip(x, low, strict=True)]
    flows, changes = [Fraction(0)] * 3, [Fraction(0)] * 3
    for i, j, rate in EDGES:
        flows[j] += exact[i] * Fraction(rate)
        flows[i] -= exact[i] * Fraction(rate)
        changes[i] += (exact[j] - exact[i]) * Fraction(rate)
    for loop, expected in ((net_flows, flows), (drifts, changes)):
        total, rest, size = np.zeros((3, 3))
        loop(INDPTR, INDICES, RATES, x, low, total, rest, size)
        for high, little, most, true in zip(total, rest, size, expected, strict=True):
            left = abs(Fraction(float(high)) + Fraction(float(little)) - true)
            assert left <= Fraction(float(most)) * Fraction(2) ** -50


def test_the_variation_sums_sizes_of_changes() -> None:
    x, g = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.0, -1.0])
    expected = sum(x[i] * rate * abs(g[j] - g[i]) for i, j, rate in EDGES)
    assert abs(variation(INDPTR, INDICES, RATES, x, g) - expected) <= 1e-15 * expected
