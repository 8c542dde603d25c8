"""Which kinds of cells are written out."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.loops.patterns import Candidates, Pattern, Term, frequent, of_grid
from tests.markov.multigrid.grids.conftest import TANDEM, grid_layout


def test_the_most_frequent_kind_of_cell_comes_first():
    grid, _ = grid_layout(TANDEM).into
    candidates = of_grid(grid)
    chosen, numbers = frequent(candidates, grid.shares)
    # arrivals, departures from both queues; recovery into the lower state
    assert [len(terms) for terms in chosen[0].sums] == [4, 3]
    assert grid.shares[numbers == 1].sum() > 0.3
    assert grid.shares[numbers == 1].sum() >= grid.shares[numbers == 2].sum()
    for kind, number in enumerate(numbers.tolist()):
        assert number == 0 or chosen[number - 1] == candidates.pattern(kind)


def test_kinds_that_may_not_be_chosen_are_not():
    grid, _ = grid_layout(TANDEM).into
    chosen, numbers = frequent(of_grid(grid), 0.0 * grid.shares)
    assert chosen == []
    assert not numbers.any()


def test_a_pattern_knows_its_rows_and_how_far_ahead_the_other_row_has_to_be():
    sums = ((Term((1,), -6), Term((0,), 1)), (Term((-1,), 3), Term((1,), 0)))
    pattern = Pattern(sums, 2)
    assert pattern.leads == [(-1,), (1,)]
    assert pattern.lag == 3  # cells of two states
    assert pattern.size == 4


def test_large_cells_are_left_to_loops():
    terms = np.zeros((201, 4), dtype=np.int64)
    ends, none = np.array([0, 201]), np.empty((1, 0), dtype=np.int64)
    chosen, numbers = frequent(Candidates(terms, ends, np.array([0, 1]), none, 1), np.ones(1))
    assert chosen == []
    assert numbers.tolist() == [0]
    assert numbers.dtype == np.uint64
