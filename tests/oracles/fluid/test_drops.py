"""What full buffers drop in the reference, by hand; beside the kernel in `test_reference`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.fluid.drops import (
    RandomNumbers,
    draw,
    drop_in_turn,
    drop_part,
    drop_whole,
    time_until_full,
)

Q = 2.0**-26


def test_random_numbers_are_those_of_park_and_miller() -> None:
    """Of the generator with multiplier 48271 the 10,000th number from seed 1 is 399268537."""
    random = RandomNumbers(1)
    for _ in range(10_000):
        random()
    assert random.seed == 399268537


def test_a_place_is_drawn_in_proportion() -> None:
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    assert [draw(weights, at) for at in (0.0, 0.24, 0.26, 1.0)] == [1, 1, 2, 2]


def test_a_buffer_that_fills_evenly_is_full_after_what_fits() -> None:
    assert time_until_full(1.0, 4.0) == 0.75
    assert time_until_full(5.0, 4.0) == time_until_full(1.0, 0.0) == 0.0


def test_parts_are_rounded_up_and_never_more_than_the_excess() -> None:
    fresh = np.array([1.0, 2.0, 1.0])
    assert drop_part(fresh, 2.0, 0.5, 0.25).tolist() == [0.0, 1.25, 0.75]
    assert drop_in_turn(fresh, 2.0, 0.25).tolist() == [0.75, 1.25, 0.0]
    thirds = drop_part(fresh, 4.0 / 3.0, 1.0 / 3.0, Q)
    assert thirds == pytest.approx(fresh / 3.0, abs=3 * Q)
    assert drop_in_turn(fresh, 9.0, Q).tolist() == fresh.tolist()


def test_whole_packets_are_lost_of_one_flow_and_the_rest_of_one_later() -> None:
    fresh, owed = np.array([0.5, 0.5]), np.zeros(2)
    numbers = iter([0.1, 0.9])
    assert drop_whole(fresh, owed, 0.75, lambda: next(numbers)).tolist() == [0.5, 0.25]
    assert owed.tolist() == [0.5, 0.75]
    assert drop_whole(fresh, owed, 0.75, lambda: next(numbers)).tolist() == [0.5, 0.25]
    assert owed.tolist() == [0.0, 0.5]
