"""Three-valued truth and numbers with errors: every combination against all that it may stand for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from markov.files.properties.enclosures import (
    Known,
    Truth,
    calculated,
    compared,
    probability,
    selected,
)

FALSE, OPEN, TRUE = (False,), (False, True), (True,)
VALUES = (FALSE, OPEN, TRUE)


def truth(values: Any) -> Truth:
    """Return a set of one state, of which a truth value may be any of those given."""
    return Truth(np.array([all(values)]), np.array([any(values)]))


def stands_for(found: Truth) -> tuple[bool, ...]:
    if found.surely[0]:
        return TRUE
    return OPEN if found.possibly[0] else FALSE


@pytest.mark.parametrize(("a", "b"), list(itertools.product(VALUES, VALUES)))
def test_truth_values_combine_as_all_that_they_may_stand_for(a: Any, b: Any) -> None:
    """Of two unrelated values, Kleene's tables are what remains possible."""
    cases: list[tuple[Any, Any]] = [
        (truth(a) & truth(b), lambda x, y: x and y),
        (truth(a) | truth(b), lambda x, y: x or y),
        (~truth(a) | truth(b), lambda x, y: not x or y),
        (truth(a).same_as(truth(b)), lambda x, y: x == y),
        (selected(truth(a), truth(b), ~truth(b)), lambda x, y: y if x else not y),
    ]
    for found, plain in cases:
        possible = {plain(x, y) for x in a for y in b}
        assert set(stands_for(found)) == possible


def known(value: float, error: float) -> Known:
    return Known(np.array([value]), np.array([error]))


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "min", "max"])
def test_results_enclose_those_of_the_ends(name: str) -> None:
    plain: Any = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
        "/": lambda x, y: x / y, "min": min, "max": max,
    }[name]  # fmt: skip
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.normal(size=2)
        d, e = abs(a) * rng.random() * 0.3, abs(b) * rng.random() * 0.3
        found = calculated(name, known(a, d), known(b, e))
        assert found is not None
        for x, y in itertools.product((a - d, a, a + d), (b - e, b, b + e)):
            assert abs(plain(x, y) - found.values[0]) <= found.error[0] * (1 + 1e-12)


def test_a_quotient_by_what_may_be_zero_has_no_bound() -> None:
    found = calculated("/", known(1.0, 0.0), known(0.1, 0.2))
    assert found is not None
    assert np.isinf(found.error[0])
    assert calculated("^", known(1.0, 0.0)) is None


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "=", "!="])
def test_comparisons_are_open_within_the_error_only(sign: str) -> None:
    plain: Any = {
        "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y,
        ">=": lambda x, y: x >= y, "=": lambda x, y: x == y, "!=": lambda x, y: x != y,
    }[sign]  # fmt: skip
    for a, b in itertools.product((0.25, 0.5, 0.75), repeat=2):
        assert stands_for(compared(sign, known(a, 0.0), known(b, 0.0))) == (plain(a, b),)
        assert stands_for(compared(sign, known(a, 0.1), known(b, 0.1))) == (
            OPEN if a == b else (plain(a, b),)
        )


def test_an_infinite_number_without_error_is_compared() -> None:
    assert stands_for(compared(">", known(np.inf, 0.0), known(3.0, 0.0))) == TRUE
    assert stands_for(compared(">", known(np.inf, np.inf), known(3.0, 0.0))) == OPEN


def test_numbers_between_two_others_enclose_both() -> None:
    found = Known.between(known(0.25, 1e-3), known(0.5, 1e-2))
    assert found.values[0] - found.error[0] <= 0.249
    assert found.values[0] + found.error[0] >= 0.51
    same = Known.between(known(np.inf, 0.0), known(np.inf, 0.0))
    assert same.values[0] == np.inf
    assert same.error[0] == 0.0


def test_the_graph_decides_zero_and_one() -> None:
    marks = np.array([False, True, True]), np.array([True, True, False])
    found = probability(np.array([1e-9, 0.5, 0.99]), np.full(3, 1e-8), *map(Truth.exactly, marks))
    assert found.values.tolist() == [0.0, 0.5, 1.0]
    assert found.error.tolist() == [0.0, 1e-8, 0.0]
    assert found.negated().values.tolist() == [1.0, 0.5, 0.0]
