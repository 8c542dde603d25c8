"""Variables and states are narrowed to some of the states when they are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov.generators.array_rules.frames import (
    MISSING,
    Changed,
    Frame,
    ManyStates,
    holds_arrays,
    taken,
)
from markov.generators.array_rules.operations import NotOnArraysError


class State(NamedTuple):
    n: int
    name: str


def states():
    return ManyStates(State, (np.arange(4), "up"))


def test_fields_are_narrowed():
    s = taken(taken(states(), np.array([1, 3])), np.array([1]))
    assert s.field(0).tolist() == [3]
    assert s.field(1) == "up"
    assert s.fields() == State(3, "up")
    assert s.number_of("name") == 1
    with pytest.raises(NotOnArraysError):
        s.number_of("other")


def test_changed_states_keep_the_other_fields():
    changed = taken(Changed(states(), {0: np.arange(4) + 1}), np.array([0, 2]))
    assert changed.field(0).tolist() == [1, 3]
    assert changed.field(1) == "up"
    assert type(changed.fields()) is State


def test_places_are_those_of_the_whole_run():
    outer = Frame.first(5, print, len)
    assert outer.all_places is None
    inner = outer.narrowed(np.array([1, 2, 4])).narrowed(np.array([0, 2]))
    assert inner.all_places.tolist() == [1, 4]
    assert inner.of_call(print, {}).narrowed(np.array([1])).all_places.tolist() == [4]
    assert inner.receive is print


def test_variables_are_those_of_the_frame_above():
    outer = Frame.first(3, print, len)
    outer.values |= {"x": np.array([5, 6, 7]), "y": (np.array([1, 2, 3]), 4), "z": MISSING}
    inner = outer.narrowed(np.array([2]))
    assert inner.get("x").tolist() == [7]
    assert inner.get("y")[0].tolist() == [3]
    for missing in ("z", "w"):
        with pytest.raises(NotOnArraysError, match="may have no value"):
            inner.get(missing)


def test_what_holds_arrays():
    assert holds_arrays((1, [np.zeros(1)]))
    assert holds_arrays({"a": states()})
    assert not holds_arrays((1, ["a"], {"b": None}))
