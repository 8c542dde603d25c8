"""Equations of hitting times, their loops and aggregates, against products with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.hitting_times.equations import Coarse, Finest, HittingTimes
from markov.multigrid.grids.hitting_times.finest_kernels import cost_levels
from markov.multigrid.grids.hitting_times.weights import MIN_WEIGHT, TAIL, weights_of
from markov.multigrid.grids.levels import Level
from tests.markov.multigrid.grids.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.multigrid.grids.test_coarse_levels import aggregates

# Equations of hitting times and those of their aggregates, against products with the matrix.


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


# Loops over coarse grids of hitting times, as sums and solutions by hand.


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


# Loops over the finest grid of hitting times, against products with the matrix.


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


# Weights and costs follow from probabilities.


def test_costs_are_a_power_of_the_probability(plain):
    pi = on_grid(exact(TANDEM)[0])
    found = weights_of(pi)
    some = pi > 0.0
    costs = found.costs[found.levels[some]]
    expected = (pi[some] / pi.max()) ** TAIL
    assert np.all((costs <= expected * (1.0 + 1e-12)) & (costs >= expected / 1.75))  # 256^0.1
    assert found.least == pytest.approx(MIN_WEIGHT * pi.max())
