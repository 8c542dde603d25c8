"""What `stationary` checks, failures that carry the result, and the classes of errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hopflow
import markov
from hopflow import NotSolvedError, Status
from hopflow import errors as shared
from markov import Solution, errors, stationary, stationary_by_class
from tests.surface import for_each


class Broken:
    """A method that returns what it was given."""

    def __init__(self, pi):
        self.pi = np.array(pi)

    def solve(self, Q, components=None):
        return Solution(self.pi)


@pytest.mark.parametrize(
    ("pi", "status"),
    [
        ([math.nan, 1.0], Status.NOT_FINITE),
        ([math.inf, 1.0], Status.NOT_FINITE),
        ([-0.1, 1.1], Status.NEGATIVE),
        ([0.5, 0.5], Status.INACCURATE),
    ],
)
def test_failure_carries_the_result(pi, status):
    Q = [[-1.0, 1.0], [2.0, -2.0]]
    with pytest.raises(NotSolvedError) as caught:
        stationary(Q, Broken(pi))
    result = caught.value.result
    assert result.status is status
    assert str(status) in str(caught.value)
    assert result.error_bound == math.inf
    np.testing.assert_array_equal(result.pi, pi)
    returned = stationary(Q, Broken(pi), on_failure="return")
    assert returned.status is status
    assert status.label in repr(returned)
    (by_class,) = stationary_by_class(Q, Broken(pi), on_failure="return")
    assert by_class.status is status


@for_each(errors.__all__)
def test_they_are_those_of_the_core_and_of_the_package(name: str) -> None:
    found = getattr(errors, name)
    assert issubclass(found, (Exception, Warning))


def test_a_rule_that_fails_raises_the_error_of_the_package() -> None:
    assert errors.RuleError is shared.RuleError
    with pytest.raises(errors.RuleError, match="division"):
        markov.explore(lambda x, q: [(x + 1, 1.0 / 0.0)], start=0)
    assert issubclass(errors.ConvergenceError, hopflow.NotSolvedError)
