"""Tables of a grid: entries, layouts and parts."""

from __future__ import annotations

import numpy as np
import pytest

from markov import explore
from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.counts import Along, Varying
from markov.multigrid.grids.entries import entries_of
from markov.multigrid.grids.moves import Moves
from markov.multigrid.grids.parts import Parts
from tests.markov.multigrid.grids.conftest import (
    CHAIN,
    MODELS,
    TANDEM,
    Batches,
    grid_layout,
    grid_of,
    matrix_of,
)
from tests.markov.multigrid.grids.test_coarsening import aggregates


def test_moves_between_the_same_slots_are_one_entry():
    """A queue of 0, 1..4 and 5 packets with two sorts of arrivals, and a combination that is not there."""
    arrival = [[0], [5], [1]], 0, 0
    rows = [(*arrival, 0.1), (*arrival, 0.2), ([[1], [6], [-1]], 0, 0, 3.0), (*arrival[:2], 1, 7.0)]
    cells = np.array([row[0] for row in rows]).transpose(1, 0, 2)
    rest = (np.array(column) for column in list(zip(*rows, strict=True))[1:])
    count = Varying(0.0, (Along(0, 0, np.arange(6.0).tobytes()),))
    some = np.array([-1, 0, -1, -1]), (count,)  # the second sort arrives at a rate that grows, too
    moves, cuts = Moves(*cells, *rest, *some), [np.array([0, 1, 5])]
    slot = np.array([[0, -1]] * 3)
    found = entries_of(cuts, slot, 1, moves)
    assert found.place.tolist() == [0, 1, 1, 2]
    assert found.step.ravel().tolist() == [1, -1, 1, -1]
    assert found.rate.tolist() == [0.1 + 0.2, 3.0, 0.1 + 0.2, 3.0]
    assert found.first.tolist()[0] < found.first.tolist()[1]
    same = found.by_box(3)
    assert len(set(same)) == 3
    assert found.of_boxes(np.array([2, 0])).step.ravel().tolist() == [-1, 1]
    assert found.varying.tolist() == [0, -1, 0, -1]
    assert found.rates == [count + (0.1 + 0.2), 3.0, count + (0.1 + 0.2), 3.0]


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
