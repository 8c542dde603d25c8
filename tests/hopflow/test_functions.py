"""Functions of rules on plain numbers."""

from __future__ import annotations

import math

import pytest

from hopflow import maximum, minimum, where


def test_functions_of_rules():
    assert where(True, 1, 2) == 1
    assert where(False, 1, 2) == 2
    assert (maximum(1, 2), minimum(1, 2)) == (2, 1)
    assert (maximum(2.0, 1.0), minimum(2.0, 1.0)) == (2.0, 1.0)


@pytest.mark.parametrize(("x", "y"), [(-0.5, 0.25), (3.0, 3.0), (math.inf, 1.0), (-2, -7)])
def test_they_are_the_builtins_on_two_numbers(x, y):
    assert maximum(x, y) == max(x, y)
    assert minimum(x, y) == min(x, y)
    assert where(x < y, x, y) == min(x, y)
