"""Transitions of boxes of cells: sums of the moves that are the same one."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.counts import Along, Varying
from markov.multigrid.grids.entries import entries_of
from markov.multigrid.grids.moves import Moves


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
