"""Coarse levels: flows between aggregates, and corrections by their factors."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PauseTandem
from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.levels import Finest
from tests.markov.multigrid.grids.conftest import (
    TANDEM,
    finest,
    grid_layout,
    grid_of,
    matrix_of,
    on_grid,
)
from tests.markov.multigrid.grids.test_coarsening import aggregates


def two_levels():
    """Return two coarse levels above a random vector, and the flows between their aggregates."""
    x = on_grid(np.random.default_rng(6).random(grid_size()))
    level, flows, found = finest(x), matrix_of(*grid_layout(TANDEM).into).toarray() * x, []
    for factors in ((2, 4), (1, 3)):
        grid, aggregation = coarsened(level.grid, factors)
        labels, m = aggregates(level.grid, factors)
        level = Coarse(grid, aggregation, level)
        level.restrict()
        join = np.zeros((m, len(labels)))
        join[labels, np.arange(len(labels))] = 1.0
        flows = join @ flows @ join.T
        flows -= np.diag(np.diag(flows))
        found.append((level, labels, flows))
    return x, found


def grid_size():
    """Return how many states count."""
    return grid_of(TANDEM).places.size


def test_flows_of_two_levels_are_sums_of_those_of_the_chain(plain):
    for level, _, flows in two_levels()[1]:
        indptr, indices = level.pattern()
        found = np.zeros_like(flows)
        rows = np.repeat(np.arange(len(flows)), np.diff(indptr))
        found[rows, indices] = level.values
        assert found == pytest.approx(flows, rel=1e-12)
        out = flows.sum(axis=0)
        assert 1.0 / level.scale[out > 0.0] == pytest.approx(out[out > 0.0], rel=1e-12)


def test_corrections_multiply_each_state_by_the_factor_of_its_cell(plain):
    x, ((level, labels, _), _) = two_levels()
    before = x.copy()
    level.x[:] = np.random.default_rng(7).random(len(level.x))
    level.prolong()
    assert np.array_equal(x, before * level.x[labels])


@pytest.mark.parametrize(
    ("factors", "power"), [((2, 2, 2), 1.25), ((3, 1, 1), 1.25), ((2, 1, 2), 1.0)]
)
def test_corrections_of_wide_cells_are_raised(plain, factors, power):
    model = PauseTandem(buffers=(7, 8), high_threshold=6, arrival_rates=tuple(range(8, 0, -1)))
    layout = grid_layout(model)
    x = np.ones(layout.into[0].size)
    fine = Finest(*layout.into, layout.place >= 0, x, fast=False)
    level = Coarse(*coarsened(fine.grid, factors), fine)
    level.x[:] = 2.0
    level.prolong()
    assert x == pytest.approx(2.0**power)
