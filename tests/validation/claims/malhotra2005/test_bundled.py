"""The packet runs as estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from markov import stationary
from validation import evidence
from validation.claims.malhotra2005 import bundled
from validation.claims.malhotra2005.chain import Setting


def test_seeds_are_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    frame = evidence.table(bundled.OFF)
    one = frame[(frame["low_threshold"] == 5) & (frame["paused_rate"] == 0.5)].copy()
    batches = rng.normal(13.0, 0.1, (len(one), 10))
    one["throughput"] = batches.mean(axis=1)
    half_width = stats.t.ppf(0.975, 9) * batches.std(axis=1, ddof=1) / 10**0.5
    one["throughput_half_width"] = half_width
    monkeypatch.setattr(evidence, "table", lambda _: one)
    ((setting, run),) = bundled.runs(bundled.OFF).items()
    assert setting == Setting(high=20, low=5, paused_rate=0.5)
    estimate = run.estimates["throughput"]
    assert estimate.value == pytest.approx(batches.mean())
    residuals = batches - batches.mean(axis=1, keepdims=True)
    variance = (residuals**2).sum() / (9 * len(one))
    assert estimate.error == pytest.approx((variance / batches.size) ** 0.5)
    assert estimate.dof == 9 * len(one)
    assert len(run.seeds) == len(one)


def test_runs_are_those_that_the_chain_knows() -> None:
    signalling = bundled.runs("malhotra2005/pause-signalling")
    assert {s.paused_rate for s in signalling} == {2.0, 10.0}
    assert not bundled.runs("malhotra2005/fixed-recovery-up")


def test_seeds_of_tcp_are_independent_runs() -> None:
    frame = evidence.table(bundled.LINK_A)
    seeds = frame.query("link_a == 50 and rtt == 1 and pause == 'on'")["goodput"]
    mean = bundled.tcp_goodput(bundled.LINK_A, "on")[50.0, 1.0]
    low, high = stats.t.interval(0.95, len(seeds) - 1, seeds.mean(), stats.sem(seeds))
    assert (mean.value, mean.half_width) == pytest.approx((seeds.mean(), (high - low) / 2))


def test_agreement_is_a_test_of_all_points() -> None:
    found = bundled.agreement(bundled.runs(bundled.OFF).values())
    assert found.points == found.test.dof == 4
    assert found.test.p > 0.01
    assert found.worst < 0.01


@pytest.mark.slow
def test_the_chain_predicts_the_errors_of_the_runs() -> None:
    """Squares of simulated over predicted standard errors: chi-square over its degrees of freedom."""
    squares: dict[str, list[tuple[float, float]]] = {}
    cases = [case for case in evidence.cases() if case.startswith("malhotra2005/pause-")]
    for setting, run in (pair for case in cases for pair in bundled.runs(case).items()):
        answer = stationary(setting.model)
        first, second = answer.variance("mean_queue")
        variances = first, second, answer.variance("pause_fraction")
        seconds = sum(row["measured_time"] for row in run.seeds)
        names = ("mean_queue_1", "mean_queue_2", "pause_fraction")
        for name, variance in zip(names, variances, strict=True):
            if variance.value > 1e-9:
                found = run.estimates[name]
                square = found.error**2 * seconds / variance.value
                squares.setdefault(name, []).append((square, found.dof))
    for name, pairs in squares.items():
        ratio, freedom = np.array(pairs).T
        low, high = stats.chi2.interval(1.0 - 1e-4, freedom.sum()) / freedom.sum()
        assert low < np.average(ratio, weights=freedom) < high, name
        assert len(pairs) > 200
