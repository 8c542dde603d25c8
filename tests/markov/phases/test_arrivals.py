"""Markovian arrival processes: closed forms, fits to streams, and MAP/PH/1 queues."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from markov import (
    MAP,
    PhaseQueue,
    PhaseType,
    fit_map,
    phase_type_of,
    stationary,
    stationary_by_level,
)
from markov.errors import FitWarning


@pytest.fixture
def on_off():
    return MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 0.0])


def test_the_poisson_process_has_no_memory():
    found = MAP.poisson(3.0)
    assert (found.rate, found.interval.scv) == (3.0, pytest.approx(1.0))
    assert found.dispersion == pytest.approx(1.0)
    np.testing.assert_allclose(found.autocorrelation(3), 0.0, atol=1e-14)


def test_a_renewal_process_has_its_intervals_and_their_scv_as_dispersion():
    interval = phase_type_of(0.5, 0.3)
    found = MAP.renewal(interval)
    assert found.rate == pytest.approx(2.0)
    assert found.interval.scv == pytest.approx(0.3)
    assert found.dispersion == pytest.approx(0.3, rel=1e-10)
    np.testing.assert_allclose(found.autocorrelation(3), 0.0, atol=1e-12)


def test_an_on_off_source_has_the_known_dispersion(on_off):
    """1 + 2 r (1 - on) / (a + b) with rate r while on: W. Fischer, K. Meier-Hellstern, 1993."""
    on = 0.5 / 1.5
    assert on_off.rate == pytest.approx(30.0 * on)
    assert on_off.dispersion == pytest.approx(1.0 + 2.0 * 30.0 * (1.0 - on) / 1.5)


def test_superposed_streams_add_rates_and_variances(on_off):
    other = MAP.correlated(0.2, 4.0, 0.2)
    both = on_off + other
    assert both.rate == pytest.approx(on_off.rate + other.rate)
    variance = on_off.rate * on_off.dispersion + other.rate * other.dispersion
    assert both.dispersion * both.rate == pytest.approx(variance, rel=1e-11)


def test_correlated_intervals_are_as_asked():
    found = MAP.correlated(0.2, 4.0, 0.3)
    assert found.interval.mean == pytest.approx(0.2)
    assert found.interval.scv == pytest.approx(4.0)
    ratio = 0.3 / (0.5 * (1.0 - 1.0 / 4.0))
    np.testing.assert_allclose(found.autocorrelation(5), 0.3 * ratio ** np.arange(5), rtol=1e-10)
    total = 2.0 * 4.0 * 0.3 / (1.0 - ratio)  # dispersion: scv (1 + 2 sum of correlations)
    assert found.dispersion == pytest.approx(4.0 + total, rel=1e-10)


def test_correlations_out_of_reach_are_refused(on_off):
    with pytest.raises(ValueError, match=r"correlation = 0\.4"):
        MAP.correlated(1.0, 4.0, 0.4)
    with pytest.raises(ValueError, match=r"scv = 0\.5"):
        MAP.correlated(1.0, 0.5, 0.1)
    with pytest.raises(TypeError):
        on_off + PhaseType.exponential(1.0)


# Fitted to streams that were drawn from known ones.


SOURCE = MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 2.0])


def drawn(process: MAP, count: int, seed: int) -> np.ndarray:
    """Return intervals of a process, by its jumps one after the other."""
    rng, m = np.random.default_rng(seed), process.order
    rates = -np.diag(process.D0)
    jumps = np.hstack([process.D0 + np.diag(rates), process.D1]) / rates[:, None]
    ends, phase, since = jumps.cumsum(axis=1), 0, 0.0
    found: list[float] = []
    while len(found) < count:
        since += rng.exponential(1.0 / rates[phase])
        jump = int(np.searchsorted(ends[phase], rng.random()))
        phase = jump % m
        if jump >= m:
            found.append(since)
            since = 0.0
    return np.array(found)


def test_a_fit_is_at_least_as_likely_as_the_process_that_the_intervals_are_from() -> None:
    intervals = drawn(SOURCE, 1000, seed=3)
    found = fit_map(intervals, phases=2)
    assert found.converged
    assert found.log_likelihood >= SOURCE.log_likelihood(intervals)
    assert found.log_likelihood == pytest.approx(found.process.log_likelihood(intervals), rel=1e-12)
    renewal = fit_map(np.random.default_rng(1).permutation(intervals), phases=2)
    assert renewal.log_likelihood < found.log_likelihood - 30.0  # the order carries information
    # four standard deviations of the mean of so many correlated intervals
    deviation = math.sqrt(SOURCE.dispersion / (len(intervals))) / SOURCE.rate
    assert 1.0 / found.process.rate == pytest.approx(1.0 / SOURCE.rate, abs=4.0 * deviation)


@pytest.mark.filterwarnings("ignore::markov.errors.FitWarning")  # few rounds
def test_the_likelihood_never_falls() -> None:
    intervals = drawn(SOURCE, 400, seed=5)
    found = [fit_map(intervals, phases=3, rounds=n).log_likelihood for n in (1, 2, 4, 8, 16)]
    assert all(after >= before for before, after in itertools.pairwise(found))


def test_eigenvectors_that_coincide() -> None:
    erlang = MAP.renewal(PhaseType.erlang(2, mean=1.0))
    times = np.array([0.1, 0.7, 1.9])
    expected = np.log(4.0 * times * np.exp(-2.0 * times)).sum()
    assert erlang.log_likelihood(times) == pytest.approx(expected, rel=1e-12)


def test_the_likelihood_of_intervals_that_are_very_short_or_far_apart() -> None:
    """A sum of exponential times of rates 1, 2, 3, ..: n (1 - e^-t)^(n - 1) e^-t is the density of their maximum."""
    for n in (4, 6, 8):
        total = PhaseType.exponential(float(n))
        for rate in range(n - 1, 0, -1):
            total += PhaseType.exponential(float(rate))
        for t in (1e-5, 1e-3, 40.0):
            expected = math.log(n) + (n - 1) * math.log(-math.expm1(-t)) - t
            assert MAP.renewal(total).log_likelihood([t]) == pytest.approx(expected, rel=1e-12)
    rare = MAP.renewal(PhaseType.exponential(1e-9) + PhaseType.exponential(3.6e9))
    assert rare.log_likelihood([1e9]) == pytest.approx(math.log(1e-9) - 1.0, rel=1e-12)
    assert rare.interval.cdf(8760.0) == pytest.approx(8.76e-6, rel=1e-5)


@pytest.mark.filterwarnings("ignore::markov.errors.FitWarning")  # two rounds
def test_eigenvectors_and_exponentials_give_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    intervals = drawn(SOURCE, 25, seed=7)
    by_vectors = fit_map(intervals, phases=2, rounds=2)
    monkeypatch.setattr("markov.phases.arrivals.MAX_CONDITION", 0.0)
    found = fit_map(intervals, phases=2, rounds=2)
    np.testing.assert_allclose(found.process.D0, by_vectors.process.D0, rtol=1e-8)
    np.testing.assert_allclose(found.process.D1, by_vectors.process.D1, rtol=1e-8, atol=1e-12)


def test_one_phase_is_the_poisson_process() -> None:
    intervals = np.random.default_rng(2).gamma(2.0, 0.1, 50)
    with pytest.warns(FitWarning, match="scv of the fit differs"):
        found = fit_map(intervals, phases=1)
    assert found.process.rate == pytest.approx(1.0 / intervals.mean(), rel=1e-12)
    log = 50.0 * (math.log(found.process.rate) - 1.0)
    assert found.log_likelihood == pytest.approx(log, rel=1e-12)


# MAP/PH/1 queues against Pollaczek and Khinchine, G/M/1, and plain elimination.


@pytest.mark.parametrize("scv", [0.2, 1.0, 5.0])
def test_poisson_arrivals_give_pollaczek_and_khinchines_mean(scv):
    answer = stationary_by_level(PhaseQueue(MAP.poisson(0.8), phase_type_of(1.0, scv)))
    assert answer["mean_customers"] == pytest.approx(0.8 + 0.64 * (1.0 + scv) / 0.4, rel=1e-9)
    assert answer["time_in_system"] == pytest.approx(answer["mean_customers"] / 0.8, rel=1e-12)


def test_renewal_arrivals_give_the_root_of_gi_m_1():
    """P(n) falls by sigma = A*(mu (1 - sigma)) a level; Erlang's transform is (k m / (k m + s))^k."""
    answer = stationary_by_level(PhaseQueue(PhaseType.erlang(3, mean=1.25), PhaseType.exponential(1.0)))
    sigma = brentq(lambda x: (2.4 / (2.4 + 1.0 - x)) ** 3 - x, 0.0, 0.99)
    assert answer.decay_rate == pytest.approx(sigma, rel=1e-10)
    assert answer["mean_customers"] == pytest.approx(0.8 / (1.0 - sigma), rel=1e-9)


def test_correlated_arrivals_wait_longer():
    service = phase_type_of(0.7, 0.5)
    means = [
        stationary_by_level(PhaseQueue(MAP.correlated(1.0, 3.0, c), service))["mean_customers"] for c in (0.0, 0.1, 0.3)
    ]
    assert means == sorted(means)
    renewal = stationary_by_level(PhaseQueue(phase_type_of(1.0, 3.0), service))
    assert means[0] == pytest.approx(renewal["mean_customers"], rel=1e-10)


def test_a_finite_queue_loses_what_its_flow_balance_says():
    stream, service = MAP.modulated([[-1.0, 1.0], [2.0, -2.0]], [3.0, 0.5]), phase_type_of(0.4, 0.3)
    answer = stationary(PhaseQueue(stream, service, capacity=6))
    busy = 1.0 - answer.pi[answer.states.n == 0].sum()
    assert answer["throughput"] == pytest.approx(busy / service.mean, rel=1e-12)
    assert answer["loss_probability"] == pytest.approx(1.0 - answer["throughput"] / stream.rate, rel=1e-12)


def test_the_generator_is_the_sum_of_kronecker_products():
    """Of M. F. Neuts' blocks, for one customer and more."""
    stream, service = MAP.correlated(1.0, 3.0, 0.1), phase_type_of(0.7, 0.4)
    Q = stationary(PhaseQueue(stream, service, capacity=3)).chain.Q.toarray()
    A, B = stream.order, service.order
    A1 = np.kron(stream.D0, np.eye(B)) + np.kron(np.eye(A), service.T)
    inner = slice(A * B * 2, A * B * 3) if len(Q) == 4 * A * B else slice(A + A * B, A + 2 * A * B)
    np.testing.assert_allclose(Q[inner, inner], A1, atol=1e-14)
