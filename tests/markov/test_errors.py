"""Errors of markov: the classes that its methods and rules raise."""

from __future__ import annotations

import pytest

import hopflow
import markov
from hopflow import errors as shared
from markov import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_they_are_those_of_the_core_and_of_the_package(name: str) -> None:
    found = getattr(errors, name)
    assert issubclass(found, (Exception, Warning))


def test_a_rule_that_fails_raises_the_error_of_the_package() -> None:
    assert errors.RuleError is shared.RuleError
    with pytest.raises(errors.RuleError, match="division"):
        markov.explore(lambda x, q: [(x + 1, 1.0 / 0.0)], start=0)
    assert issubclass(errors.ConvergenceError, hopflow.NotSolvedError)
