"""Loops that mark states, on a row of four cells with steps to the right."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.loops import place_kernels as kernels
from markov.multigrid.grids.loops.tables import ONE, ZERO, Cells, unsigned


def row(bit):
    """Return the tables of one row of four cells of one slot, the last without an entry, and marks."""
    lines = [0], [[0, 0, 0, 1]], [0, 2], [0, 3], [3, 4], [0, 1]
    entries = map(unsigned, ([0, 1, 1], [1], [0]))
    cells = Cells(*map(unsigned, lines), np.uint64(4), ONE, *entries)
    marks = np.zeros(4, dtype=np.uint8)
    kernels.fill((ZERO, ONE), cells, np.array([True, True]), bit, marks)
    return cells, marks


def test_marks_spread_along_transitions_in_one_run_forward(plain):
    cells, marks = row(1)
    assert marks.tolist() == [1, 1, 1, 1]
    marks[1] |= 2
    table = (ZERO, ONE), cells
    assert kernels.spread(*table, False, 1, 2, marks) == 2
    assert marks.tolist() == [1, 3, 3, 3]
    assert kernels.spread(*table, True, 1, 2, marks) == 0
    states, transitions = kernels.count_entries(*table, 2, marks)
    assert (states, int(transitions)) == (3, 2)


def test_marks_follow_transitions_state_by_state(plain):
    cells, marks = row(1)
    marks[1] |= 2
    assert kernels.follow(cells, np.zeros(1, dtype=np.uint64), 1, 2, marks) == 2
    assert marks.tolist() == [1, 3, 3, 3]


def test_numbers_of_states_without_a_mark_are_zero():
    x, marks = np.ones(3), np.array([1, 2, 3], dtype=np.uint8)
    kernels.keep((0, 1), 3, 2, marks, x)
    assert x.tolist() == [0.0, 1.0, 1.0]
