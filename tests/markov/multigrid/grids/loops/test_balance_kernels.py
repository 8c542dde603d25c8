"""Loops that compare what flows in with what flows out: what matrices say about it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.markov.multigrid.grids.conftest import TANDEM, exact, finest, on_grid


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
    found = finest(on_grid(x)).compare(on_grid(y), on_grid(z))
    r, p, q = (chain.Q.T @ v for v in (x, y - x, z - x))
    w = 1.0 / (x * chain.exit_rates)
    pairs = ((p, p), (p, q), (q, q), (-p, r), (-q, r))
    assert found == pytest.approx([np.sum(w * a * b) for a, b in pairs], rel=1e-11)
