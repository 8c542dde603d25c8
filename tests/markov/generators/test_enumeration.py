"""Breadth-first search by the rules as they stand, some states at a time."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from markov.errors import RuleError, TooLargeError
from markov.generators.calls import Calls
from markov.generators.enumeration import Enumeration
from tests.markov.conftest import Queue
from tests.markov.generators.conftest import Bad, one_component, space_of


def tree(s, q):
    """Two states below each, down to 30."""
    for n in (2 * s.n + 1, 2 * s.n + 2):
        if n < 31:
            yield s._replace(n=n), 1.0 + n


def search(model, start, **options):
    calls = Calls(model, space_of(model))
    return Enumeration(calls, [calls.known(state) for state in start], **options)


def test_states_are_found_in_the_order_of_their_distance():
    found = search(one_component(range(31), tree), [(0,)])
    assert found.run(100)
    assert [state.n for state in found.states] == list(range(31))
    rows = found.rows()
    assert np.diff(rows.indptr).tolist() == [2] * 15 + [0] * 16
    assert rows.targets.tolist() == list(range(1, 31))
    assert rows.rates.tolist() == [1.0 + n for n in range(1, 31)]


def test_a_search_may_be_continued():
    whole, parts = (search(Queue(), [(5,)]) for _ in range(2))
    assert whole.run(100)
    steps = 0
    while not parts.run(2):
        steps += 1
        assert parts.done == 2 * steps
    assert parts.states == whole.states
    for one, other in zip(parts.rows(), whole.rows(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_closed_search_allows_no_other_states():
    some = [(n,) for n in range(5)]
    with pytest.raises(
        RuleError, match=r"^tree: State\(n=2\) -> State\(n=5\) .* outside the space"
    ):
        search(one_component(range(5), tree), some, closed=True).run(9)
    assert search(Queue(capacity=4), some, closed=True).run(9)


def test_more_states_than_allowed_are_refused():
    with pytest.raises(TooLargeError, match=r"more than 7 reachable states \(most=7\)"):
        search(one_component(range(31), tree), [(0,)], most=7).run(100)


def test_the_search_for_garbage_goes_on_after_an_error():
    assert gc.isenabled()
    with pytest.raises(RuleError):
        search(Bad(rate=-1.0), [(0,)]).run(9)
    assert gc.isenabled()
