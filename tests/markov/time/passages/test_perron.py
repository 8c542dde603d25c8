"""Quasi-stationary distributions: formulas, dense eigenvectors, and intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from markov import MM1K, passage, quasi_stationary


def killed_walk(n: int, birth: float, death: float) -> np.ndarray:
    """States 0 (absorbing) to n."""
    Q = np.diag([0.0] + [birth] * (n - 1), 1) + np.diag([death] * n, -1)
    return Q - np.diag(Q.sum(axis=1))


def test_a_simple_walk_has_the_decay_rate_of_the_cosine_formula() -> None:
    # birth = death = 1, both ends absorbing: 2 (1 - cos(pi / n))
    n = 30
    Q = np.diag([1.0] * n, 1) + np.diag([1.0] * n, -1)
    Q[0] = Q[-1] = 0.0
    Q -= np.diag(Q.sum(axis=1))
    found = quasi_stationary(Q)
    exact = 4.0 * np.sin(np.pi / (2 * n)) ** 2
    assert found.decay_rate.lower <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.decay_rate.upper
    assert found.decay_rate.error <= 1e-11 * exact
    shape = np.sin(np.pi * np.arange(n + 1) / n)
    np.testing.assert_allclose(found.pi, shape / shape.sum(), atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_have_the_left_eigenvector_of_dense_algebra(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.1), 1)
    Q += np.diag(np.full(n - 1, 0.1), -1)
    Q[0] = 0.0
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    values, left = scipy.linalg.eig(Q[1:, 1:].T)
    k = int(np.argmax(values.real))
    vector = np.abs(left[:, k].real)
    found = quasi_stationary(Q)
    assert found.decay_rate.value == pytest.approx(-values[k].real, rel=1e-11)
    np.testing.assert_allclose(found.pi[1:], vector / vector.sum(), atol=1e-11)


def test_from_it_the_time_to_absorption_is_exponential() -> None:
    Q = killed_walk(12, 1.0, 0.7)
    found = quasi_stationary(Q)
    time = passage(Q, to=0, start=found.pi)
    assert time.mean == pytest.approx(found.mean_time, rel=1e-9)
    assert time.variance == pytest.approx(found.mean_time**2, rel=1e-8)


def test_a_rare_end_has_an_interval_too() -> None:
    model = MM1K(capacity=8, arrival_rate=5.0, service_rate=1.0)
    found = quasi_stationary(model, to=(0,))
    mean = passage(model, to=(0,), start=found.pi).mean  # about 5^8 / 4
    assert found.decay_rate.lower * (1 - 1e-9) <= 1.0 / mean <= found.decay_rate.upper * (1 + 1e-9)
    assert 0.0 < found.decay_rate.lower <= found.decay_rate.value
    assert "decay rate" in repr(found)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="say in to="):
        quasi_stationary(MM1K(capacity=3))
    with pytest.raises(ValueError, match="2 classes"):
        quasi_stationary(np.array([[-1.0, 1, 0], [0, -1, 1], [0, 0, 0]]))
    with pytest.raises(ValueError, match="no state is left"):
        quasi_stationary(np.array([[-1.0, 1], [1, -1]]), to=[0, 1])
