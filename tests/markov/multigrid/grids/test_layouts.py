"""Layouts of models on grids, against the matrices that plain Python gives."""

from __future__ import annotations

import numpy as np
import pytest

from markov import explore
from tests.markov.multigrid.grids.conftest import CHAIN, MODELS, Batches, grid_of, matrix_of


@pytest.mark.parametrize(
    "model", [*MODELS, Batches(), pytest.param(CHAIN, marks=pytest.mark.slow)], ids=repr
)
def test_both_tables_are_the_generator_of_plain_python(model, plain):
    grid = grid_of(model)
    found = explore(model, compiled=False).chain
    indices = np.concatenate([places for _, places in grid.places.blocks()])
    off = found.Q.toarray() * (1.0 - np.eye(found.size))
    out, into = (matrix_of(*side) for side in (grid.layout.out, grid.layout.into))
    assert np.allclose(out.toarray()[np.ix_(indices, indices)], off, rtol=1e-15, atol=0.0)
    assert np.allclose(into.toarray()[np.ix_(indices, indices)], off.T, rtol=1e-15, atol=0.0)
