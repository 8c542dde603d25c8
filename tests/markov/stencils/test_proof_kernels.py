"""The two sides of the bound, against products with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from markov.stencils import proof_kernels as kernels
from markov.stencils.coarsening import coarsened
from markov.stencils.levels import Level
from markov.stencils.places import RECURRENT
from markov.stencils.proofs import _Fine, _weights
from tests.markov.stencils.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.stencils.test_coarsening import aggregates

ONE = np.uint64(1)


def table(side):
    grid, rates = side
    level = Level(grid, np.zeros(grid.size), fast=False)
    return (*level.lines, level.width, *level.entries, rates.rate), rates


def test_the_drift_of_exact_hitting_times_is_minus_one(plain):
    _, chain = exact(TANDEM)
    Q = chain.Q.toarray()
    h = np.zeros(chain.size)
    h[1:] = np.linalg.solve(Q[1:, 1:], -np.ones(chain.size - 1))
    places = grid_of(TANDEM).places
    reference = np.uint64(next(places.blocks())[1][0])
    own, _ = table(grid_of(TANDEM).layout.out)
    worst = kernels.drift(*own, reference, ONE, RECURRENT, places.marks, on_grid(h))
    assert worst == pytest.approx(-1.0, abs=1e-9)
    assert worst >= (Q @ h)[1:].max() - 1e-12


def test_the_misfit_is_not_less_than_what_the_matrix_gives(plain):
    _, chain = exact(TANDEM)
    rng = np.random.default_rng(8)
    pi, h = rng.random(chain.size), rng.random(chain.size)
    places = grid_of(TANDEM).places
    own, rates = table(grid_of(TANDEM).layout.into)
    given = rates.exit_rate, 0.0, ONE, RECURRENT, places.marks, on_grid(h), on_grid(pi)
    off, mass, low = kernels.misfit(*own, *given)
    expected = np.abs(chain.Q.T @ pi) @ h
    assert expected <= off <= expected * (1.0 + 1e-12)
    assert mass + low == pytest.approx(pi.sum(), rel=1e-15)


def test_costs_grow_where_nobody_is(plain):
    x, levels = np.array([1.0, 1e-10, 1e-20, 1e-200, 0.0]), np.zeros(5, dtype=np.uint8)
    own = np.array([0], dtype=np.uint64), np.array([0, 1, 2, 3, 3], dtype=np.uint64)
    kernels.cost_levels(*own, np.uint64(5), ONE, 1e-150, 1.0, ONE, x, levels)
    expected = -np.log2([1.0, 1e-10, 1e-20, 1e-150, 1e-150]) / 8.0
    assert levels == pytest.approx(expected, abs=1.0)
    assert levels[3] == levels[4] == 62


def test_flows_of_aggregates_are_weighted_sums_of_rates(plain):
    layout = grid_of(TANDEM).layout
    pi = on_grid(exact(TANDEM)[0])
    weights = _weights(layout, pi)
    grid, rates = layout.out
    fine = _Fine(grid, rates, int(np.argmax(pi)), weights, np.zeros(grid.size))
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
