"""Bounds without a matrix hold, and find what is wrong with a distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov.stencils.proofs import bound_on_grid
from tests.markov.stencils.conftest import TANDEM, exact, grid_of, on_grid

FACTORS = [(3, 3), (2, 2)]


@pytest.mark.parametrize("amount", [0.0, 1e-12, 1e-8, 1e-3])
def test_the_bound_holds_and_is_not_far_off(amount, small):
    true, _ = exact(TANDEM)
    pi = true * (1.0 + amount * np.random.default_rng(9).standard_normal(len(true)))
    pi /= math.fsum(pi)
    x = on_grid(pi)
    grid = grid_of(TANDEM)
    bound = bound_on_grid(grid.layout, grid.places, FACTORS, x)
    distance = 0.5 * np.abs(pi - true).sum()
    assert distance <= bound.distance <= 2e3 * distance + 1e-11
    assert bound.c > 0.5
    assert np.array_equal(x, on_grid(pi))  # as it was


def test_a_lack_of_mass_counts(small):
    pi = 0.9 * exact(TANDEM)[0]
    grid = grid_of(TANDEM)
    assert 0.1 <= bound_on_grid(grid.layout, grid.places, FACTORS, on_grid(pi)).distance < 0.11
