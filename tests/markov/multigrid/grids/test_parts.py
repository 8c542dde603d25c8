"""Flows that make up those of a coarse grid: their sums are products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.parts import Parts
from tests.markov.multigrid.grids.conftest import TANDEM, grid_layout, matrix_of
from tests.markov.multigrid.grids.test_coarsening import aggregates


@pytest.mark.parametrize("by_source", [True, False])
def test_parts_lead_out_of_the_state_that_they_name(by_source):
    layout = grid_layout(TANDEM)
    grid, rates = layout.out if by_source else layout.into
    coarse, aggregation = coarsened(grid, (2, 3))
    parts = Parts(grid, aggregation, by_source=by_source)
    begins, part_begin, source = (each.astype(np.int64) for each in parts.table[1:4])
    flows = matrix_of(grid, rates).toarray()
    flows = flows if by_source else flows.T  # from a state to another
    labels, m = aggregates(grid, (2, 3))
    x = np.random.default_rng(2).random(grid.size)
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    between = join.T @ (x[:, None] * flows) @ join
    kind = coarse.rows[coarse.row_kind[0], 0]  # of the first coarse cell, whose first state is 0
    for number, e in enumerate(range(begins[kind], begins[kind + 1])):
        own = slice(part_begin[e], part_begin[e + 1])
        total = x[source[own]] @ rates.rate[parts.entry[own]]
        entry = coarse.begin[kind * coarse.width] + number
        slot = int(np.searchsorted(coarse.begin, entry, "right")) - 1 - kind * coarse.width
        there = slot + coarse.step[entry]
        pair = (slot, there) if by_source else (there, slot)
        assert total == pytest.approx(between[pair], rel=1e-12)
