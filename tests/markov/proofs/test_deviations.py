"""Deviations and asymptotic variances: formulas, dense matrices, simulated means."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MM1K, Multilevel, PauseTandem, stationary
from tests.markov.conftest import generator_of


def random_generator(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.2), 1)
    Q[-1, 0] += 0.3
    return generator_of(Q)


def dense_deviation(Q: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """(Pi - Q)^-1 - Pi."""
    Pi = np.tile(pi, (len(pi), 1))
    return np.linalg.inv(Pi - Q) - Pi


def test_the_variance_of_a_queue_length_is_that_of_whitt() -> None:
    # 2 rho (1 + rho) / (mu (1 - rho)^4), of a queue without end
    rho, mu = 0.5, 10.0
    model = MM1K(capacity=120, arrival_rate=rho * mu, service_rate=mu)
    found = stationary(model).variance(np.arange(121.0))
    assert found.value == pytest.approx(2 * rho * (1 + rho) / (mu * (1 - rho) ** 4), rel=1e-12)
    assert found.error <= 1e-10


@pytest.mark.parametrize("seed", range(10))
def test_variances_of_random_chains_are_those_of_the_deviation_matrix(seed: int) -> None:
    Q = random_generator(15, seed)
    answer = stationary(Q)
    f = np.random.default_rng(seed + 50).normal(size=15)
    D = dense_deviation(Q, answer.pi)
    np.testing.assert_allclose(answer.deviation(f), D @ f, rtol=0, atol=1e-11)
    exact = 2.0 * answer.pi @ ((f - answer.pi @ f) * (D @ f))
    found = answer.variance(f)
    assert found.lower - 1e-12 * exact <= exact <= found.upper + 1e-12 * exact
    assert found.error <= 1e-11 * exact


def test_methods_that_iterate_enclose_the_same_variance() -> None:
    model = PauseTandem(buffers=(20, 20), high_threshold=15)
    direct = stationary(model).variance("throughput")
    other = stationary(model, Multilevel()).variance("throughput")
    assert max(direct.lower, other.lower) <= min(direct.upper, other.upper)
    assert direct.error <= 1e-9 * direct.value


def test_a_ratio_has_the_variance_of_the_delta_method() -> None:
    Q = random_generator(8, 3)
    answer = stationary(Q)
    top, bottom = np.arange(8.0), 1.0 + np.arange(8.0) % 3
    ratio = (answer.pi @ top) / (answer.pi @ bottom)
    expected = answer.variance(top - ratio * bottom).value / (answer.pi @ bottom) ** 2
    assert answer.variance((top, bottom)).value == pytest.approx(expected, rel=1e-12)


def test_the_variance_predicts_the_spread_of_simulated_means() -> None:
    """Of 400 independent paths, with a chi-squared interval that fails once in 10^6."""
    import scipy.stats

    a, b, T, runs = 1.0, 3.0, 200.0, 400
    rng = np.random.default_rng(7)
    up = rng.random(runs) < b / (a + b)
    time, earned = np.zeros(runs), np.zeros(runs)
    while (time < T).any():
        stay = np.minimum(rng.exponential(1.0, runs) / np.where(up, a, b), T - time)
        earned += np.where(up, stay, 0.0)
        time, up = time + stay, ~up
    spread = np.var(earned / T, ddof=1) * T
    predicted = stationary([[-a, a], [b, -b]]).variance([1.0, 0.0]).value
    low, high = scipy.stats.chi2(runs - 1).ppf([5e-7, 1 - 5e-7]) / (runs - 1)
    assert low <= spread / predicted <= high
