"""Arrival processes fitted to streams that were drawn from known ones."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from markov import MAP, PhaseType, fit_map

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


def test_the_likelihood_never_falls() -> None:
    intervals = drawn(SOURCE, 400, seed=5)
    found = [fit_map(intervals, phases=3, rounds=n).log_likelihood for n in (1, 2, 4, 8, 16)]
    assert all(after >= before for before, after in itertools.pairwise(found))


def test_eigenvectors_that_coincide() -> None:
    erlang = MAP.renewal(PhaseType.erlang(2, mean=1.0))
    times = np.array([0.1, 0.7, 1.9])
    expected = np.log(4.0 * times * np.exp(-2.0 * times)).sum()
    assert erlang.log_likelihood(times) == pytest.approx(expected, rel=1e-12)


def test_eigenvectors_and_exponentials_give_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    intervals = drawn(SOURCE, 100, seed=7)
    by_vectors = fit_map(intervals, phases=2, rounds=4)
    monkeypatch.setattr("markov.phases.passes.CONDITION", 0.0)
    found = fit_map(intervals, phases=2, rounds=4)
    np.testing.assert_allclose(found.process.D0, by_vectors.process.D0, rtol=1e-8)
    np.testing.assert_allclose(found.process.D1, by_vectors.process.D1, rtol=1e-8, atol=1e-12)


def test_one_phase_is_the_poisson_process() -> None:
    intervals = np.random.default_rng(2).gamma(2.0, 0.1, 50)
    found = fit_map(intervals, phases=1)
    assert found.process.rate == pytest.approx(1.0 / intervals.mean(), rel=1e-12)
    log = 50.0 * (math.log(found.process.rate) - 1.0)
    assert found.log_likelihood == pytest.approx(log, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (np.ones(5), {}, r"intervals has shape \(5,\): with phases = 2 at least 20"),
        (-np.ones(50), {}, "intervals"),
        (np.ones(50), {"phases": 9}, "phases = 9"),
        (np.ones(50), {"rounds": 0}, "rounds = 0"),
    ],
)
def test_bad_input_is_named(given: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_map(given, **settings)
