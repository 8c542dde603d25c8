"""Transitions of many states, and states whose transitions plain Python is to name."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel
from markov.generators.array_rules.batches import ArrayRules
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.calls import Calls
from markov.generators.edges import edges_by_python
from markov.models.spaces import Space


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Stations(ChainModel):
    """Vectors, an Enum, texts, and parameters with a method."""

    class State(NamedTuple):
        queue: tuple[int, int]
        mode: Mode
        color: str

    class Params(NamedTuple):
        room: int = 3

    def space(self):
        queue = (range(self.room + 1), range(self.room + 1))
        return {"queue": queue, "mode": list(Mode), "color": ["red", "blue"]}

    def rate(self, n):
        return 1.0 + n

    def rules(self, s, q):
        for n in range(2):
            if s.queue[n] < q.room:
                queue = tuple(v + (k == n) for k, v in enumerate(s.queue))
                yield s._replace(queue=queue), self.rate(s.queue[n])
        if s.mode is Mode.UP and sum(s.queue) > 2:
            yield s._replace(mode=Mode.DOWN), 2.0
        if s.mode == Mode.DOWN and s.color == "red":
            yield s._replace(mode=Mode.UP, color="blue", queue=(0, 0)), 3.0
        yield s._replace(color="red"), 0.5


def ready(model):
    space = Space.of(model.State, model.space(), model.name)
    return Calls(model, space), space


class Equal(Stations):
    """The same without ``is``, which has no answer for many states."""

    def rules(self, s, q):
        for n in range(2):
            if s.queue[n] < q.room:
                queue = tuple([v + (k == n) for k, v in enumerate(s.queue)])
                yield s._replace(queue=queue), self.rate(s.queue[n])
        if s.mode == Mode.UP and sum(s.queue) > 2:
            yield s._replace(mode=Mode.DOWN), 2.0
        if s.mode == Mode.DOWN and s.color == "red":
            yield s._replace(mode=Mode.UP, color="blue", queue=(0, 0)), 3.0
        yield s._replace(color="red"), 0.5


def test_vectors_and_values_that_are_no_numbers():
    calls, space = ready(Equal())
    found = ArrayRules(calls, space).transitions(np.arange(space.size))
    expected = edges_by_python(calls, space, np.arange(space.size))
    assert not len(found.bad)
    rows = sorted(zip(found.sources, found.targets, found.rates, strict=True))
    assert rows == sorted(zip(expected.sources, expected.targets, expected.rates, strict=True))


def test_identity_is_refused():
    with pytest.raises(NotOnArraysError):
        ArrayRules(*ready(Stations()))


def test_bad_states_have_no_transitions(on_arrays):
    def rules(s, q):
        yield s._replace(y=0), 1.0
        yield s._replace(x=s.x + 1), (1.0 if s.x != 2 else -1.0) if s.y else 0.0

    def half(s, q):
        yield s._replace(x=s.x / 2), 1.0
        yield s._replace(y=0.5), 0.0

    assert len(on_arrays(half, space={"x": range(1), "y": range(3)}).bad) == 3
    found = on_arrays(rules)
    assert found.bad.tolist() == [*(4 * 2 + y for y in (1, 2, 3)), *(4 * 5 + y for y in (1, 2, 3))]


def test_rates_and_targets_of_other_kinds_are_refused(on_arrays):
    def text(s, q):
        yield s, "1.0"

    def mapping(s, q):
        yield {"x": s.x, "y": 0}, 1.0

    for rules in (text, mapping):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)


def test_states_with_methods_of_their_own_are_refused():
    class Own(Equal):
        class State(Equal.State):
            def _replace(self, **changes):
                return self

    with pytest.raises(NotOnArraysError, match="of their own"):
        ArrayRules(*ready(Own()))


def test_parameters_that_are_arrays(on_arrays):
    def rules(s, q):
        yield s._replace(x=0), q.table[s.x] + 0.5

    on_arrays(rules, {"table": np.arange(6.0)})

    def hidden(s, q):
        yield s._replace(x=0), q.tables[0][s.x] + 0.5

    with pytest.raises(NotOnArraysError):
        on_arrays(hidden, {"tables": (np.arange(24.0),)})
