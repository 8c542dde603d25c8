"""Loops over the flows between cells: those of blocks of rows are those of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened
from tests.markov.multigrid.grids.conftest import TANDEM, finest, grid_of, on_grid


def corrected():
    """Return the numbers of a level after a correction, and all of the level that corrected it."""
    level = finest(on_grid(np.random.default_rng(6).random(grid_of(TANDEM).places.size)))
    coarse = Coarse(*coarsened(level.grid, (1, 3)), level)
    coarse.restrict()
    factors = np.random.default_rng(7).random(len(coarse.x))
    coarse.x[:] = factors
    coarse.prolong()
    return coarse, [level.x, coarse.values, coarse.scale, coarse.carried(True, coarse.values)]


def test_flows_and_corrections_by_blocks_are_those_of_the_whole_grid(plain, blocks):
    coarse, found = corrected()
    assert len(coarse.blocks.apart) == 2
    blocks(10**9)
    coarse, expected = corrected()
    assert len(coarse.blocks.apart) == 1
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-13, abs=0.0)
