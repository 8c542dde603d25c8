"""Poisson probabilities against forty digits."""

from __future__ import annotations

import mpmath
import pytest

from markov.time.transients.poisson import poisson_weights


@pytest.mark.parametrize("mean", [1e-9, 0.1, 3.0, 50.0, 1e4, 1e6])
def test_poisson_weights_keep_their_bound_against_forty_digits(mean: float) -> None:
    found = poisson_weights(mean, 1e-13)
    with mpmath.workdps(40):
        exact = mpmath.exp(found.left * mpmath.log(mean) - mean - mpmath.loggamma(found.left + 1))
        wrong, inside = mpmath.mpf(0), mpmath.mpf(0)
        for k, weight in enumerate(found.weights.tolist(), start=found.left):
            wrong += abs(exact - weight)
            inside += exact
            exact *= mpmath.mpf(mean) / (k + 1)
        wrong += 1 - inside
    assert float(wrong) <= found.error
    assert found.error <= 1e-11
