"""Elements, choices and parts put together are those of Python in each state."""

from __future__ import annotations

import numpy as np
import pytest

from markov.generators.array_rules.operations import NotOnArraysError, UniformArray
from markov.generators.array_rules.selections import element, maximum, merged, minimum, selected

WHOLE = np.array([-7, -1, 1, 2, 9])
REAL = np.array([-2.5, -0.0, 0.1, 1e300, np.inf])


def test_elements():
    assert element((1.0, 2.0, 3.0), np.array([0, -1])).tolist() == [1.0, 3.0]
    rows = element(((1.0, 2.0), (3.0, 4.0)), np.array([1, 0]))
    assert [part.tolist() for part in rows] == [[3.0, 1.0], [4.0, 2.0]]
    assert element(UniformArray(np.array([5.0, 6.0])), np.array([1])).tolist() == [6.0]
    with pytest.raises(IndexError):
        element((1.0,), np.array([1]))
    for values in ((1, 2.0), ("a", "b"), (2**60, 1)):
        with pytest.raises(NotOnArraysError):
            element(values, np.array([0]))
    with pytest.raises(NotOnArraysError):
        element((1.0,), np.array([0.0]))


def test_choices():
    condition = WHOLE > 0
    assert selected(condition, 1, 2.5).tolist() == [2.5, 2.5, 1.0, 1.0, 1.0]
    assert selected(condition, "a", "a") == "a"
    with pytest.raises(NotOnArraysError):
        selected(condition, "a", "b")
    assert minimum(WHOLE, 1).tolist() == [min(x, 1) for x in WHOLE.tolist()]
    assert maximum(0.0, REAL).tolist() == [max(0.0, x) for x in REAL.tolist()]
    assert minimum(3, 2) == 2
    not_a_number = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(minimum(not_a_number, 2.0), [min(np.nan, 2.0), 1.0])


def test_parts_are_put_together():
    low, high = np.array([0, 2]), np.array([1])
    assert merged(3, [(low, np.array([1, 2])), (high, 5)]).tolist() == [1, 5, 2]
    assert merged(3, [(low, 1.5), (high, np.array([2]))]).tolist() == [1.5, 2.0, 1.5]
    assert merged(3, [(low, "x"), (high, "x")]) == "x"
    pair = merged(3, [(low, (1, True)), (high, (2, False))])
    assert [part.tolist() for part in pair] == [[1, 2, 1], [True, False, True]]
    for wrong in ("x", (1, 2), None):
        with pytest.raises(NotOnArraysError):
            merged(3, [(low, 1), (high, wrong)])
