"""Exact distributions solve the equations exactly, and judge those in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from markov import GTH, MM1K, MarkovChain, explore, stationary
from markov.methods.exact import FIRST_MODULUS, MAX_EXACT_STATES, exact_distribution
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
    answer.certificate(tmp_path / "small.cert")


def balanced(Q, found):
    """Whether fractions solve the balance equations of off-diagonal rates."""
    into, out = [Fraction(0)] * len(found), [Fraction(0)] * len(found)
    entries = Q.tocoo()
    for s, t, rate in zip(
        *map(np.ndarray.tolist, (entries.row, entries.col, entries.data)), strict=True
    ):
        if s != t:
            into[t] += found[s] * Fraction(rate)
            out[s] += found[s] * Fraction(rate)
    return into == out and min(found) > 0 and sum(found) == 1


def test_three_hundred_states_with_whole_rates_and_a_hundred_with_any():
    """Short numerators are found before as many digits are known as the determinant may have."""
    tandem = sp.lil_matrix((289, 289))
    for a in range(17):
        for b in range(17):
            moves = (
                (a < 16, a + 1, b, 3.0),
                (a > 0 and b < 16, a - 1, b + 1, 5.0),
                (b > 0, a, b - 1, 4.0),
            )
            for possible, i, j, rate in moves:
                if possible:
                    tandem[17 * a + b, 17 * i + j] = rate
    rng = np.random.default_rng(5)
    loop = sp.lil_matrix((100, 100))
    for s in range(100):
        loop[s, (s + 1) % 100] = rng.random()
        loop[s, rng.choice(np.delete(np.arange(100), s), 3)] = 10.0 ** rng.uniform(-9, 6, 3)
    for Q in (tandem, loop):
        chain = MarkovChain((Q - sp.diags(np.asarray(Q.sum(axis=1)).ravel())).tocsr())
        assert balanced(chain.Q, exact_distribution(chain.Q))


def test_what_has_no_inverse_modulo_the_first_numbers_is_lifted_modulo_another():
    """Rates that are multiples of the first modulus make every pivot vanish."""
    p = float(FIRST_MODULUS)
    Q = MarkovChain([[-p - 3.0, p, 3.0], [p, -p, 0.0], [0.0, 7.0, -7.0]]).Q
    assert exact_distribution(Q) == exact(Q.toarray())
    assert balanced(Q, exact_distribution(Q))


def test_probabilities_below_the_smallest_float():
    answer = stationary(
        [[-1e-200, 1e-200, 0.0], [1e200, -2e200, 1e200], [0.0, 1e300, -1e300]], exact=True
    )
    assert answer.exact == tuple(exact(answer.chain.Q.toarray()))
    assert answer.pi.tolist()[2] == 0.0
    assert 1.0 <= answer.entry_error < 1.0 + 1e-15
    assert 0.0 < answer.error_bound < 1e-300


def test_what_is_refused():
    with pytest.raises(
        ValueError, match=f"exact = True: 501 recurrent states: must be at most {MAX_EXACT_STATES}"
    ):
        stationary(MM1K(capacity=500), exact=True)
    with pytest.raises(ValueError, match="exact = True: goes without a method"):
        stationary(Coin(), GTH(), exact=True)
    with pytest.raises(ValueError, match="exact = 1"):
        stationary(Coin(), exact=1)
    assert explore(lambda n: [(1 - n, 0.1)], start=0).chain.size == 2
