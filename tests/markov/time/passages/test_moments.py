"""Moments of passage times against dense and rational linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from markov import passage
from tests.markov.conftest import generator_of, solved_exactly


def random_chain(n: int, seed: int, spread: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.4) * 10.0 ** (spread * rng.random((n, n)))
    return generator_of(Q + np.diag(np.full(n - 1, 0.1), 1))  # each state leads to the last


@pytest.mark.parametrize("seed", range(8))
def test_moments_of_random_chains_are_those_of_dense_solves(seed: int) -> None:
    Q = random_chain(12, seed, spread=3.0)
    start = np.random.default_rng(seed).dirichlet(np.ones(12))
    found = passage(Q, to=11, start=start)
    A = -Q[:11, :11]
    m = scipy.linalg.solve(A, np.ones(11))
    second = scipy.linalg.solve(A, 2.0 * m)
    mean = start[:11] @ m
    assert found.mean == pytest.approx(mean, rel=1e-10)
    assert found.variance == pytest.approx(start[:11] @ second - mean**2, rel=1e-8)
    assert found.probability == pytest.approx(1.0, abs=1e-15)
    rewards = np.random.default_rng(seed + 100).random(12)
    assert found.reward(rewards).value == pytest.approx(
        start[:11] @ scipy.linalg.solve(A, rewards[:11]), rel=1e-10
    )


@pytest.mark.parametrize("coupling", [1.0, 1e-6, 1e-13])
def test_bounds_hold_against_rational_arithmetic_at_any_stiffness(coupling: float) -> None:
    rates = np.array([[0, 3.0, coupling], [2.0, 0, 0.7], [coupling, 1.5, 0]])
    ends = [0.0, coupling, 0.0]
    Q = np.zeros((4, 4))
    Q[:3, :3], Q[:3, 3] = rates, ends
    found = passage(generator_of(Q), to=3, start=0)
    exit_rates = [sum(map(Fraction, [*rates[k], ends[k]])) for k in range(3)]
    A = [[exit_rates[k] if j == k else -Fraction(rates[k, j]) for j in range(3)] for k in range(3)]
    m = solved_exactly(A, [1] * 3)
    second = solved_exactly(A, [2 * x for x in m])
    assert abs(Fraction(found.mean) - m[0]) <= Fraction(found.mean_error)
    variance = second[0] - m[0] ** 2
    assert abs(Fraction(found.variance) - variance) <= Fraction(found.variance_error)
    assert found.mean_error <= 1e-12 * found.mean


def test_a_set_that_may_be_missed_has_no_mean_but_a_conditional_one() -> None:
    Q = np.array([[-3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = passage(Q, to=1, start=0)
    assert found.probability == pytest.approx(1 / 3, abs=1e-15)
    assert found.mean == np.inf
    assert found.conditional_mean.lower <= 1 / 3 <= found.conditional_mean.upper
    assert found.quantile(0.5).value == np.inf
    assert found.distribution([1.0]).cdf[0] == pytest.approx((1 - np.exp(-3.0)) / 3, abs=1e-14)
