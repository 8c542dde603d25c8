"""Values of ~ in place of not."""

from __future__ import annotations

import pytest

from markov.models.functions.inversions import is_inverted


def inverse(truth: bool) -> int:
    return ~truth


def helped(n: int) -> int:
    return inverse(n > 3)


def nested(n: int) -> int:
    def inner(m: int) -> int:
        return ~(m > 3)

    return inner(n)


@pytest.mark.parametrize("function", [inverse, helped, nested, lambda n: ~(n > 3)])
def test_values_of_a_function_with_a_tilde_are_inverted(function):
    assert [is_inverted(value, function) for value in (-2, -1, 0, 1, True)] == [
        True, True, False, False, False
    ]  # fmt: skip
    assert is_inverted(function(True), function)


@pytest.mark.parametrize("function", [lambda n: n - 2, abs, "label"])
def test_numbers_of_other_functions_are_numbers(function):
    assert not is_inverted(-1, function)
