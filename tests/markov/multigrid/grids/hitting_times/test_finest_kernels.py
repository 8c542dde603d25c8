"""Loops over the finest grid of hitting times, against products with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.hitting_times.equations import Finest
from markov.multigrid.grids.hitting_times.finest_kernels import cost_levels
from markov.multigrid.grids.hitting_times.weights import weights_of
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid


def test_costs_grow_where_nobody_is(plain):
    x, levels = np.array([1.0, 1e-10, 1e-20, 1e-200, 0.0]), np.zeros(5, dtype=np.uint8)
    cost_levels(1e-150, 1.0, x, levels)
    expected = -np.log2([1.0, 1e-10, 1e-20, 1e-150, 1e-150]) / 8.0
    assert levels == pytest.approx(expected, abs=1.0)
    assert levels[3] == levels[4] == 62


def test_a_sweep_is_that_of_gauss_seidel(plain):
    layout, pi = grid_of(TANDEM).layout, on_grid(exact(TANDEM)[0])
    grid, rates = layout.out
    weights, h = weights_of(pi), np.random.default_rng(1).random(grid.size)
    expected, Q = h.copy(), matrix_of(grid, rates).toarray()
    level = Finest(grid, rates, int(np.argmax(pi)), weights, h)
    out = Q.sum(axis=1)
    for s in np.flatnonzero(out):
        leak = out[s] if s == level.reference else 0.0
        expected[s] = (weights.costs[weights.levels[s]] + Q[s] @ expected) / (out[s] + leak)
    level.forward()
    assert h[out > 0.0] == pytest.approx(expected[out > 0.0], rel=1e-12)
