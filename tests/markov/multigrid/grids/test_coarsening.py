"""Coarse grids: the flows between aggregates, against products of matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.layouts import Rates
from tests.markov.multigrid.grids.conftest import MODELS, grid_layout, matrix_of


def aggregates(grid, factor):
    """Return the number of the coarse state of each state, and how many there are."""
    places = np.indices((*grid.shape, grid.width)).reshape(len(grid.shape) + 1, -1)
    coarse = [*(p // f for p, f in zip(places, factor, strict=False)), places[-1]]
    shape = (*(-(-n // f) for n, f in zip(grid.shape, factor, strict=True)), grid.width)
    return np.ravel_multi_index(coarse, shape), int(np.prod(shape))


@pytest.mark.parametrize("factors", [(2, 2), (3, 1), (1, 4), (4, 4)])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_parts_of_entries_are_all_flows_between_different_aggregates(model, factors):
    grid, _ = grid_layout(model).out
    coarse, aggregation = coarsened(grid, factors)
    labels, m = aggregates(grid, factors)
    assert coarse.size == m
    join = sp.csr_matrix((np.ones(grid.size), (np.arange(grid.size), labels)), shape=(grid.size, m))
    expected = (join.T @ matrix_of(grid) @ join).toarray()
    np.fill_diagonal(expected, 0.0)
    counts = np.diff(aggregation.parts.begin)
    weighed = matrix_of(coarse, Rates(counts.astype(float), np.zeros(0), np.zeros(0)))
    assert np.array_equal(weighed.toarray(), expected)


def test_few_kinds_are_left_on_every_level():
    grid, _ = grid_layout(MODELS[1]).out
    first = grid.kinds
    while min(grid.shape) > 1:
        grid, _ = coarsened(grid, (2, 2))
        assert grid.kinds <= first
