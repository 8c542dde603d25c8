"""The loops of the compiled search, as plain Python."""

from __future__ import annotations

import numpy as np

from markov.files.states import search_kernels as kernels
from markov.files.states.table_search import Edges, FilledRows, States


def test_a_hashed_state_is_found_again_and_others_are_not() -> None:
    numbers = np.random.default_rng(3).integers(0, 2**61, 60)
    numbers[:20] = np.arange(20)  # in a row, and so side by side
    mask = 127
    slots = np.zeros(2 * (mask + 1), dtype=object)  # whole numbers of Python's do not wrap
    kernels.rehash(numbers.tolist(), 50, slots, mask)
    assert sorted(slots[::2]) == [0] * 78 + list(range(1, 51))
    for s in range(50):
        assert slots[kernels.locate(int(numbers[s]), slots, mask)] == s + 1
    for s in range(50, 60):
        assert slots[kernels.locate(int(numbers[s]), slots, mask)] == 0


def test_a_state_is_numbered_when_it_is_met_first() -> None:
    numbers, slots, targets = np.zeros(5, int), np.zeros(8, int), np.zeros(3, int)
    states = States(numbers, np.zeros(0), np.zeros(0), slots, -1)
    count = 0
    for recorded, number in enumerate([6, 2, 6]):
        count = kernels.emit(number, count, recorded, states, Edges(targets, np.zeros(3)))
    assert count == 2
    assert targets.tolist() == [0, 1, 0]
    assert numbers[:2].tolist() == [6, 2]


def test_a_row_is_sorted_and_adds_up_equal_targets() -> None:
    indices, values, held = np.zeros(6, int), np.zeros(6), 0
    for target, value in [(5, 1.0), (2, 2.0), (7, 3.0), (2, 4.0), (3, 5.0)]:
        held = kernels.insert(1, held, target, value, indices, values)
    assert indices[1 : 1 + held].tolist() == [2, 3, 5, 7]
    assert values[1 : 1 + held].tolist() == [6.0, 5.0, 1.0, 3.0]


def test_rows_are_filled_with_a_diagonal_and_compressed() -> None:
    degrees, rank = np.array([3, 0, 1]), np.array([1, 0, 2])
    start = np.array([0, 1, 5, 7])
    indices, values = np.zeros(7, int), np.zeros(7)
    counts, loops = np.zeros(3, int), np.zeros(3)
    # state 0 has two ways to 2 and a loop, 1 none, 2 goes to 1
    edges = Edges(np.array([2, 0, 2, 1]), np.array([1.0, 9.0, 3.0, 2.0]))
    kernels.fill(0, 3, degrees, edges, rank, FilledRows(start, indices, values, counts, loops))
    indptr = np.append(0, np.cumsum(counts))
    kernels.compress(start, indptr, indices, values)
    assert indptr.tolist() == [0, 0, 2, 4]
    assert indices[:4].tolist() == [1, 2, 0, 2]
    assert values[:4].tolist() == [-4.0, 4.0, 2.0, -2.0]
    assert loops.tolist() == [0.0, 9.0, 0.0]
