"""Exact distributions solve the equations exactly, and judge those in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from markov import GTH, MM1K, MarkovChain, explore, stationary
from markov.methods.exact import MAX_EXACT_STATES, exact_distribution
from tests.markov.conftest import Coin, chains, exact


@settings(max_examples=40)
@given(chains())
def test_it_is_the_solution_of_the_equations(Q):
    Q = MarkovChain(Q).Q
    found = exact_distribution(Q)
    assert sum(found) == 1
    assert found == exact(Q.toarray())


def test_the_answer_has_fractions_and_the_float64_next_to_them():
    answer = stationary(Coin(), exact=True)
    assert answer.exact == (Fraction(3, 4), Fraction(1, 4))
    assert answer.error_bound == 0.0
    assert answer.entry_error == 0.0
    answer = stationary(MM1K(), exact=True)
    other = stationary(MM1K(), GTH())
    off = [Fraction(v) - p for v, p in zip(other.pi.tolist(), answer.exact, strict=True)]
    assert max(sum(d for d in off if d > 0), -sum(d for d in off if d < 0)) <= other.error_bound
    assert answer.pi.tolist() == [float(p) for p in answer.exact]
    assert 0.0 < answer.error_bound <= 2.0**-53
    assert 0.0 < answer.entry_error <= 2.0**-53
    assert other.exact is None


def test_transient_states_have_probability_zero_and_measures_are_bounded(tmp_path):
    answer = stationary([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 3.0, -3.0]], exact=True)
    assert answer.exact == (0, Fraction(3, 4), Fraction(1, 4))
    assert 0.25 in answer.bound(np.array([0.0, 0.0, 1.0]))
    answer.write_certificate(tmp_path / "small.cert")


def test_what_is_refused():
    with pytest.raises(
        ValueError, match=f"exact = True: 201 recurrent states: must be at most {MAX_EXACT_STATES}"
    ):
        stationary(MM1K(capacity=200), exact=True)
    with pytest.raises(ValueError, match="exact = True: goes without a method"):
        stationary(Coin(), GTH(), exact=True)
    with pytest.raises(ValueError, match="exact = 1"):
        stationary(Coin(), exact=1)
    assert explore(lambda n: [(1 - n, 0.1)], start=0).chain.size == 2
