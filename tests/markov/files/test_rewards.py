"""Rewards of states and of transitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.rewards import rewards_of
from tests.markov.files.conftest import QUEUE, model_of


def test_states_earn_by_time_and_transitions_by_their_rates(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE, arrival=7.0)
    states, both = rewards_of("length", model.program, model.explored)
    np.testing.assert_array_equal(states, np.arange(11.0))
    np.testing.assert_array_equal(both, states)
    states, both = rewards_of("served", model.program, model.explored)
    np.testing.assert_array_equal(states, np.zeros(11))
    np.testing.assert_array_equal(both, [0.0, *[10.0] * 10])


@pytest.mark.parametrize(
    ("value", "said"), [("n>3", "is a truth value"), ("1/(n-3)", "that is no finite number")]
)
def test_what_is_no_number_is_refused(value: str, said: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, f'{QUEUE}\nrewards "wrong" true : {value}; endrewards', arrival=7.0)
    with pytest.raises(FileError, match=said):
        rewards_of("wrong", model.program, model.explored)
