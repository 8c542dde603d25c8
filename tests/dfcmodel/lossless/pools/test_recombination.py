"""Recombined histories against all combinations, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel.lossless.pools.recombination import Histories


def of_all_combinations(held: np.ndarray, size: float, weights: np.ndarray) -> float:
    """Return the fraction of all combinations of runs that exceed the size at some time."""
    _, parts, runs = held.shape
    found = 0.0
    for chosen in itertools.product(range(runs), repeat=parts):
        if (held[:, range(parts), chosen].sum(axis=1, dtype=float) > size).any():
            found += np.prod(weights[range(parts), chosen] / runs)
    return float(found)


@pytest.mark.parametrize(("size", "whole"), [(9.0, True), (12.5, True), (12.5, False)])
def test_the_estimate_is_that_of_all_combinations(size: float, whole: bool) -> None:
    """In whole packets sums are exact, in others draws leave out what exceeds the size only when rounded up."""
    draw = np.random.default_rng(2)
    held = draw.integers(0, 6, (5, 3, 7)).astype(np.float32)
    held += 0.0 if whole else draw.random(held.shape, dtype=np.float32)
    weights = draw.multinomial(7, np.full(7, 1 / 7), 3)
    histories = Histories(held, size)
    assert (histories.step == 1.0) == whole
    found = [histories.recombine(weights, 1000, draw).probability for _ in range(9)]
    error = np.std(found, ddof=1) / 3.0
    right = of_all_combinations(held, size, weights)
    assert 0.05 < right < 0.95
    assert abs(np.mean(found) - right) < 4.0 * error + 1e-12  # 4 standard errors of the draws


def test_rare_sums_are_exact_and_runs_behind_them_counted() -> None:
    """Ten of 1000 runs of each of twelve parts hold 5 packets: all twelve exceed 59 with 0.01 to the power 12."""
    held = np.zeros((2, 12, 1000), dtype=np.float32)
    held[:, :, :10] = 5.0
    ones = np.ones((12, 1000), dtype=np.int64)
    found = Histories(held, 59.0).recombine(ones, 2000, np.random.default_rng(1))
    np.testing.assert_allclose(found.probability, 1e-24, rtol=1e-12)  # rounding alone
    assert (found.effective > 9.5).all()
    assert (found.effective <= 10.0 + 1e-9).all()
    never = Histories(held, 60.0).recombine(ones, 2000, np.random.default_rng(1))
    assert never.probability == 0.0
    assert not never.effective.any()


def test_runs_that_exceed_the_size_as_they_are() -> None:
    held = np.zeros((3, 2, 4), dtype=np.float32)
    held[1, :, 2] = 3.0
    held[:, 0, 3] = 5.0
    assert Histories(held, 5.5).plain() == 1
    assert Histories(held, 4.5).plain() == 2
