"""Loops over a grid: what a stationary vector and matrices say about them."""

from __future__ import annotations

import numpy as np
import pytest

from markov.stencils import kernels
from markov.stencils.levels import Finest
from tests.markov.stencils.conftest import TANDEM, exact, grid_of, on_grid


def finest(x):
    layout = grid_of(TANDEM).layout
    return Finest(*layout.into, layout.place >= 0, x, fast=False)


def test_compared_residuals_are_those_of_the_matrix(plain):
    _, chain = exact(TANDEM)
    x, y, z = np.random.default_rng(5).random((3, chain.size))
    found = np.zeros(5)
    level = finest(on_grid(x))
    table = *level.lines, level.width, *level.entries, level.rates.rate, level.rates.exit_rate
    one = np.uint64(1)
    kernels.compare(
        *table,
        one,
        level.x,
        on_grid(y),
        on_grid(z),
        found,
    )
    r, p, q = (chain.Q.T @ v for v in (x, y - x, z - x))
    w = 1.0 / (x * chain.exit_rates)
    pairs = ((p, p), (p, q), (q, q), (-p, r), (-q, r))
    assert found == pytest.approx([np.sum(w * a * b) for a, b in pairs], rel=1e-11)
