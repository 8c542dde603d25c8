"""Products in double-double against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from markov.computing.double_double import DoubleDouble, excess, mean, pair_sum, product, sum_error
from markov.computing.matrices import inner, norm
from tests.markov.conftest import generator_of

# Products in double-double against rational arithmetic, in NumPy and compiled.


def numbers(seed: int, n: int, decades: float = 12.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 10.0 ** rng.uniform(-decades, decades, n)


def exactly(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def test_a_product_and_a_sum_are_what_is_rounded_and_what_is_lost() -> None:
    a, b = numbers(1, 50), numbers(2, 50)
    rounded, lost = product(a, b)
    for x, y, high, low in zip(*map(exactly, (a, b, rounded, lost)), strict=True):
        assert high + low == x * y
    for x, y, high, low in zip(*map(exactly, (a, b, a + b, sum_error(a, b))), strict=True):
        assert high + low == x + y


def test_sums_of_pairs_have_twice_the_digits() -> None:
    a, b = ((high, high * 1e-17 * numbers(2, 50, 1.0)) for high in (numbers(1, 50), numbers(3, 50)))
    high, low = pair_sum(a, b)
    exact = [sum(parts) for parts in zip(*map(exactly, (*a, *b)), strict=True)]
    size = [sum(map(abs, parts)) for parts in zip(*map(exactly, (*a, *b)), strict=True)]
    for x, y, true, most in zip(exactly(high), exactly(low), exact, size, strict=True):
        assert abs(x + y - true) <= most * Fraction(2) ** -100


def test_products_with_a_generator_lie_within_their_bound() -> None:
    rng = np.random.default_rng(3)
    rates = rng.random((9, 9)) * (rng.random((9, 9)) < 0.5) + np.roll(np.eye(9), 1, axis=1)
    Q = sp.csr_matrix(generator_of(rates))
    products = DoubleDouble(Q)
    x, low = numbers(5, 9, 3.0), 1e-17 * numbers(6, 9, 3.0)
    exact = [[Fraction(float(q)) for q in row] for row in Q.toarray()]
    for k in range(9):  # the diagonal that makes rows sum to zero exactly
        exact[k][k] = -sum(q for j, q in enumerate(exact[k]) if j != k)
    given = [a + b for a, b in zip(exactly(x), exactly(low), strict=True)]
    flows = [sum(given[i] * exact[i][j] for i in range(9)) for j in range(9)]
    drifts = [sum(exact[i][j] * given[j] for j in range(9)) for i in range(9)]
    for found, true in ((products.net_flow(x, low), flows), (products.drift(x, low), drifts)):
        for value, error, right in zip(found.value, found.error, true, strict=True):
            assert abs(Fraction(float(value)) - right) <= Fraction(float(error))
            # nearly rounded once: a plain product loses some n units of the largest term
            assert error <= 2.0**-52 * abs(value) + 2.0**-90 * float(np.abs(Q).sum()) * 1e3
    change = np.abs(x[:, None] - x[None, :]) * np.abs(rates * (1 - np.eye(9)))
    assert products.variation(np.abs(x), x) == pytest.approx(np.abs(x) @ change.sum(axis=1))


def test_a_mean_lies_within_its_bound_where_terms_cancel() -> None:
    x, low, f = numbers(7, 200, 4.0), 1e-17 * numbers(8, 200), numbers(9, 200, 4.0)
    exact = sum((a + b) * c for a, b, c in zip(exactly(x), exactly(low), exactly(f), strict=True))
    value, error = mean(x, low, f)
    assert abs(Fraction(value) - exact) <= Fraction(error)
    assert error <= 2.0**-51 * abs(value) + 2.0**-90 * float(np.abs(x * f).sum())


def test_the_excess_of_a_distribution_is_what_it_has_beyond_one() -> None:
    value, error = excess(np.full(4, 0.25), np.array([0.0, 2.0**-70, 0.0, 0.0]))
    assert abs(value - 2.0**-70) <= error < 2.0**-100


# Inner products of long vectors.


def test_inner_products():
    x, y = np.random.default_rng(1).standard_normal((2, 20_000))
    assert inner(x, y) == pytest.approx(float(np.sum(x * y)), abs=1e-10)
    assert norm(x) == pytest.approx(float(np.linalg.norm(x)), rel=1e-13)
