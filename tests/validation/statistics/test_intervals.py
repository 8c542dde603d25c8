"""Intervals of means, and how much runs move."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from validation.statistics import bootstrap_interval, half_width, interval, quantile, swing


def test_interval_is_students() -> None:
    sample = np.random.default_rng(1).normal(3.0, 2.0, 16)
    expected = stats.t.interval(0.95, 15, sample.mean(), stats.sem(sample))
    assert interval(sample) == pytest.approx(expected)
    assert half_width(sample, 0.9) == pytest.approx(stats.t.ppf(0.95, 15) * stats.sem(sample))
    assert quantile(15) == stats.t.ppf(0.975, 15)


def test_bootstrap_covers_the_mean_of_a_skewed_law_within_its_range() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for k in range(100):
        sample = rng.beta(0.5, 2.0, 20)
        low, high = bootstrap_interval(sample, seed=k)
        assert sample.min() <= low <= high <= sample.max()
        covered += low <= 0.2 <= high
    assert covered >= 85  # of 95 expected; 20 values are few


def test_bootstrap_of_equal_runs_is_a_point() -> None:
    assert bootstrap_interval(np.full(5, 0.5)) == (0.5, 0.5)


def test_swing_is_the_sample_standard_deviation_over_time() -> None:
    series = np.random.default_rng(3).random((4, 60))
    found = swing(series)
    assert found.absolute == pytest.approx(pd.DataFrame(series.T).std().to_numpy())
    assert found.relative == pytest.approx(series.std(axis=1, ddof=1) / series.mean(axis=1))
    assert found.runs == 4


def test_swing_at_a_bin_is_that_of_the_means_of_the_bins() -> None:
    series = np.random.default_rng(4).random((2, 25))
    means = series[:, :24].reshape(2, 8, 3).mean(axis=2)
    assert swing(series, bin=3).absolute == pytest.approx(means.std(axis=1, ddof=1))
