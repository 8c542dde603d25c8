"""Loops over a grid: what a stationary vector and matrices say about them."""

from __future__ import annotations

import numpy as np
import pytest

from markov.stencils import kernels
from markov.stencils.levels import Finest
from tests.markov.stencils.conftest import TANDEM, exact, grid_of, matrix_of


def on_grid(values):
    """Return numbers over the states as numbers over the grid."""
    grid = grid_of(TANDEM)
    x = np.zeros(grid.layout.into[0].size)
    grid.places.spread_over(values, x)
    return x


def finest(x):
    layout = grid_of(TANDEM).layout
    return Finest(*layout.into, layout.place >= 0, x, fast=False)


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


def test_compared_residuals_are_those_of_the_matrix(plain):
    _, chain = exact(TANDEM)
    x, y, z = np.random.default_rng(5).random((3, chain.size))
    found = np.zeros(5)
    level = finest(on_grid(x))
    table = *level.lines, level.width, *level.entries, level.rates.rate, level.rates.exit_rate
    one = np.uint64(1)
    kernels.compare(*table, one, level.x, on_grid(y), on_grid(z), found)
    r, p, q = (chain.Q.T @ v for v in (x, y - x, z - x))
    w = 1.0 / (x * chain.exit_rates)
    pairs = ((p, p), (p, q), (q, q), (-p, r), (-q, r))
    assert found == pytest.approx([np.sum(w * a * b) for a, b in pairs], rel=1e-11)
