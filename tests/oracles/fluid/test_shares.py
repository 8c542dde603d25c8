"""Shares of a link by hand: max-min fairness, ranks, classes that are paused for a part of a step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.fluid.shares import equal_parts, paces, parts_by_rank

Q = 2.0**-26


def test_equal_parts_are_max_min_fair_and_leave_nothing() -> None:
    found = equal_parts(np.array([0.5, 9.0, 2.0, 9.0]), 6.5, Q)
    assert found.tolist() == [0.5, 2.0, 2.0, 2.0]
    third = equal_parts(np.full(3, 9.0), 1.0, Q)
    assert third.sum() == 1.0
    assert np.ptp(third) == Q  # what does not divide goes to the first
    assert equal_parts(np.array([1.0, 2.0]), 9.0, Q).tolist() == [1.0, 2.0]


def test_the_lowest_rank_comes_first() -> None:
    ranks = np.array([1, 0, 1])
    assert parts_by_rank(np.array([5.0, 3.0, 5.0]), ranks, 4.0, Q).tolist() == [0.5, 3.0, 0.5]


def test_a_class_that_is_paused_for_half_a_step_sends_half_of_its_share() -> None:
    ranks, waits = np.zeros(2, int), np.array([9.0, 9.0])
    assert paces(waits, ranks, np.array([0.0, 0.0]), 4.0, Q).tolist() == [2.0, 2.0]
    assert paces(waits, ranks, np.array([0.0, 0.5]), 4.0, Q).tolist() == pytest.approx([3.0, 1.0])
    assert paces(waits, ranks, np.array([0.0, 1.0]), 4.0, Q).tolist() == [4.0, 0.0]
