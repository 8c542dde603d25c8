"""Sensitivities as results: both sides of a kink joined or stated, and the error that states them."""

from __future__ import annotations

import pickle

import pytest

from markov.analysis.sensitivity_results import joined, no_derivative, shortest
from markov.errors import NoDerivativeError
from markov.results import Sensitivity


def from_below(derivative: float, error: float = 1e-9) -> Sensitivity:
    return Sensitivity("c", "L", 8.0, derivative, error, derivative * 3.0 / 8.0, side="left")


def from_above(derivative: float, error: float = 1e-9) -> Sensitivity:
    return Sensitivity("c", "L", 8.0, derivative, error, derivative * 3.0 / 8.0, side="right")


def test_sides_that_agree_within_their_errors_are_one_derivative() -> None:
    found = joined(from_below(-2.0, 0.3), from_above(-1.6, 0.2))
    assert found is not None
    assert found.side is None
    assert found.derivative == pytest.approx(-1.8)
    assert found.error == pytest.approx(0.3 + 0.2)  # reaches both ends of both intervals at least
    assert found.elasticity == pytest.approx(-1.8 * 3.0 / 8.0)


def test_sides_that_differ_by_more_are_not_joined() -> None:
    assert joined(from_below(-2.0, 0.1), from_above(-1.6, 0.2)) is None


@pytest.mark.parametrize(
    ("left", "right", "single", "said"),
    [
        ([from_below(-15.909)], [from_above(-15.44)], True,
         'no derivative at c = 3: -15.91 from below, -15.44 from above; write side="left" or side="right"'),
        ("L jumps from 1 to 2 below it", [from_above(0.5)], True,
         'no derivative at c = 3: L jumps from 1 to 2 below it, 0.5 from above; write side="right"'),
        ([from_below(1.0), from_below(2.0)], "the states change above it", False,
         'no derivative at c = 3: [1, 2] from below, the states change above it; write side="left"'),
    ],
    ids=["kink", "jump", "vector"],
)  # fmt: skip
def test_both_sides_are_stated(left: object, right: object, single: bool, said: str) -> None:
    error = no_derivative("c", 3.0, left, right, single=single)
    assert str(error) == said
    for given, found in ((left, error.left), (right, error.right)):
        expected = None if isinstance(given, str) else given
        assert found == (expected[0] if single and isinstance(expected, list) else expected)


@pytest.mark.parametrize("number", [3.0, 0.1, 1.0 / 3.0, 1e-300, 12345678.5])
def test_the_shortest_text_of_a_number_gives_it_back(number: float) -> None:
    assert float(shortest(number)) == number
    assert len(shortest(number)) <= len(repr(number))


def test_the_error_comes_back_from_another_process() -> None:
    error = NoDerivativeError("no derivative", 1.0, 2.0)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.left, again.right) == ("no derivative", 1.0, 2.0)
