"""Bounds on every entry by counting roundings."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hopflow import Status
from markov import SparseLU, stationary
from tests.markov.conftest import distance, exact, generator_of


@pytest.mark.parametrize("coupling", [1e-16, 1e-100])
def test_nearly_decomposable(coupling):
    rng = np.random.default_rng(5)
    Q = rng.random((8, 8)) * 10.0 ** rng.integers(-3, 3, (8, 8))
    Q[:4, 4:] *= coupling
    Q[4:, :4] *= 3.0 * coupling
    Q = generator_of(Q)
    truth = exact(Q)
    answer = stationary(Q)
    relative = [abs(Fraction(float(x)) / y - 1) for x, y in zip(answer.pi, truth, strict=True)]
    assert max(relative) < 1e-14
    assert distance(answer.pi, truth) <= answer.error_bound
    assert answer.status is Status.CONVERGED  # at any coupling: by the count of roundings
    assert max(relative) <= answer.entry_error < 1e-12
    assert answer.error_bound <= answer.entry_error
    other = stationary(Q, SparseLU(), on_failure="return")  # may be far off, and then says so
    assert distance(other.pi, truth) <= other.error_bound if other.status.ok else True
    assert other.status is not Status.CONVERGED or other.error_bound <= 1e-3


def test_unverified_is_infinite():
    """Two halves that residuals cannot see connected: only the count of roundings proves anything."""
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[2, 3] = Q[3, 2] = 1.0
    Q[1, 2] = Q[2, 1] = 1e-300
    answer = stationary(generator_of(Q))
    np.testing.assert_allclose(answer.pi, 0.25, rtol=1e-15)  # GTH knows
    assert answer.entry_error == math.inf  # its products underflow
    assert answer.error_bound >= 0.5
    assert answer.status is Status.UNPROVED
    failed = stationary(generator_of(Q), SparseLU(), on_failure="return")
    assert not failed.status.ok or failed.error_bound >= 0.5
