"""Closed sets of states, and whether a start leads to infinitely many."""

from __future__ import annotations

import math

import pytest

from markov import explore
from markov.generators.calls import Calls
from markov.generators.enumeration import Enumeration
from markov.generators.unbounded.hulls import hull_of
from markov.generators.unbounded.polynomials import Unfollowed
from markov.models.bare import FunctionModel
from tests.markov.infinite.families import QUICK, SLOW

FAMILIES = {**QUICK, **SLOW}


def hull(rules, start, count=500):
    calls = Calls(FunctionModel(rules, start), None)
    search = Enumeration(calls, [start])
    search.run(count)
    return hull_of(calls, search.states)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_infinite_for_certain(name):
    assert hull(*FAMILIES[name]).is_infinite


def test_a_last_value_ends_a_component():
    def rules(s):
        a, b = s
        if a < 40:
            yield (a + 1, b), 1.0
        yield (a, b + 1), 1.0
        if b > 0:
            yield (a, b - 1), 2.0
        if a > 0:
            yield (a - 1, b), 1.0

    found = hull(rules, (0, 0))
    assert found.high[()] == [40, math.inf]
    assert found.is_infinite


def test_a_large_finite_chain_is_not_infinite():
    def rules(n):
        if n < 5000:
            yield n + 1, 1.0
        if n > 0:
            yield n - 1, 2.0

    assert not hull(rules, 0).is_infinite
    assert len(explore(rules, start=0).states) == 5001


def test_a_sum_with_a_last_value_is_finite():
    def rules(s):
        a, b = s
        if a + b < 90:
            yield (a + 1, b), 1.0
            yield (a, b + 1), 1.0
        if a > 0:
            yield (a - 1, b), 1.0
        if b > 0:
            yield (a, b - 1), 1.0

    assert len(explore(rules, start=(0, 0)).states[0]) == 91 * 92 // 2


def test_components_without_a_least_value_are_refused():
    def rules(n):
        yield n + 1, 1.0
        yield n - 1, 1.0

    with pytest.raises(Unfollowed, match="may have no least value"):
        hull(rules, 0)
