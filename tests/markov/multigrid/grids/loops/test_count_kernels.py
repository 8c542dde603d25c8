"""Sweeps with rates that depend on counts are those of Gauss-Seidel with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.hitting_times.equations import Finest
from markov.multigrid.grids.hitting_times.weights import weights_of
from tests.markov.multigrid.grids.conftest import MACHINES, exact, finest, grid_of, matrix_of


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_is_that_of_gauss_seidel(backward, plain, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.levels.REPEATS", 1)
    layout = grid_of(MACHINES).layout
    x = np.random.default_rng(3).random(layout.into[0].size)
    expected, inflow = x.copy(), matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    for s in np.flatnonzero(out)[:: -1 if backward else 1]:
        expected[s] = inflow[s] @ expected / out[s]
    level = finest(x, MACHINES)
    (level.backward if backward else level.forward)()
    assert x == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_of_hitting_times_is_that_of_gauss_seidel(backward, plain):
    layout, pi = grid_of(MACHINES).layout, np.zeros(grid_of(MACHINES).layout.into[0].size)
    indices = np.concatenate([i for _, i in grid_of(MACHINES).places.blocks()])
    pi[indices] = exact(MACHINES)[0]
    grid, rates = layout.out
    weights, h = weights_of(pi), np.random.default_rng(1).random(grid.size)
    expected, Q = h.copy(), matrix_of(grid, rates).toarray()
    level = Finest(grid, rates, int(np.argmax(pi)), weights, h)
    out = Q.sum(axis=1)
    for s in np.flatnonzero(out)[:: -1 if backward else 1]:
        leak = out[s] if s == level.reference else 0.0
        expected[s] = (weights.costs[weights.levels[s]] + Q[s] @ expected) / (out[s] + leak)
    (level.backward if backward else level.forward)()
    assert h == pytest.approx(expected, rel=1e-12)
    assert level.leak == pytest.approx(out[level.reference], rel=1e-15)


def test_the_residual_is_that_of_the_matrix(plain):
    layout = grid_of(MACHINES).layout
    x = np.random.default_rng(4).random(layout.into[0].size)
    inflow = matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    residual, mass = finest(x, MACHINES).residual()
    expected = np.abs(inflow @ x - out * x).sum() / (2.0 * out @ x)
    assert residual == pytest.approx(expected, rel=1e-12)
    assert mass == pytest.approx(x.sum(), rel=1e-12)
