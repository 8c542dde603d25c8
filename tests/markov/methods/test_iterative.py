"""Parameters of Gauss-Seidel and of the power method."""

from __future__ import annotations

import pytest

from markov import GaussSeidel, Power


@pytest.mark.parametrize(
    ("method", "changes", "said"),
    [
        (GaussSeidel, {"ordering": "red-black"}, r"^ordering = 'red-black': must be one of"),
        (GaussSeidel, {"tolerance": 0.0}, r"^tolerance = 0: must be a finite number > 0"),
        (GaussSeidel, {"max_iterations": 0}, r"^max_iterations = 0: must be a whole number"),
        (Power, {"laziness": 0.0}, r"^laziness = 0: must be a finite number > 0"),
        (Power, {"tolerance": 1.0}, r"^tolerance = 1: must be a finite number > 0 and < 1"),
    ],
)
def test_bad_parameters(method, changes, said):
    with pytest.raises(ValueError, match=said):
        method(**changes)
