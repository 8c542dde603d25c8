"""Rules compiled give the rates that plain Python gives, in arrays that grow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import PauseTandem
from markov.errors import TooLargeError
from markov.generators.calls import Calls
from markov.generators.compilation import compiled
from markov.generators.compilation.compiled import (
    Failed,
    compilable,
    doubled,
    reached,
    rows_of_space,
    seconds_to_compile,
)
from markov.generators.edges import Edges
from tests.markov.conftest import Machine, Queue
from tests.markov.generators.conftest import Bad, as_pairs, edges_of_states, space_of


def ready(model):
    space = space_of(model)
    return Calls(model, space), space


def transitions(numbers, rows):
    sources = np.repeat(numbers, np.diff(rows.indptr))
    return as_pairs(Edges(sources, rows.targets, rows.rates, numbers[:0]))


def test_rows_of_a_space_are_those_of_plain_python(monkeypatch):
    monkeypatch.setattr(compiled, "PER_ROW", 1)  # too little room at first
    model = Queue()
    calls, space = ready(model)
    found = transitions(np.arange(space.size), rows_of_space(calls, space))
    assert found == pytest.approx(edges_of_states(model, range(space.size)), rel=1e-15)


@pytest.mark.parametrize("direct", [True, False], ids=["table", "hashed"])
def test_states_are_reached_breadth_first(direct, monkeypatch):
    monkeypatch.setattr(compiled, "FIRST_ROOM", 8)
    if not direct:
        monkeypatch.setattr(compiled, "DIRECT", 1)
    model = Queue(capacity=40)
    calls, space = ready(model)
    numbers, rows = reached(calls, space, np.array([25]), 1000)
    assert sorted(numbers.tolist()) == list(range(41))
    expected = edges_of_states(model, numbers)
    found = transitions(numbers, rows._replace(targets=numbers[rows.targets]))
    assert found == pytest.approx(expected, rel=1e-15)
    assert [abs(int(x) - 25) for x in numbers] == sorted(abs(n - 25) for n in range(41))


def test_too_many_states_are_refused():
    calls, space = ready(Queue(capacity=40))
    with pytest.raises(TooLargeError, match=r"^Queue: more than 20 reachable states"):
        reached(calls, space, np.array([0]), 20)


@pytest.mark.parametrize("changes", [{"step": 2.0}, {"rate": -1.0}, {"rate": math.inf}], ids=repr)
def test_a_state_in_which_rules_fail_is_named(changes):
    calls, space = ready(Bad(**changes))
    with pytest.raises(Failed) as caught:
        rows_of_space(calls, space)
    assert caught.value.state.tolist() == [2]
    with pytest.raises(Failed) as caught:
        reached(calls, space, np.array([0]), 10)
    assert caught.value.state.tolist() == [2]


def test_only_rules_of_numbers_are_compiled():
    assert compilable(*ready(Queue()))
    assert not compilable(*ready(Machine()))


def test_rules_with_more_transitions_and_components_take_longer_to_compile(monkeypatch):
    monkeypatch.setattr(compiled, "is_cached", lambda *_: True)
    loaded = seconds_to_compile(*ready(PauseTandem()), compiled.reach)
    monkeypatch.setattr(compiled, "is_cached", lambda *_: False)
    short, long = (
        seconds_to_compile(*ready(model), compiled.reach) for model in (Queue(), PauseTandem())
    )
    assert 0.0 < loaded < short < long < math.inf


def test_a_longer_array_begins_with_the_old_one():
    found = doubled(np.array([1.0, 2.0, 3.0]))
    assert found.shape == (6,)
    assert found[:3].tolist() == [1.0, 2.0, 3.0]
