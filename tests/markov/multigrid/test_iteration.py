"""When cycles end, and how iterates are combined."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.iteration import StoppingRule, best_shares


def run(rule, sizes):
    """Return how many residuals were taken in."""
    for n, size in enumerate(sizes):
        if not rule.goes_on:
            return n
        if rule.ends(size):
            return n + 1
    return len(sizes)


def test_cycles_end_at_the_tolerance_or_at_the_number_allowed():
    sizes = [10.0**-n for n in range(20)]
    assert run(StoppingRule(1e-3, 100), sizes) == 4
    assert run(StoppingRule(1e-30, 5), sizes) == 5
    assert run(StoppingRule(1e-30, 5, done=3), sizes) == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cycles_end_where_the_residual_is_no_number(bad):
    assert run(StoppingRule(1e-9, 100), [1.0, bad, 0.1]) == 2


def test_cycles_end_where_they_gain_nothing():
    """The first residual is the best, and 0.6 of it is not half of it: 3 that gain nothing, and one more."""
    rule = StoppingRule(1e-9, 100, patience=3)
    assert run(rule, [1.0, 0.9, 0.8, 0.7, 0.6, 0.1]) == 5
    rule.restart()
    assert rule.goes_on
    assert rule.size == rule.before == np.inf


def test_shares_have_the_least_residual():
    random = np.random.default_rng(1)
    residual, changes = random.random(9), random.random((2, 9))
    products = np.column_stack([changes @ changes.T, -changes @ residual])
    expected = np.linalg.lstsq(changes.T, -residual, rcond=None)[0]
    np.testing.assert_allclose(best_shares(products), expected, rtol=1e-10)
    twice = np.column_stack(
        [np.full((2, 2), changes[0] @ changes[0]), np.full(2, -changes[0] @ residual)]
    )
    assert np.isfinite(best_shares(twice)).all()  # of equal iterates
