"""Sweeps over a grid are those of Gauss-Seidel with the matrix; residuals are the matrix's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.markov.stencils.conftest import TANDEM, exact, grid_of, matrix_of, on_grid
from tests.markov.stencils.test_kernels import finest


def test_a_sweep_leaves_the_stationary_vector_as_it_is(plain):
    pi, _ = exact(TANDEM)
    x = on_grid(pi)
    level = finest(x)
    level.forward()
    level.backward()
    assert x[x > 0] == pytest.approx(on_grid(pi)[x > 0], rel=1e-12)


def test_a_sweep_is_that_of_gauss_seidel(plain, monkeypatch):
    monkeypatch.setattr("markov.stencils.levels.REPEATS", 1)
    layout = grid_of(TANDEM).layout
    x = on_grid(np.random.default_rng(3).random(grid_of(TANDEM).places.size))
    expected, inflow = x.copy(), matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    for s in np.flatnonzero(out):
        expected[s] = inflow[s] @ expected / out[s]
    finest(x).forward()
    assert x == pytest.approx(expected, rel=1e-12)


def test_balance_is_the_relative_residual_of_the_matrix(plain):
    _, chain = exact(TANDEM)
    pi = np.random.default_rng(4).random(chain.size)
    residual, mass = finest(on_grid(pi)).residual()
    net = chain.Q.T @ pi
    expected = np.abs(net).sum() / (2.0 * pi @ chain.exit_rates)
    assert residual == pytest.approx(expected, rel=1e-12)
    assert mass == pytest.approx(pi.sum(), rel=1e-12)
