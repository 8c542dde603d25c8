"""Estimates, intervals, tests of hypotheses, and when they decide."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from hopflow.intervals import half_width, t_quantile
from tests.surface import for_each
from validation import Verdict
from validation.statistics import (
    LEVEL,
    PART,
    Estimate,
    Swing,
    absent,
    below,
    bounds,
    chi2_test,
    combine,
    covers,
    difference,
    everywhere,
    interval,
    monotone,
    mostly,
    normality,
    of_runs,
    rank_test,
    ranked,
    ratio,
    ratio_gain,
    relative_difference,
    settles,
    slope,
    swing,
    swings,
    variance_test,
    weakest,
    welch_test,
    within,
)

# Estimates: Student's intervals, and the errors of sums, ratios and slopes.


def test_intervals_are_students() -> None:
    sample = np.random.default_rng(1).normal(3.0, 2.0, 40)
    mean = of_runs(sample)
    low, high = stats.t.interval(0.95, 39, sample.mean(), stats.sem(sample))
    assert mean.half_width == pytest.approx((high - low) / 2)
    expected = stats.ttest_1samp(sample, 2.5, alternative="greater").pvalue
    assert Estimate(mean.value - 2.5, mean.error, 39).p_positive() == pytest.approx(expected)
    assert stats.norm.sf(mean.score(2.5)) == pytest.approx(expected)
    assert mean.score(mean.value + 1) == pytest.approx(-mean.score(mean.value - 1))
    assert str(Estimate(13.11449, 0.0144, 39)) == "13.114 ± 0.029"


def test_intervals_stay_in_the_possible_range() -> None:
    share = of_runs([0.90, 0.998, 1.0], PART)
    low, high = share.interval
    assert (low, high) == (share.value - share.half_width, 1.0)
    assert share.bars == pytest.approx((share.half_width, 1.0 - share.value))
    assert str(share) == "0.97 (0.82 to 1)"
    assert str(of_runs([0.0, 0.0, 0.03], PART)) == "0.010 (0 to 0.053)"
    assert str(of_runs([0.50, 0.51, 0.52], PART)) == "0.510 ± 0.025"
    assert difference(share, Estimate(0.0, 0.0)).interval[1] > 1.0  # a difference is no part
    assert share.p_positive() == of_runs([0.90, 0.998, 1.0]).p_positive()  # no verdict changes


def test_error_of_a_gain() -> None:
    rng = np.random.default_rng(5)
    on, off = rng.normal(13.7, 0.02, 100_000), rng.normal(13.1, 0.03, 100_000)
    gain = ratio_gain(Estimate(13.7, 0.02), Estimate(13.1, 0.03))
    drawn = 100 * (on / off - 1)
    assert gain.value == pytest.approx(drawn.mean(), abs=0.01)
    assert gain.error == pytest.approx(drawn.std(), rel=0.01)


def test_relative_differences_have_the_sign_of_the_difference() -> None:
    random = np.random.default_rng(88)
    one, other = random.lognormal(0.0, 0.3, (2, 400, 160))
    ratios, differences = (
        sum(everywhere([estimate(a, b)], 0.01) is Verdict.HOLDS for a, b in zip(one, other, strict=True))
        for estimate in (lambda a, b: of_runs(a / b - 1.0), relative_difference)
    )
    assert ratios > 40  # the mean of a ratio exceeds one where neither is larger
    assert differences <= 10  # of 400 at level 0.01


def test_combination() -> None:
    total = combine((Estimate(5.0, 0.3, 39), Estimate(2.0, 0.2, 9)), (1.0, -2.0))
    assert total == Estimate(1.0, 0.5, 9)


def test_slope_is_that_of_the_straight_line() -> None:
    rng = np.random.default_rng(10)
    x = np.array([1.0, 2.0, 4.0, 8.0])
    drawn = 3.0 - 0.5 * x + 0.2 * rng.normal(size=(20_000, 4))
    fitted = np.polyfit(x, drawn.T, 1)[0]
    line = slope([Estimate(3.0 - 0.5 * v, 0.2) for v in x], x.tolist())
    assert line.value == pytest.approx(-0.5)
    assert line.error == pytest.approx(fitted.std(), rel=0.02)


def test_ratio_of_exact_numbers_is_exact() -> None:
    assert ratio(Estimate(6.0, 0.0), Estimate(3.0, 0.0)) == Estimate(2.0, 0.0)
    assert difference(Estimate(6.0, 0.3, 9), Estimate(3.0, 0.4, 5)) == Estimate(3.0, 0.5, 5)


def test_weakest_is_the_least_certain_not_the_smallest() -> None:
    small, noisy = Estimate(0.1, 0.001), Estimate(1.0, 1.0)
    assert weakest([small, noisy]) is noisy


# Intervals of means, and how much runs move.


def test_interval_is_students() -> None:
    sample = np.random.default_rng(1).normal(3.0, 2.0, 16)
    expected = stats.t.interval(0.95, 15, sample.mean(), stats.sem(sample))
    assert interval(sample) == pytest.approx(expected)
    assert half_width(sample, 0.9) == pytest.approx(stats.t.ppf(0.95, 15) * stats.sem(sample))
    assert t_quantile(15) == stats.t.ppf(0.975, 15)


def test_equal_runs_are_not_exact() -> None:
    """Their signs decide, from seven runs on at 0.01; only what a source declares is without noise."""
    few, enough, model = of_runs([0.1] * 6), of_runs([0.1] * 7), Estimate(0.1, 0.0)
    assert (few.exact, enough.exact, model.exact) == (False, False, True)
    assert [everywhere([each], LEVEL) for each in (few, enough, model)] == [N, R, R]
    assert [everywhere([-each], LEVEL) for each in (few, enough, model)] == [N, C, C]
    assert everywhere([of_runs([0.0] * 20)], LEVEL) is N
    assert everywhere([Estimate(0.0, 0.0)], LEVEL) is C
    rounded = of_runs([0.3, 0.1 + 0.2, 0.3])
    assert rounded.error > 0.0
    assert everywhere([rounded], LEVEL) is N


def test_each_end_of_bounds_misses_the_mean_at_the_level() -> None:
    sample = np.random.default_rng(1).normal(3.0, 2.0, 16)
    low, high = bounds(sample, LEVEL)
    assert [of_runs(sample - low).p_positive(), of_runs(high - sample).p_positive()] == pytest.approx([LEVEL, LEVEL])
    assert bounds(sample, 0.4999) == pytest.approx((sample.mean(), sample.mean()), abs=1e-3)


@pytest.mark.parametrize(("runs", "decided"), [(1, True), (3, False), (6, False), (7, True)])
def test_the_interval_of_equal_runs_is_unbounded_for_fewer_than_seven(runs: int, decided: bool) -> None:
    low, high = bounds(np.full(runs, 0.5), LEVEL)
    assert ((low, high) == (0.5, 0.5)) is decided
    assert (low < -1e300 and high > 1e300) is not decided


def test_an_event_is_absent_if_half_of_the_runs_would_have_shown_it() -> None:
    assert [absent([False] * runs, LEVEL) for runs in (6, 7)] == [N, R]
    assert absent([True] * 7, LEVEL) is C
    assert absent([True] + [False] * 9, LEVEL) is N
    assert absent([True] + [False] * 19, LEVEL) is R


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


# Hypothesis tests against SciPy's, and their levels.


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
    assert test.dof == 1
    assert test.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_welch_of_three_is_scipys() -> None:
    pytest.importorskip("scipy", "1.16", reason="f_oneway has no equal_var")
    rng = np.random.default_rng(5)
    samples = np.array([1.0, 2.0, 4.0])[:, None] * rng.normal(size=(3, 6)) + [[0.0], [1.0], [2.0]]
    test = welch_test(estimates_of(samples))
    assert test.dof == 2
    assert test.p == pytest.approx(stats.f_oneway(*samples, equal_var=False).pvalue)


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
def test_scores_that_are_not_standard_normal_are_seen(scale: float, shift: float, holds: bool):
    scores = np.random.default_rng(7).normal(shift, scale, 300)
    test = normality(list(scores))
    assert bool(min(test.p_squares, test.p_shape) > LEVEL / 6 and test.largest < 4.0) is holds
    assert normality([*scores, 9.0]).largest == 9.0


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


# When a statistic decides, and when it leaves a statement open.

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((5.0, 4.0, 3.0), R),
        ((5.0, 4.0, 0.5), N),
        ((5.0, 4.0, -5.0), C),
        # 2.6 standard errors: enough alone, not as one of three
        ((5.0, 4.0, -2.6), N),
        ((-2.6,), C),
    ],
)
def test_everywhere(values: tuple[float, ...], verdict: Verdict) -> None:
    assert everywhere([Estimate(v, 1.0) for v in values], LEVEL) is verdict


@pytest.mark.parametrize(
    ("ratios", "half", "verdict"),
    [
        ([1.0, 0.96], 0.005, R),
        ([1.0, 0.96], 0.02, N),
        ([1.0, 0.94], 0.005, C),
        ([1.06, 1.0], 0.005, C),
        ([1.06, 1.0], 0.02, N),
    ],
)
def test_a_tolerance_needs_the_whole_interval(ratios, half, verdict) -> None:
    assert within(ratios, half, 0.05) is verdict


def test_intervals_on_one_side_of_a_level_decide() -> None:
    assert below((0.1, 0.4), 0.5) is R
    assert below((0.1, 0.4), 0.5, margin=0.2) is N
    assert below((0.6, 0.7), 0.5) is C


def test_ranks_decide_where_one_run_of_eight_is_far_off() -> None:
    low = np.array([0.031, 0.033, 0.905, 0.036, 0.029, 0.032, 0.034, 0.030])
    high = np.linspace(0.17, 0.24, 8)
    assert ranked(high, low, LEVEL) is R
    assert ranked(low, high, LEVEL) is C
    assert ranked(high, high + 1e-3, LEVEL) is N


@pytest.mark.parametrize(
    ("hits", "misses", "verdict"), [(8, 0, N), (60, 2, R), (30, 0, R), (27, 0, N), (14, 17, C), (50, 7, N)]
)
def test_coverage_is_decided_by_its_confidence_limits(hits: int, misses: int, verdict: Verdict) -> None:
    assert covers([True] * hits + [False] * misses, 0.95, 0.1, LEVEL) is verdict
    low, high = stats.binomtest(hits, hits + misses).proportion_ci(1.0 - 2.0 * LEVEL, "exact")
    assert verdict is Verdict.of(low >= 0.85, high < 0.95)


def test_one_step_down_is_no_growth() -> None:
    assert monotone([0.1, 0.2]) is R
    assert monotone([0.1, -1e-9]) is C


def test_runs_that_stay_and_runs_that_swing() -> None:
    calm = Swing(np.array([0.5, 0.501, 0.5, 0.501]), np.array([0.001, 0.002, 0.001, 0.002]))
    wild = Swing(np.array([0.5, 0.5, 0.5, 0.5]), np.array([0.3, 0.28, 0.3, 0.28]))
    assert settles(calm, 0.5, 0.01, LEVEL) is R
    assert settles(calm, 0.6, 0.01, LEVEL) is C
    assert settles(wild, 0.5, 0.01, LEVEL) is C
    assert swings(wild.absolute, 0.1, 0.01, LEVEL) is R
    assert swings(calm.absolute, 0.1, 0.01, LEVEL) is C
    assert swings(np.array([0.05, 0.2]), 0.1, 0.01, LEVEL) is N


def test_more_runs_do_not_make_a_statement_fail() -> None:
    """One of 32 runs is off: the mean over runs is near enough all the same; of 4 it is open."""
    mean = np.full(32, 0.5)
    mean[7] = 0.52
    many, few = (Swing(mean[first:last], np.full(last - first, 1e-3)) for first, last in ((0, 32), (4, 8)))
    assert (mean[7] - 0.5) > 0.01
    assert settles(many, 0.5, 0.01, LEVEL) is R
    assert settles(few, 0.5, 0.01, LEVEL) is N


def test_a_single_run_decides_by_itself() -> None:
    assert settles(Swing(np.array([0.5]), np.array([0.001])), 0.5, 0.01, LEVEL) is R
    assert settles(Swing(np.array([0.52]), np.array([0.001])), 0.5, 0.01, LEVEL) is C
    assert swings(np.array([0.2]), 0.1, 0.01, LEVEL) is R


@for_each([(16, 16, "holds"), (16, 14, "holds"), (16, 10, "inconclusive"), (16, 2, "contradicted"),
     (7, 7, "holds"), (6, 6, "inconclusive")])  # fmt: skip
def test_most_runs_decide_and_a_few_cannot(runs: int, holding: int, verdict: str) -> None:
    """0.5**7 is below 0.01 and 0.5**6 is not; 14 of 16 have p = 0.002."""
    flags = [True] * holding + [False] * (runs - holding)
    assert str(mostly(flags, LEVEL)) == verdict


def test_an_exact_quantity_holds_or_is_contradicted() -> None:
    """Without noise a difference of zero contradicts that there is one; runs that scatter leave it open."""
    exact, noisy = Estimate(0.0, 0.0), Estimate(0.0, 1.0)
    assert everywhere([exact], LEVEL) is Verdict.CONTRADICTED
    assert everywhere([Estimate(1e-9, 0.0)], LEVEL) is Verdict.HOLDS
    assert everywhere([noisy], LEVEL) is Verdict.INCONCLUSIVE
    assert everywhere([Estimate(5.0, 1.0), exact], LEVEL) is Verdict.CONTRADICTED
