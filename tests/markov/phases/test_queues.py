"""MAP/PH/1 queues against Pollaczek and Khinchine, G/M/1, and plain elimination."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from markov import MAP, PhaseQueue, PhaseType, phase_type_of, stationary, stationary_by_level


@pytest.mark.parametrize("scv", [0.2, 1.0, 5.0])
def test_poisson_arrivals_give_pollaczek_and_khinchines_mean(scv):
    answer = stationary_by_level(PhaseQueue(MAP.poisson(0.8), phase_type_of(1.0, scv)))
    assert answer["mean_customers"] == pytest.approx(0.8 + 0.64 * (1.0 + scv) / 0.4, rel=1e-9)
    assert answer["time_in_system"] == pytest.approx(answer["mean_customers"] / 0.8, rel=1e-12)


def test_renewal_arrivals_give_the_root_of_gi_m_1():
    """P(n) falls by sigma = A*(mu (1 - sigma)) a level; Erlang's transform is (k m / (k m + s))^k."""
    answer = stationary_by_level(
        PhaseQueue(PhaseType.erlang(3, mean=1.25), PhaseType.exponential(1.0))
    )
    sigma = brentq(lambda x: (2.4 / (2.4 + 1.0 - x)) ** 3 - x, 0.0, 0.99)
    assert answer.decay_rate == pytest.approx(sigma, rel=1e-10)
    assert answer["mean_customers"] == pytest.approx(0.8 / (1.0 - sigma), rel=1e-9)


def test_correlated_arrivals_wait_longer():
    service = phase_type_of(0.7, 0.5)
    means = [
        stationary_by_level(PhaseQueue(MAP.correlated(1.0, 3.0, c), service))["mean_customers"]
        for c in (0.0, 0.1, 0.3)
    ]
    assert means == sorted(means)
    renewal = stationary_by_level(PhaseQueue(phase_type_of(1.0, 3.0), service))
    assert means[0] == pytest.approx(renewal["mean_customers"], rel=1e-10)


def test_a_finite_queue_loses_what_its_flow_balance_says():
    stream, service = MAP.modulated([[-1.0, 1.0], [2.0, -2.0]], [3.0, 0.5]), phase_type_of(0.4, 0.3)
    answer = stationary(PhaseQueue(stream, service, capacity=6))
    busy = 1.0 - answer.pi[answer.states.n == 0].sum()
    assert answer["throughput"] == pytest.approx(busy / service.mean, rel=1e-12)
    assert answer["loss_probability"] == pytest.approx(
        1.0 - answer["throughput"] / stream.rate, rel=1e-12
    )


def test_the_generator_is_the_sum_of_kronecker_products():
    """Of M. F. Neuts' blocks, for one customer and more."""
    stream, service = MAP.correlated(1.0, 3.0, 0.1), phase_type_of(0.7, 0.4)
    Q = stationary(PhaseQueue(stream, service, capacity=3)).chain.Q.toarray()
    A, B = stream.order, service.order
    A1 = np.kron(stream.D0, np.eye(B)) + np.kron(np.eye(A), service.T)
    inner = slice(A * B * 2, A * B * 3) if len(Q) == 4 * A * B else slice(A + A * B, A + 2 * A * B)
    np.testing.assert_allclose(Q[inner, inner], A1, atol=1e-14)


def test_an_overloaded_queue_without_a_limit_is_refused():
    with pytest.raises(ValueError, match="drift"):
        stationary_by_level(PhaseQueue(MAP.poisson(1.2), PhaseType.exponential(1.0)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arrivals": 3.0}, "arrivals = 3.0: must be a MAP"),
        ({"service": 3.0}, "service = 3.0: must be a PhaseType"),
        ({"capacity": 0}, "capacity = 0"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PhaseQueue(**given)
