"""Moves of regions, and the places of boxes of an array."""

from __future__ import annotations

import itertools

import numpy as np

from markov.generators.curves import Curve
from markov.generators.regions import Region
from markov.generators.tracing import Span
from markov.multigrid.grids.counts import Along, Varying
from markov.multigrid.grids.moves import moves_of, products


def test_all_places_of_boxes_come_in_their_order():
    low, high = np.array([[0, 1], [2, 2], [1, 0]]), np.array([[2, 3], [3, 2], [2, 1]])
    which, numbers = products(low, high, (3, 4))
    expected = [
        (box, a * 4 + b)
        for box in range(3)
        for a, b in itertools.product(*map(range, low[box].tolist(), high[box].tolist()))
    ]
    assert (
        list(zip(which.tolist(), numbers.tolist(), strict=True)) == expected
    )  # the second is empty


def test_without_axes_every_box_is_one_place():
    which, numbers = products(np.empty((2, 0), dtype=int), np.empty((2, 0), dtype=int), ())
    assert which.tolist() == [0, 1]
    assert numbers.tolist() == [0, 0]


def test_moves_are_rows_for_each_combination_of_a_region():
    regions = [Region((1, 5, 0), (2, 8, 1), [((1, -1, 0), 2.0), ((0, 0, 0), 9.0)])]
    moves = moves_of(regions, (1, 3, 0), [1], [0, 2], [3, 2])
    assert moves.low.tolist() == [[2]] * 4
    assert moves.high.tolist() == [[6]] * 4
    assert moves.step.tolist() == [[-1]] * 4
    assert moves.source.tolist() == [0, 1, 2, 3]
    assert moves.target.tolist() == [2, 3, 4, 5]
    assert moves.rate.tolist() == [2.0] * 4  # what changes nothing is none
    assert moves.back.low.tolist() == [[1]] * 4
    assert moves.back.source.tolist() == moves.target.tolist()
    shifted = moves.shifted(0, np.array([0, 0, 10, 10, 20, 20]))
    assert shifted.low.ravel().tolist() == [2, 2, 12, 12]
    assert shifted.step.ravel().tolist() == [9, 9, 9, 9]


def test_rates_that_depend_on_counts_move_with_their_states():
    """Along the axis they are one rate; of a component within the cells each value has its own."""
    values = np.arange(9.0)
    along = Curve(Span(1, 5, 8), 1, 0, values)
    within = Curve(Span(0, 1, 2), 0, 0, values)
    regions = [Region((1, 5), (2, 8), [((0, -1), along), ((0, 1), within)])]
    moves = moves_of(regions, (1, 3), [1], [0], [3])
    curve = Varying(0.0, (Along(0, 0, values.tobytes()),))
    assert moves.variants == (curve,)
    assert moves.varying.tolist() == [0, 0, -1, -1]
    assert moves.source.tolist() == [0, 1, 0, 1]
    assert moves.rate.tolist() == [0.0, 0.0, 1.0, 2.0]
    shifted = moves.shifted(0, np.array([0, 10, 20]))
    assert shifted.variants == (curve, curve.moved(0, 10))
    assert shifted.varying.tolist() == [0, 1, -1, -1]
