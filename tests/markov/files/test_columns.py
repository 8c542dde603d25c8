"""Parts of states, and what is remembered over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from markov.files.columns import Columns

CODES = np.array([[0, 1, 2, 3], [5, 6, 7, 8]])


def test_a_part_has_the_values_and_the_numbers_of_its_states() -> None:
    part = Columns(CODES, np.array([10, 20, 30, 40])).take(np.array([3, 1]))
    assert part.codes.tolist() == [[3, 1], [8, 6]]
    assert part.states is not None
    assert part.states.tolist() == [40, 20]
    assert part.count == 2
    assert Columns(CODES).take(np.array([0])).states is None


def test_as_many_states_as_there_are_is_all_of_them() -> None:
    whole = Columns(CODES)
    assert whole.take(np.arange(4)) is whole


def test_a_formula_is_computed_once_in_the_same_states_and_anew_in_others() -> None:
    asked = []

    def formula(c: Columns) -> Any:
        asked.append(c.count)
        return c.codes[0] + c.codes[1]

    whole = Columns(CODES)
    assert whole.remembered(formula).tolist() == [5, 7, 9, 11]
    assert whole.remembered(formula) is whole.remembered(formula)
    assert whole.take(np.array([2])).remembered(formula).tolist() == [9]
    assert asked == [4, 1]
