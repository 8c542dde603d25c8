"""Uniformization against closed forms and matrix exponentials."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

from markov import MM1K, stationary, transient


def random_generator(
    n: int, spread: float, density: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    Q = np.exp(spread * rng.normal(size=(n, n))) * (rng.random((n, n)) < density)
    np.fill_diagonal(Q, 0.0)
    return np.asarray(Q - np.diag(Q.sum(axis=1)))


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("time", [0.01, 1.0, 30.0])
def test_bound_holds_against_the_matrix_exponential(n: int, spread: float, time: float) -> None:
    Q = random_generator(n, spread, 0.5, np.random.default_rng([n, int(spread)]))
    found = transient(Q, [time / 3, time], start=0)
    for row, moment, bound in zip(found.pi, found.times, found.error_bound, strict=True):
        exact = scipy.linalg.expm(Q * moment)[0]
        # expm's own error: a few units of rounding times the norm of Q t
        own = 1e-15 * n * np.abs(Q).sum(axis=1).max() * time
        assert 0.5 * np.abs(row - exact).sum() <= bound + own
        assert bound <= 1e-9


def test_occupancy_is_the_integral_of_the_distribution() -> None:
    Q = random_generator(12, 1.0, 0.5, np.random.default_rng(5))
    found = transient(Q, [0.5, 2.0, 5.0], start=3)
    n = len(Q)
    block = np.block([[Q, np.eye(n)], [np.zeros((n, 2 * n))]])
    for occupied, moment, bound in zip(
        found.occupancy, found.times, found.occupancy_error, strict=True
    ):
        exact = scipy.linalg.expm(block * moment)[3, n:]
        assert 0.5 * np.abs(occupied - exact).sum() <= bound + 1e-12
        assert occupied.sum() == pytest.approx(moment, abs=1e-11)


def test_pure_birth_at_equal_rates_is_poisson_up_to_the_last_state() -> None:
    n = 60
    Q = np.diag([-1.0] * n + [0.0]) + np.diag([1.0] * n, 1)
    found = transient(Q, [4.0], start=0)
    exact = np.exp(-4.0) * np.cumprod(np.concatenate([[1.0], 4.0 / np.arange(1, n)]))
    np.testing.assert_allclose(found.pi[0, :n], exact, rtol=0.0, atol=float(found.error_bound[0]))


def test_reversed_time_gives_the_same_probabilities_of_a_reversible_chain() -> None:
    # detailed balance: pi_i P_ij(t) = pi_j P_ji(t)
    answer = stationary(MM1K(capacity=12))
    forth = transient(answer.chain, [0.3], start=(2,))
    back = transient(answer.chain, [0.3], start=(7,))
    assert answer.pi[2] * forth.pi[0, 7] == pytest.approx(answer.pi[7] * back.pi[0, 2], rel=1e-10)
