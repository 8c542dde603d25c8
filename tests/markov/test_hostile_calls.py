"""Arguments of every wrong kind: an error of ours that says what is wrong, or a right answer."""

from __future__ import annotations

import random
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from markov import (
    GTH,
    MM1K,
    ChainModel,
    GeneratorOperator,
    MarkovChain,
    PauseTandem,
    QuasiBirthDeath,
    explore,
    generator,
    stationary,
    stationary_by_class,
    stationary_by_level,
    sweep,
)

CALLS = 1000


class State(NamedTuple):
    n: int


def rules(s: Any, q: Any) -> Any:
    yield s, 1.0


VALUES: list[Any] = [
    None, 0, 1, -1, 2.5, float("nan"), float("inf"), "abc", "", b"x", [], [1], [[1]], [[0.0]], [[-1, 1]],
    [[-1, 1], [1, -1]], {}, {"n": 1}, {"n": range(3)}, (), (1,), range(3), np.zeros((2, 2)), np.eye(3),
    np.array([[np.nan]]), np.array("a"), sp.eye(3), object(), int, rules, lambda _: None, lambda _: 3,
    lambda s: [(s, 1)], PauseTandem(), MM1K(), PauseTandem, ChainModel, MarkovChain([[0.0]]), True, 1j,
    State(0), State, np.float64(2), [None], {"a": None}, set(), GTH(), GTH, ...,
]  # fmt: skip
FUNCTIONS: dict[Any, list[str]] = {
    explore: ["start", "params", "space", "labels", "rewards", "most"],
    generator: ["reachable", "compiled"],
    MarkovChain: ["states", "like", "reachable"],
    GeneratorOperator: [],
    sweep: ["rtt", "capacity", "n", "high_threshold"],
    stationary: ["method"],
    stationary_by_class: ["method"],
    stationary_by_level: [],
    QuasiBirthDeath.of: ["component"],
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__qualname__)
def test_each_ends_in_an_answer_or_in_an_error_of_ours(function):
    rng = random.Random(function.__qualname__)
    for _ in range(CALLS // len(FUNCTIONS)):
        names = rng.sample(FUNCTIONS[function], rng.randint(0, len(FUNCTIONS[function])))
        arguments = {name: rng.choice(VALUES) for name in names}
        first = rng.choice(VALUES)
        error = outcome(function, first, arguments)
        if error is not None:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raised = "raise" in (last.line or "") or "deliver" in (last.line or "")
            assert raised, (function, first, arguments, error, last)
            assert str(error), (function, first, arguments)


def outcome(function: Any, first: Any, arguments: dict[str, Any]) -> Exception | None:
    """Return the error of a call, which is one of those that are documented; None: an answer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(first, **arguments)
    except (ValueError, TypeError, MemoryError, ArithmeticError) as error:
        return error
    return None
