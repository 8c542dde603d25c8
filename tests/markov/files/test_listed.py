"""Models of listed states: pickled and compared by value, measures in single states."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from markov.files.listed import ListedChain
from markov.models.bare import named_state
from markov.models.spaces import Space


def listed(**changes) -> ListedChain:
    space = Space(named_state("State", ("n", "on")), {"n": range(2, 4), "on": [False, True]})
    given = {
        "name": "m.umb", "space": space, "codes": np.array([[2, 2, 3], [0, 1, 1]]),
        "labels": {"high": np.array([False, False, True])},
        "rewards": {"cost": np.array([1.0, 2.0, 4.0])},
        "initial": np.array([True, False, False]),
    }  # fmt: skip
    return ListedChain(**(given | changes))


def test_equality_is_by_value_and_survives_pickling() -> None:
    model = listed()
    assert pickle.loads(pickle.dumps(model)) == model == listed()
    assert hash(listed()) == hash(model)
    for changes in (
        {"name": "other.umb"},
        {"rewards": {"cost": np.array([1.0, 2.0, 5.0])}},
        {"initial": np.array([False, True, False])},
    ):
        assert listed(**changes) != model


def test_labels_and_rewards_are_those_of_the_states() -> None:
    model = listed()
    assert model.start() == (2, False)
    assert model.rewards(model.State(3, True))["cost"] == 4.0
    assert model.labels(model.State(2, True))["high"] == False
    states = model.State(np.array([3, 2]), np.array([True, False]))
    assert model.rewards(states)["cost"].tolist() == [4.0, 1.0]
    with pytest.raises(KeyError):
        model.rewards(model.State(3, False))


def test_several_initial_states_are_no_start() -> None:
    assert listed(initial=np.array([True, True, False])).start() is None
