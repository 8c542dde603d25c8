"""When a statistic decides, and when it leaves a statement open."""

from __future__ import annotations

import numpy as np
import pytest

from validation.statistics import (
    LEVEL,
    Estimate,
    Swing,
    above,
    below,
    everywhere,
    monotone,
    mostly,
    ranked,
    settles,
    swings,
    within,
)
from validation.verdicts import Verdict

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
    low, high = np.array([0.1, 0.2, 0.15]), np.array([0.8, 0.9, 0.85])
    assert above(high, low) is R
    assert above(low, high) is C
    assert above(high, low, margin=0.1) is R
    narrow = np.array([-1e-3, 0.0, 1e-3])
    assert above(2.0 + narrow, 1.85 + narrow, margin=0.1) is N  # less than two margins apart
    assert above(1.85 + narrow, 2.0 + narrow, margin=0.1) is N
    assert above(high, low, margin=0.5) is N


def test_ranks_decide_where_one_run_of_eight_is_far_off() -> None:
    low = np.array([0.031, 0.033, 0.905, 0.036, 0.029, 0.032, 0.034, 0.030])
    high = np.linspace(0.17, 0.24, 8)
    assert above(high, low) is N
    assert ranked(high, low, LEVEL) is R
    assert ranked(low, high, LEVEL) is C
    assert ranked(high, high + 1e-3, LEVEL) is N


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
    """One of 32 runs is off: the mean over runs is near enough all the same; of 8 it is open."""
    mean = np.full(32, 0.5)
    mean[7] = 0.52
    many, few = (Swing(mean[:n], np.full(n, 1e-3)) for n in (32, 8))
    assert (mean[7] - 0.5) > 0.01
    assert settles(many, 0.5, 0.01, LEVEL) is R
    assert settles(few, 0.5, 0.01, LEVEL) is N


def test_a_single_run_decides_by_itself() -> None:
    assert settles(Swing(np.array([0.5]), np.array([0.001])), 0.5, 0.01, LEVEL) is R
    assert settles(Swing(np.array([0.52]), np.array([0.001])), 0.5, 0.01, LEVEL) is C
    assert swings(np.array([0.2]), 0.1, 0.01, LEVEL) is R


@pytest.mark.parametrize(
    ("runs", "holding", "verdict"),
    [(16, 16, "holds"), (16, 14, "holds"), (16, 10, "inconclusive"), (16, 2, "contradicted"),
     (7, 7, "holds"), (6, 6, "inconclusive")],
)  # fmt: skip
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
