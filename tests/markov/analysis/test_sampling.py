"""Simulated paths: against exact distributions, with tests that fail once in 10^6."""

from __future__ import annotations

import numpy as np
import scipy.stats

from markov import MM1K, PauseTandem, paths, stationary, transient

RARE = 1e-6


def test_states_at_a_time_have_the_distribution_of_uniformization() -> None:
    model = MM1K(capacity=6)
    exact = transient(model, [0.3], start=(2,)).pi[0]
    found = paths(model, 0.5, start=(2,), runs=20_000, seed=11)
    counts = np.bincount(found.at([0.3]).ravel(), minlength=7)
    assert scipy.stats.chisquare(counts, exact * counts.sum()).pvalue > RARE


def test_time_averages_have_the_asymptotic_mean_and_variance() -> None:
    answer = stationary(PauseTandem(buffers=(3, 4), high_threshold=3))
    runs, T = 500, 100.0
    found = paths(answer.chain, T, start=answer.pi, runs=runs, seed=5)
    means = found.time_average("throughput")
    variance = answer.variance("throughput").value / T
    normal = (means.mean() - answer["throughput"]) / np.sqrt(variance / runs)
    assert abs(normal) < scipy.stats.norm.isf(RARE / 2)
    low, high = scipy.stats.chi2(runs - 1).ppf([RARE / 2, 1 - RARE / 2]) / (runs - 1)
    # the time is finite: the variance is that of T -> infinity up to O(1 / T)
    assert 0.9 * low <= np.var(means, ddof=1) / variance <= 1.1 * high


def test_paths_jump_along_transitions_and_end_in_absorbing_states() -> None:
    Q = np.array([[-2.0, 2.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    found = paths(Q, 1e6, start=0, runs=50, seed=2)
    for run in range(50):
        times, states = found.path(run)
        assert states.tolist() == [0, 1, 2]
        assert times[0] == 0.0
        assert (np.diff(times) > 0.0).all()


def test_a_seed_gives_the_same_paths_again() -> None:
    one, two = (paths(MM1K(capacity=3), 5.0, start=(0,), runs=4, seed=9) for _ in range(2))
    np.testing.assert_array_equal(one.times, two.times)
    np.testing.assert_array_equal(one.states, two.states)
    assert "jumps" in repr(one)
