"""Transitions of some states by the rules as they stand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import PauseTandem
from markov.errors import RuleError
from markov.generators.calls import Calls
from markov.generators.edges import Edges, edges_by_python
from tests.markov.conftest import Machine
from tests.markov.generators.conftest import Bad, as_pairs, edges_of_states, space_of


@pytest.mark.parametrize(
    "model", [PauseTandem(buffers=(3, 4), high_threshold=3), Machine()], ids=repr
)
def test_transitions_are_those_that_the_rules_yield(model):
    space = space_of(model)
    some = np.array([0, 7, space.size - 1])
    found = edges_by_python(Calls(model, space), space, some)
    assert as_pairs(found) == pytest.approx(edges_of_states(model, some))
    assert not len(found.deferred)


def test_states_without_transitions_have_none():
    space = space_of(Bad())
    assert [len(part) for part in edges_by_python(Calls(Bad(), space), space, np.array([], int))] == [
        0, 0, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("rate", [-1.0, math.nan])
def test_what_is_no_rate_is_refused_with_its_state(rate):
    space = space_of(Bad())
    with pytest.raises(RuleError, match=r"^Bad: State\(n=2\) -> .* a rate must be finite and >= 0"):
        edges_by_python(Calls(Bad(rate=rate), space), space, np.array([0, 2]))


def test_parts_are_joined_in_their_order():
    one = Edges(*map(np.array, ([0], [1], [2.0], [5])))
    other = Edges(*map(np.array, ([3, 4], [4, 3], [1.0, 1.0], [6])))
    joined = Edges.joined([one, other])
    assert [part.tolist() for part in joined] == [[0, 3, 4], [1, 4, 3], [2.0, 1.0, 1.0], [5, 6]]
