"""Grids of kinds of cells: numbers of states, entries, and circles within a cell."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.grids import Grid, segmented


def grid():
    """Two rows of three cells of two slots; the last cell of each row is of another kind."""
    steps, others = np.array([[0, 1], [0, 0], [1, 0], [0, 0], [0, 0]]), np.array([0, 1, 0, 0, 1])
    begin, rows = np.array([0, 2, 4, 5, 5]), np.array([[0, 0, 1]])
    return Grid((2, 3), 2, begin, steps, others, rows, np.array([0, 0]))


def test_steps_are_differences_of_numbers_of_states():
    assert grid().size == 12
    assert grid().strides.tolist() == [6, 2]
    assert grid().step.tolist() == [2, 1, 5, -1, 1]
    assert grid().begin.tolist() == [0, 2, 4, 5, 5]


def test_each_row_has_the_entries_of_its_cells():
    assert grid().counts.tolist() == [4, 1]
    assert grid().value_begin.tolist() == [0, 9, 18]
    assert grid().shares.tolist() == [2 / 3, 1 / 3]


def test_transitions_there_and_back_within_a_cell_form_a_circle():
    assert grid().cyclic.tolist() == [True, False]


def test_runs_of_equal_numbers():
    first, begins, numbers = segmented(np.array([[4, 4, 7], [1, 1, 1]]))
    assert first.tolist() == [0, 2, 3]
    assert begins.tolist() == [0, 2, 0]
    assert numbers.tolist() == [4, 7, 1]
