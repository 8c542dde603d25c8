"""Equations of hitting times and those of their aggregates, against products with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.hitting_times.equations import Coarse, Finest, HittingTimes
from markov.multigrid.grids.hitting_times.weights import weights_of
from markov.multigrid.grids.levels import Level
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.multigrid.grids.test_coarsening import aggregates


def test_flows_of_aggregates_are_weighted_sums_of_rates(plain):
    layout = grid_of(TANDEM).layout
    pi = on_grid(exact(TANDEM)[0])
    weights = weights_of(pi)
    grid, rates = layout.out
    fine = Finest(grid, rates, int(np.argmax(pi)), weights, np.zeros(grid.size))
    coarse, aggregation = coarsened(grid, (4, 3))
    values = np.zeros(int(coarse.value_begin[-1]))
    level = Level(coarse, np.zeros(coarse.size), fast=False)
    fine.restriction(aggregation, level, values)()
    labels, m = aggregates(grid, (4, 3))
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    expected = join.T @ (pi[:, None] * matrix_of(grid, rates).toarray()) @ join
    np.fill_diagonal(expected, 0.0)
    indptr, indices = level.pattern()
    found = np.zeros((m, m))
    found[np.repeat(np.arange(m), np.diff(indptr)), indices] = values
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_cycles_find_the_mean_costs(small):
    layout, pi = grid_of(TANDEM).layout, on_grid(exact(TANDEM)[0])
    times = HittingTimes(layout, pi, np.float64)
    assert len(times.levels) > 1
    for _ in range(60):
        times.cycle(1)
    finest, Q = times.finest, matrix_of(*layout.out).toarray()
    out = Q.sum(axis=1)
    A = np.diag(np.where(out > 0.0, out, 1.0)) - Q
    A[times.reference, times.reference] += finest.leak
    costs = np.where(out > 0.0, finest.weights.costs[finest.weights.levels], 0.0)
    expected = np.linalg.solve(A, costs)
    assert times.h[out > 0.0] == pytest.approx(expected[out > 0.0], rel=1e-8)


def test_axes_are_those_along_which_most_steps_lead_wherever_pi_is(small):
    layout = grid_of(TANDEM).layout
    grid, rates = layout.out
    for seed in range(2):
        pi = on_grid(np.random.default_rng(seed).random(grid_of(TANDEM).places.size) ** 40)
        level = Finest(grid, rates, int(np.argmax(pi)), weights_of(pi), np.zeros(grid.size))
        assert level.strong_axes() == (True, True)
        coarse, aggregation = coarsened(grid, (1, 9))
        below = Coarse(coarse, aggregation, level, 1.0)
        assert below.strong_axes()[0]
        assert not below.x.any()  # as before
