"""Hypothesis tests against SciPy's, and their levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from validation.statistics import (
    Estimate,
    chi2_test,
    normality,
    of_runs,
    rank_test,
    variance_test,
    welch_test,
)


def estimates_of(samples: NDArray[np.float64]) -> list[Estimate]:
    return [of_runs(row) for row in samples]


def test_scores_of_batch_means_are_standard_normal() -> None:
    samples = np.random.default_rng(2).normal(7.0, 3.0, (4000, 10))
    scores = [e.score(7.0) for e in estimates_of(samples)]
    assert stats.kstest(scores, "norm").pvalue > 0.01
    assert chi2_test(scores).p > 0.01
    assert chi2_test([z + 0.5 for z in scores]).p < 1e-6


def test_chi2_is_scipys() -> None:
    test = chi2_test([1.0, -2.0, 0.5])
    assert (test.statistic, test.dof) == (5.25, 3)
    assert test.p == pytest.approx(stats.chi2.sf(5.25, 3))


def test_welch_of_two_is_the_t_test() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.0, 1.0, 12), rng.normal(0.4, 3.0, 12)
    test = welch_test(estimates_of(np.array([a, b])))
    assert test.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_welch_of_three_is_scipys() -> None:
    rng = np.random.default_rng(5)
    samples = np.array([1.0, 2.0, 4.0])[:, None] * rng.normal(size=(3, 6)) + [[0.0], [1.0], [2.0]]
    expected = stats.f_oneway(*samples, equal_var=False).pvalue
    assert welch_test(estimates_of(samples)).p == pytest.approx(expected)


def test_welch_of_four_has_its_level() -> None:
    rng = np.random.default_rng(4)
    scale = np.array([1.0, 2.0, 3.0, 4.0])[:, None]
    p = [welch_test(estimates_of(scale * rng.normal(size=(4, 40)))).p for _ in range(1000)]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert welch_test([Estimate(m, 0.1, 39) for m in (0.0, 0.0, 0.0, 1.0)]).p < 1e-6


@pytest.mark.parametrize(
    ("scale", "shift", "holds"),
    [(1.0, 0.0, True), (1.3, 0.0, False), (0.7, 0.0, False), (1.0, 0.4, False)],
)
def test_scores_that_are_not_standard_normal_are_seen(
    scale: float, shift: float, holds: bool
) -> None:
    scores = np.random.default_rng(7).normal(shift, scale, 300)
    assert normality(list(scores)).holds(4.0, 6) is holds
    assert not normality([*scores, 4.1]).holds(4.0, 6)


def test_squares_of_two_scores_have_the_exponential_law() -> None:
    """Chi-square with two degrees of freedom: P(X > x) = exp(-x/2)."""
    found = normality([3.0, 0.5])
    assert found.squares == 9.25
    assert found.p_squares == pytest.approx(2.0 * np.exp(-9.25 / 2.0), rel=1e-12)  # rounding
    assert normality([0.1, 0.2]).p_squares == pytest.approx(-2.0 * np.expm1(-0.025), rel=1e-12)


def test_variance_test_has_its_level() -> None:
    rng = np.random.default_rng(8)
    draws = rng.normal(size=(500, 10)), rng.normal(size=(500, 91))
    p = [variance_test(a.var(ddof=1), 9, b.var(ddof=1), 90) for a, b in zip(*draws, strict=True)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_rank_test_sees_an_order_that_intervals_of_means_hide() -> None:
    """Shares of scenario 4: Tahoe's seven low runs and a high one, Reno's all in the middle."""
    tahoe = np.array([0.031, 0.033, 0.305, 0.036, 0.029, 0.032, 0.034, 0.030])
    reno = np.array([0.171, 0.172, 0.180, 0.173, 0.240, 0.174, 0.176, 0.178])
    assert rank_test(reno, tahoe) < 0.01 < rank_test(tahoe, reno)
    assert rank_test(reno, tahoe) == pytest.approx(
        stats.mannwhitneyu(reno, tahoe, alternative="greater", method="exact").pvalue
    )
