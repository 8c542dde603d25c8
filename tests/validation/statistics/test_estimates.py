"""Estimates: Student's intervals, and the errors of sums, ratios and slopes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from validation.statistics import (
    PART,
    Estimate,
    combine,
    difference,
    of_runs,
    ratio,
    ratio_gain,
    slope,
    weakest,
)


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
