"""Functions that have a translation to many states, and functions that have none."""

from __future__ import annotations

import functools

import pytest

from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.array_rules.translation import translated


def test_functions_without_a_translation():
    def plain(x):
        return x

    @functools.wraps(plain)
    def wrapper(x):
        return 2 * plain(x)

    def by_name(x, *, y=1):
        return x + y

    def stores(x):
        found = {}
        found[0] = x
        return found

    assert translated(plain).names == ("x",)
    for function in (wrapper, by_name, stores, lambda x: x):
        with pytest.raises(NotOnArraysError):
            translated(function)


def test_functions_that_call_themselves_end(on_arrays):
    def deep(x, n):
        return x if n == 0 else deep(x + 1, n - 1)

    def rules(s, q):
        yield s._replace(x=0), 1.0 + deep(s.x, q.depth)

    on_arrays(rules, {"depth": 3})
    with pytest.raises(NotOnArraysError, match="call each other"):
        on_arrays(rules, {"depth": 40})
