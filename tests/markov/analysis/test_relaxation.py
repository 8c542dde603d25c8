"""Autocovariances and mixing times: against the matrix exponential and the asymptotic variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from markov import MM1K, PauseTandem, autocovariance, mixing_time, stationary, transient

SMALL = PauseTandem(buffers=(3, 4), high_threshold=3)


def test_covariances_are_those_of_the_matrix_exponential():
    answer, lags = stationary(SMALL), np.array([0.0, 0.01, 0.1, 1.0])
    found = autocovariance(answer, "throughput", lags)
    f = 15.0 * (answer.states.j > 0)
    g, Q = f - answer.throughput, answer.chain.Q.toarray()
    exact = [answer.pi * g @ expm(Q * t) @ g for t in lags]
    assert (np.abs(found.covariance - exact) <= found.error + 1e-13 * abs(exact[0])).all()
    assert float(found.error.max()) < 1e-9
    assert found.correlation[0] == pytest.approx(1.0, abs=1e-14)


def test_twice_the_integral_of_the_covariance_is_the_asymptotic_variance():
    answer = stationary(MM1K(capacity=4))

    def at(t):
        return float(autocovariance(answer, [0.0, 1.0, 2.0, 3.0, 4.0], t).covariance[0])

    area, _ = quad(at, 0.0, 8.0, epsabs=1e-9)
    assert 2.0 * area == pytest.approx(answer.variance([0.0, 1.0, 2.0, 3.0, 4.0]).value, rel=1e-6)


def test_transient_states_do_not_count():
    answer = stationary([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 3.0, -3.0]])
    found = autocovariance(answer, [7.0, 1.0, 0.0], [0.0, 0.5])
    np.testing.assert_allclose(found.covariance, [3 / 16, 3 / 16 * math.exp(-2.0)], rtol=1e-12)


@pytest.mark.parametrize("within", [0.3, 0.01, 1e-6])
def test_the_distance_after_the_mixing_time_is_what_was_asked(within):
    found, answer = mixing_time(SMALL, within), stationary(SMALL)
    assert found.lower <= found.value <= found.upper
    assert found.relative_error < 1e-6
    there = transient(SMALL, found.value).pi[0]
    assert 0.5 * np.abs(there - answer.pi).sum() == pytest.approx(within, rel=1e-5)


def test_a_start_in_equilibrium_needs_no_time():
    assert mixing_time(SMALL, 0.1, start=stationary(SMALL).pi).value == 0.0
