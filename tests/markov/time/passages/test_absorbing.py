"""Linear equations of a chain until it is absorbed."""

from __future__ import annotations

import numpy as np

from markov import MarkovChain
from markov.time.passages.absorbing import Absorbing
from tests.markov.time.passages.conftest import erlang


def test_equations_without_states_have_no_solution_to_find() -> None:
    chain = MarkovChain(erlang(2, 1.0))
    x, error = Absorbing(chain.Q, np.zeros(3, dtype=bool)).solve(np.zeros(0))
    assert len(x) == len(error) == 0


def test_a_right_hand_side_of_zeros_has_the_solution_zero() -> None:
    chain = MarkovChain(erlang(2, 1.0))
    system = Absorbing(chain.Q, np.array([True, True, False]))
    for allowed in (0.0, np.ones(2)):
        found = system.refined(np.zeros(2), allowed)
        assert np.all(found.high == 0.0)
        assert np.all(found.error < 1e-300)
