"""Loops over coarse grids of hitting times, as sums and solutions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.hitting_times.equations import Coarse, Finest
from markov.multigrid.grids.hitting_times.weights import weights_of
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.multigrid.grids.test_coarsening import aggregates


@pytest.fixture
def levels(plain):
    """Return the finest level and one below it, the matrix of their aggregates, and weights."""
    layout, pi = grid_of(TANDEM).layout, on_grid(exact(TANDEM)[0])
    grid, rates = layout.out
    h = np.random.default_rng(3).random(grid.size)
    fine = Finest(grid, rates, int(np.argmax(pi)), weights_of(pi), h)
    coarse_grid, aggregation = coarsened(grid, (2, 2))
    leak = float(pi.max()) * fine.leak
    coarse = Coarse(coarse_grid, aggregation, fine, leak)
    labels, m = aggregates(grid, (2, 2))
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    A = np.diag(matrix_of(grid, rates).toarray().sum(axis=1)) - matrix_of(grid, rates).toarray()
    A[fine.reference, fine.reference] += fine.leak
    return fine, coarse, join, A, pi


def test_what_is_left_is_summed_by_weights_over_the_flows_out(levels):
    fine, coarse, join, A, pi = levels
    costs = fine.weights.costs[fine.weights.levels]
    coarse.x[:] = 1.0
    coarse.restrict()
    left = join.T @ (pi * (costs - A @ fine.x))
    out = np.diag(join.T @ (pi[:, None] * A) @ join)
    some = out > 0.0
    assert coarse.out == pytest.approx(out, rel=1e-10)
    assert coarse.right[some] == pytest.approx((left / np.where(some, out, 1.0))[some], rel=1e-5)
    assert not coarse.x.any()


def test_a_sweep_solves_the_equation_of_each_aggregate_in_turn(levels):
    _, coarse, join, A, pi = levels
    coarse.restrict()
    B = join.T @ (pi[:, None] * A) @ join
    expected = np.zeros(len(B))
    for s in np.flatnonzero(coarse.out):
        expected[s] = coarse.right[s] + expected[s] - B[s] @ expected / coarse.out[s]
    coarse.forward()
    assert coarse.x == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.abs(expected).max())


def test_a_correction_is_added_to_each_state_of_an_aggregate(levels):
    fine, coarse, join, _, _ = levels
    before = fine.x.copy()
    coarse.x[:] = np.random.default_rng(4).random(len(coarse.x))
    coarse.prolong()
    assert fine.x == pytest.approx(before + join @ coarse.x, rel=1e-12)
