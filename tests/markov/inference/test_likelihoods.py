"""Log-likelihoods and their gradients against matrix exponentials and many digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from markov import ObservedPath, Panel
from markov.inference.likelihoods import ImpossibleError, log_likelihood, needed_states
from markov.inference.observations import Statistics
from tests.markov.inference.test_estimates import many_servers
from tests.markov.time.exact_exponentials import exact


def test_a_panel_has_the_likelihood_and_gradient_of_matrix_exponentials():
    chain = many_servers(1.3, 0.8).chain
    times = np.array([0.0, 0.4, 1.1, 1.5, 4.0])
    observed = Statistics.of(chain, Panel(times, [0, 1, 3, 3, 0]))
    up, down = np.zeros((2, 7, 7))
    for n in range(7):
        for matrix, target, by in ((up, n + 1, 1.0), (down, n - 1, float(min(n, 2)))):
            if 0 <= target < 7:
                matrix[n, target] = by
                matrix[n, n] = -by
    Q = 1.3 * up + 0.8 * down
    np.testing.assert_allclose(chain.Q.toarray(), Q, rtol=1e-15)
    found = log_likelihood(chain.Q, [sp.csr_matrix(up), sp.csr_matrix(down)], observed)
    value, gradient = 0.0, np.zeros(2)
    for gap, one, other in zip(np.diff(times), [0, 1, 3, 3], [1, 3, 3, 0], strict=True):
        for k, slope in enumerate((up, down)):
            P, change = scipy.linalg.expm_frechet(Q * gap, slope * gap)
            gradient[k] += change[one, other] / P[one, other]
        value += math.log(P[one, other])
    assert abs(found.value - value) <= found.error + 1e-12
    assert found.error < 1e-11
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-10)


def test_an_unlikely_transition_is_within_the_bound():
    """From one end to the other within a time for which that has a probability of 1e-25."""
    rates = np.diag(np.full(6, 0.3), 1) + np.diag(np.full(6, 2.0), -1)
    Q = sp.csr_matrix(rates - np.diag(rates.sum(axis=1)))
    chain = many_servers().chain
    observed = Statistics.of(chain, Panel([0.0, 0.001], [0, 6]))
    found = log_likelihood(Q, [], observed)
    truth = exact(rates, 0.001)[0][6]
    value = math.log(truth.numerator) - math.log(truth.denominator)
    assert value < -50.0
    assert abs(found.value - value) <= found.error < 1e-11


def test_only_states_between_observations_are_needed():
    """A chain that never turns back."""
    Q = sp.csr_matrix(np.diag(np.ones(6), 1) - np.diag([1.0] * 6 + [0.0]))
    chain = many_servers().chain
    observed = Statistics.of(chain, Panel([0.0, 1.0], [2, 4]))
    assert np.flatnonzero(needed_states(Q, observed)).tolist() == [2, 3, 4]
    back = Statistics.of(chain, Panel([0.0, 1.0], [4, 2]))
    with pytest.raises(ImpossibleError):
        needed_states(Q, back)
    assert log_likelihood(Q, [], back).value == -math.inf
    direct = Statistics.of(chain, ObservedPath([0.0, 1.0], [2, 4], end=2.0))
    with pytest.raises(ImpossibleError):
        needed_states(Q, direct)
    assert log_likelihood(Q, [], direct).value == -math.inf
