"""Claims by imposed loss: ratios of rates, their intervals, and evidence that says otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from responsefn import independent_constant
from validation import Verdict
from validation.claims.zheng2002 import independent_loss, loss_sweeps
from validation.claims.zheng2002.loss_sweeps import INDEPENDENT, PERIODIC, RULES, Points

# Ratios of rates, their intervals, and tolerances in steps.


def points(ratio: list[float], half: float = 0.0) -> Points:
    values = np.array(ratio, dtype=np.float64)
    k = np.array([100.0 * n for n in range(values.size, 0, -1)], dtype=np.float64)
    return Points(k, np.reciprocal(k), values, np.full_like(values, half))


def test_steps_split_points_by_tolerance() -> None:
    split = points([1.0, 1.1, 1.2, 1.3]).steps({300: 0.01, 100: 0.02})
    assert [tolerance for tolerance, _ in split] == [0.01, 0.02]
    assert [list(inside.k) for _, inside in split] == [[400.0, 300.0], [200.0, 100.0]]


def test_every_tolerance_step_has_points_and_none_is_left_out() -> None:
    for steps in (independent_loss.SQRT_STEPS, independent_loss.PFTK_STEPS):
        runs = loss_sweeps.rows(INDEPENDENT, "TCP(1,1/2)")
        split = loss_sweeps.against(runs, loss_sweeps.aimd(runs, "sqrt")).steps(steps)
        assert all(inside.k.size for _, inside in split)
        assert sum(inside.k.size for _, inside in split) == runs["packets_per_loss"].nunique()


def test_a_rule_outside_of_one_step_contradicts() -> None:
    steps = {300: 0.01, 100: 0.25}
    good, bad = points([1.0, 1.0, 1.2, 1.2]), points([1.0, 1.0, 1.2, 1.3])
    assert loss_sweeps.judge_steps({"a": good, "b": good}, steps) is Verdict.HOLDS
    assert loss_sweeps.judge_steps({"a": good, "b": bad}, steps) is Verdict.CONTRADICTED


def test_intervals_are_student_over_the_seeds() -> None:
    runs = pd.DataFrame(
        {
            "packets_per_loss": [100, 100, 100],
            "seed": [1, 2, 3],
            "rate": [9.0, 10.0, 11.0],
            "duration": 100.0,
            "p": 0.01,
        }
    )
    found = loss_sweeps.against(runs, np.full(3, 10.0))
    np.testing.assert_allclose(found.ratio, [1.0])
    np.testing.assert_allclose(found.half, [2.919986 * 0.1 / np.sqrt(3)], rtol=1e-5)


def test_pairs_are_of_the_same_seed() -> None:
    frame = pd.DataFrame(
        {"packets_per_loss": 100, "seed": [1, 2], "rate": [8.0, 20.0], "duration": 1.0, "p": 0.01}
    )
    shuffled = frame.iloc[::-1].assign(rate=[10.0, 4.0])
    found = loss_sweeps.paired(frame, shuffled)
    np.testing.assert_allclose(found.ratio, [2.0])
    np.testing.assert_allclose(found.half, [0.0], atol=1e-12)


@pytest.mark.parametrize("decrease", [0.5, 0.25, 0.125])
def test_constant_of_independent_loss_is_that_of_a_random_walk(decrease: float) -> None:
    """Y falls by (1-b)^2 at a loss and grows by an exponential amount of mean 1 between losses."""
    random = np.random.default_rng(1)
    y = np.ones(400_000)
    for _ in range(int(np.ceil(8 / decrease))):
        y = (1 - decrease) ** 2 * y + random.exponential(size=y.size)
    inverse = 1 / np.sqrt(y)
    error = 4 * inverse.std() / inverse.mean() / np.sqrt(y.size)
    law = np.sqrt((2 - decrease) / (2 * decrease))
    expected = np.sqrt(2) / inverse.mean() / law
    assert independent_constant(decrease) == pytest.approx(expected, rel=error)


def test_constant_tends_to_one_with_small_cuts() -> None:
    assert independent_constant(1e-3) == pytest.approx(1 + 1e-3 / 8, abs=1e-5)


def test_runs_of_all_rules_are_there() -> None:
    for sweep in (PERIODIC, INDEPENDENT):
        for rule in (*RULES, "TFRC"):
            assert len(loss_sweeps.rows(sweep, rule)) == 10 * 5
            runs = loss_sweeps.rows(sweep, rule, largest=loss_sweeps.RAREST)
            assert len(runs) == 13 * 5
            assert runs["packets_per_loss"].is_monotonic_decreasing
            assert runs["packets_per_loss"].max() == 100_000


def test_the_start_does_not_matter_under_periodic_loss() -> None:
    for rule in (*RULES, "TFRC"):
        runs = loss_sweeps.rows(PERIODIC, rule, largest=loss_sweeps.RAREST)
        rates = runs.groupby("packets_per_loss")["rate"]
        assert (rates.max() / rates.min()).max() < 1.002
        assert runs.groupby("packets_per_loss")["early"].nunique().min() == 5


# S02 can turn out otherwise.

R_INDEPENDENT_LOSS, C_INDEPENDENT_LOSS, N = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
)
NA = Verdict.NOT_APPLICABLE


def test_statements_are_as_found_independent_loss(judged) -> None:
    assert list(judged("S02").values()) == [
        (C_INDEPENDENT_LOSS, NA),
        (R_INDEPENDENT_LOSS, NA),
        (N, NA),
        (R_INDEPENDENT_LOSS, NA),
    ]


def test_the_sweep_can_turn_out_otherwise(scale: Callable[..., None], judged) -> None:
    scale(INDEPENDENT, "TCP(1,1/2)", 0.97)
    assert [sides.model for sides in judged("S02").values()] == [
        R_INDEPENDENT_LOSS,
        R_INDEPENDENT_LOSS,
        R_INDEPENDENT_LOSS,
        C_INDEPENDENT_LOSS,
    ]
    scale(INDEPENDENT, "TCP(1/5,1/8)", 0.9, high=100)
    assert judged("S02")["far"] == (C_INDEPENDENT_LOSS, NA)


def test_small_p_limit_finds_a_known_constant() -> None:
    loss = 1 / np.array([10000.0, 5000, 2000, 1000, 500, 200])
    runs = pd.DataFrame({"packets_per_loss": 1 / loss, "p": loss, "mean_rtt": 0.048})
    runs = runs.assign(increase=1.0, decrease=0.5)
    runs["rate"] = loss_sweeps.aimd(runs, "sqrt") * (1.07 - 0.9 * np.sqrt(loss) + 2 * loss)
    assert independent_loss.small_p_limit(runs) == pytest.approx((1.07, 0.0), abs=1e-12)


# S01 can fail, and claims nothing above one per cent loss.

R_PERIODIC_LOSS, C_PERIODIC_LOSS = Verdict.HOLDS, Verdict.CONTRADICTED


def test_statements_are_as_found_periodic_loss(judged) -> None:
    assert list(judged("S01").values()) == [(R_PERIODIC_LOSS, NA)] * 4


def test_the_sweep_can_fail(scale: Callable[..., None], judged) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.985, low=500)
    assert judged("S01")["recovery"] == (C_PERIODIC_LOSS, NA)
    scale(PERIODIC, "TCP(3/7,1/4)", 1.02, low=10000)
    assert judged("S01")["larger"] == (C_PERIODIC_LOSS, NA)
    scale(PERIODIC, "TFRC", 1.002, high=20)
    assert judged("S01")["tfrc"] == (C_PERIODIC_LOSS, NA)


def test_nothing_is_claimed_above_one_percent_loss(scale: Callable[..., None], judged) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.5, high=50)
    assert all(sides.model is R_PERIODIC_LOSS for sides in judged("S01").values())
