"""Every state is in the run that is left, or among those that left it: once, whatever is decided."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from markov.computing.selections import Selection


def test_most_states_decide_and_the_others_leave():
    found = Selection(5)
    assert found.decide(np.array([True, False, True, True, False])) is True
    assert found.states.tolist() == [0, 2, 3]
    assert [part.tolist() for part in found.left] == [[1, 4]]
    assert found.decide(np.array([False, True, False])) is False
    assert found.states.tolist() == [0, 3]
    assert [part.tolist() for part in found.left] == [[1, 4], [2]]


def test_states_that_agree_all_stay():
    found = Selection(3)
    assert found.decide(np.array([False] * 3)) is False
    assert found.states.tolist() == [0, 1, 2]
    assert not found.left


def test_a_split_leaves_the_states_of_each_other_value_together():
    found = Selection(6)
    found.split(np.array([2, 1, 2, 3, 1, 3]))
    assert found.states.tolist() == [1, 4]
    assert sorted(part.tolist() for part in found.left) == [[0, 2], [3, 5]]


@given(st.integers(1, 30), st.lists(st.integers(0, 2**30), max_size=6))
def test_no_state_is_lost_or_twice(count, seeds):
    found = Selection(count)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if seed % 2:
            found.split(rng.integers(0, 3, len(found.states)))
        else:
            found.decide(rng.random(len(found.states)) < 0.5)
    assert len(found.states)
    assert sorted(np.concatenate([found.states, *found.left]).tolist()) == list(range(count))
