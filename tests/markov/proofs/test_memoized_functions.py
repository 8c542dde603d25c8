"""A function of a state is evaluated once for each combination of the values that it reads, and never wrongly repeated."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from markov.proofs import model_rows
from markov.proofs.model_rows import MemoizedFunction

STATES = [dict(zip("abc", values, strict=True)) for values in product(range(4), (False, True), range(3))]


def counted(function):
    """Return the function with memory, and the list of its calls."""
    calls = []

    def own(state):
        calls.append(dict(state))
        return function(state)

    return MemoizedFunction(own), calls


def test_what_is_read_decides_and_nothing_else():
    """Which variables are read may depend on the values of others."""
    found, calls = counted(lambda s: s["a"] if s["b"] else s["c"] + s["b"])
    for _ in range(2):
        for state in STATES:
            assert found(state) == (state["a"] if state["b"] else state["c"])
    assert len(calls) == 4 + 3


def test_a_constant_is_evaluated_once():
    found, calls = counted(lambda _: 7)
    assert [found(state) for state in STATES] == [7] * len(STATES)
    assert len(calls) == 1


def test_a_variable_that_is_read_twice_and_results_that_are_false():
    found, calls = counted(lambda s: s["a"] > 1 and s["a"] > s["c"])
    for _ in range(2):
        assert all(found(s) is (s["a"] > 1 and s["a"] > s["c"]) for s in STATES)
    assert len(calls) == 2 + 2 * 3


def test_random_functions():
    """Decision trees that read at random, each a function of what it has read."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        table = rng.integers(0, 3, 1000).tolist()

        def function(state, table=table):
            key = 1
            for _ in range(4):
                key = (key * 7 + int(state["abc"[table[key]]])) % 997
            return key

        found = MemoizedFunction(function)
        assert [found(s) for s in STATES * 2] == [function(s) for s in STATES * 2]


def test_what_is_raised_is_raised_again():
    found, calls = counted(lambda s: 1 // s["a"])
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            found({"a": 0})
    assert found({"a": 1}) == 1
    assert len(calls) == 3


def test_memory_is_limited(monkeypatch):
    monkeypatch.setattr(model_rows, "MAX_RESULTS", 5)
    found, calls = counted(lambda s: (s["a"], s["b"], s["c"]))
    for _ in range(2):
        assert [found(s) for s in STATES] == [tuple(s.values()) for s in STATES]
    assert len(calls) == 2 * len(STATES) - 5
