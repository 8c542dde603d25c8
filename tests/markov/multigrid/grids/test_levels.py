"""Levels: axes along which most is exchanged, and their memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened
from tests.markov.multigrid.grids.conftest import TANDEM, finest, grid_of, on_grid


def test_axes_along_which_states_exchange_most_are_joined(plain):
    level = finest(on_grid(np.ones(grid_of(TANDEM).places.size)))
    rates = level.rates.rate.copy()
    rates[level.grid.steps[:, 0] != 0] *= 1e-3
    assert level.strong(level.carried(False, rates)) == (False, True)
    assert level.strong_axes() == (True, True)


def test_levels_are_freed_without_a_collector() -> None:
    """What nobody uses any more gives its memory to the bound at once: no level holds itself."""
    fine = finest(np.full(len(grid_of(TANDEM).places.marks), 1.0))
    grid, aggregation = coarsened(fine.grid, (2, 4))
    coarse = Coarse(grid, aggregation, fine)
    coarse.restrict()
    held = [weakref.ref(level) for level in (fine, coarse)]
    gc.disable()
    try:
        del fine, coarse
        assert [level() for level in held] == [None, None]
    finally:
        gc.enable()
