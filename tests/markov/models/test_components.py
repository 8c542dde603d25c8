"""Values of components, and their codes."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from markov.models.components import (
    MAX_CODE,
    NO_END,
    Component,
    codes_of,
    is_finite,
    is_vector,
    known_value,
    values_of,
)


class Mode(Enum):
    IDLE = 1
    BUSY = 2


COUNT = Component("n", range(-2, 3))
MODE = Component("mode", (Mode.IDLE, Mode.BUSY))
PLACE = Component("place", ("in", "out"))
PAIR = Component("pair", ((1, 2), (3, 4)))


@pytest.mark.parametrize(
    ("component", "values", "codes"),
    [
        (COUNT, [2, -2, 0], [2, -2, 0]),
        (MODE, [Mode.BUSY, Mode.IDLE], [1, 0]),
        (PLACE, ["out", "out"], [1, 1]),
        (PAIR, [(3, 4), (1, 2)], [1, 0]),
    ],
    ids=["range", "enum", "strings", "tuples"],
)
def test_values_and_codes_are_the_inverse_of_each_other(
    component: Component, values: list[Any], codes: list[int]
) -> None:
    found = codes_of(component, values)
    np.testing.assert_array_equal(found, codes)
    assert component.values_at(found).tolist() == values


def test_low_and_count() -> None:
    assert (COUNT.low, COUNT.count) == (-2, 5)
    assert (MODE.low, MODE.count) == (0, 2)
    assert Component("n", range(NO_END * 4096)).count == NO_END * 4096  # more than len can say


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1, 2], range(1, 4)),
        ([(1, 5), (2, 3)], (range(1, 3), range(3, 6))),
        ([(1, 5), (2,)], [(1, 5), (2,)]),
        (["b", "a", "b"], ["b", "a"]),
        ([True, False], [True, False]),  # no whole numbers
        ([0, MAX_CODE], [0, MAX_CODE]),  # beyond 62 bits
    ],
    ids=["range", "vector", "two lengths", "strings", "truth values", "large"],
)
def test_values_that_were_found(column: list[Any], expected: Any) -> None:
    assert values_of(column) == expected


def test_a_value_is_that_of_the_component() -> None:
    assert type(known_value(COUNT, 2.0)) is int
    assert known_value(COUNT, Fraction(1)) == 1
    assert known_value(MODE, Mode.BUSY) is Mode.BUSY
    for component, value in ((COUNT, 3), (COUNT, "1"), (MODE, 2)):
        with pytest.raises(ValueError, match="outside the space"):
            known_value(component, value)


def test_what_a_space_may_declare() -> None:
    assert all(map(is_finite, (range(3), ["a", "b"], Mode, (1, 2.5))))
    refused = (range(0), range(0, 4, 2), [], ["a", "a"], "ab", {"a": 1}, [[1], [2]], 3)
    assert not any(map(is_finite, refused))
    assert is_vector((range(2), range(3)))
    assert not any(map(is_vector, ((), range(2), (range(2), 3), "ab")))
