"""A number and the interval that holds the exact one."""

from __future__ import annotations

import math
from typing import Any

import pytest

from markov import MM1K, passage

Bounded = type(passage(MM1K(capacity=2), to=(2,), start=(0,)).quantile(0.5))


def test_the_error_is_the_distance_to_the_farther_end() -> None:
    found = Bounded(2.0, 1.5, 2.25)
    assert found.error == 0.5
    assert float(found) == 2.0
    assert 1.5 in found
    assert 2.3 not in found
    assert repr(found) == "2 +- 0.5"


@pytest.mark.parametrize(
    ("bounded", "error"),
    [
        (Bounded(2.0, 1.0, 4.0), 2.0),  # |exact| >= 1, off by at most 2
        (Bounded(-2.0, -4.0, -1.0), 2.0),
        (Bounded(0.5, -1.0, 1.0), math.inf),  # it may be zero
        (Bounded(0.0, 0.0, 0.0), 0.0),
        (Bounded(3.0, 3.0, 3.0), 0.0),
        (Bounded(3.0, -math.inf, math.inf), math.inf),
        (Bounded(math.inf, math.inf, math.inf), 0.0),
    ],
    ids=repr,
)
def test_the_relative_error_is_relative_to_the_smallest_size(bounded: Any, error: float) -> None:
    assert bounded.relative_error == error
