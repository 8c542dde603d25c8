"""Sweeps over a grid are those of Gauss-Seidel with the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.markov.multigrid.grids.conftest import TANDEM, exact, finest, grid_of, matrix_of, on_grid


def test_a_sweep_leaves_the_stationary_vector_as_it_is(plain):
    pi, _ = exact(TANDEM)
    x = on_grid(pi)
    level = finest(x)
    level.forward()
    level.backward()
    assert x[x > 0] == pytest.approx(on_grid(pi)[x > 0], rel=1e-12)


def test_a_sweep_is_that_of_gauss_seidel(plain, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.levels.REPEATS", 1)
    layout = grid_of(TANDEM).layout
    x = on_grid(np.random.default_rng(3).random(grid_of(TANDEM).places.size))
    expected, inflow = x.copy(), matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    for s in np.flatnonzero(out):
        expected[s] = inflow[s] @ expected / out[s]
    finest(x).forward()
    assert x == pytest.approx(expected, rel=1e-12)
