"""Sparse elimination, and elimination in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from markov import (
    GTH,
    MM1K,
    Kanban,
    MarkovChain,
    PauseTandem,
    Polling,
    SparseLU,
    explore,
    stationary,
)
from markov.elimination import lu
from markov.elimination.lu import BYTES_PER_ENTRY, LUFactors, best_order
from markov.methods.exact import FIRST_MODULUS, MAX_EXACT_STATES, exact_distribution
from tests.markov.conftest import Coin, chains, exact
from tests.markov.methods.conftest import CHAINS, random_chain, tree
from tests.surface import HANG, for_each

# Fill-in of sparse LU is known before it happens.


def filled_in(Q, order):
    """Return the entries of both factors, by elimination of the pattern itself."""
    pattern = (Q.toarray() != 0)[np.ix_(order, order)]
    pattern |= pattern.T
    for k in range(len(order)):
        later = np.flatnonzero(pattern[k, k + 1 :]) + k + 1
        pattern[np.ix_(later, later)] = True
    return int(pattern.sum())


CHAINS_SPARSE_LU = {
    "tree": lambda: tree(300),
    "pause": lambda: MarkovChain(PauseTandem()),
    "kanban": lambda: explore(Kanban(tickets=1)).chain,
    "polling": lambda: explore(Polling(stations=5)).chain,
    **{
        f"random, {density}": lambda density=density: MarkovChain(random_chain(60, 1.0, 5, density))
        for density in (0.01, 0.05, 0.3)
    },
}


@for_each(CHAINS_SPARSE_LU)
def test_fill_in_is_known_before_it_happens(name):
    """Exactly by the pattern; SuperLU has no more entries, but counts the diagonal twice."""
    Q = CHAINS_SPARSE_LU[name]().irreducible(0)
    order = best_order(Q)
    assert sorted(order.order) == list(range(Q.shape[0]))
    assert order.fill == filled_in(Q, order.order)
    factors = LUFactors(Q, int(order.order[-1]), order)
    assert factors.nbytes <= order.nbytes + BYTES_PER_ENTRY * Q.shape[0]


# Orders of minimum degree, found in another process.


def test_an_order_found_in_another_process_is_the_same_or_given_up(monkeypatch):
    Q = MarkovChain(PauseTandem()).irreducible(0)
    matrix = sp.csc_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    matrix.setdiag(Q.shape[0])
    here = lu.minimum_degree_order(matrix, 0.0, 0.0)
    there = lu.minimum_degree_order(matrix, math.inf, HANG)
    np.testing.assert_array_equal(here, there)
    monkeypatch.setattr(lu, "SCRIPT", "import sys; sys.stdin.read(); sys.exit(1)")
    np.testing.assert_array_equal(here, lu.minimum_degree_order(matrix, math.inf, HANG))
    monkeypatch.setattr(lu, "SCRIPT", "import time; time.sleep(3600)")
    monkeypatch.setattr(lu, "MAX_INLINE_SECONDS", 1e-3)
    assert lu.minimum_degree_order(matrix, math.inf, 0.0) is None


# Factors that methods return solve both equations of a chain.


@pytest.mark.parametrize("method", [GTH(block=1), GTH(block=5), GTH(), SparseLU()], ids=repr)
@pytest.mark.parametrize("name", ["birth-death", "pause", "random, dense", "random, sparse"])
def test_factors_solve_both_equations(name, method):
    """Q g = -f and d Q = -r, beside a dense solver; rates within two decades, so that little is lost."""
    Q = MarkovChain(CHAINS[name]()).irreducible(0)
    found = method.solve(Q)
    factors, n = found.factors, Q.shape[0]
    others = np.delete(np.arange(n), factors.reference)
    matrix, rng = Q.toarray()[np.ix_(others, others)], np.random.default_rng(7)
    f = rng.random(n)
    g, low = factors.poisson(f)
    expected = np.linalg.solve(matrix, -f[others])
    np.testing.assert_allclose((g + low)[others], expected, rtol=1e-9)
    assert g[factors.reference] == low[factors.reference] == 0.0
    r = rng.random(n) - 0.5
    d = factors.balance(r)
    expected = np.linalg.solve(matrix.T, -r[others])
    np.testing.assert_allclose(d[others], expected, atol=1e-9 * np.abs(expected).max())
    assert d[factors.reference] == 0.0
    assert factors.nbytes == found.memory > 0


# Exact distributions solve the equations exactly, and judge those in float64.


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
    for s, t, rate in zip(*map(np.ndarray.tolist, (entries.row, entries.col, entries.data)), strict=True):
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
    answer = stationary([[-1e-200, 1e-200, 0.0], [1e200, -2e200, 1e200], [0.0, 1e300, -1e300]], exact=True)
    assert answer.exact == tuple(exact(answer.chain.Q.toarray()))
    assert answer.pi.tolist()[2] == 0.0
    assert 1.0 <= answer.entry_error < 1.0 + 1e-15
    assert 0.0 < answer.error_bound < 1e-300


def test_what_is_refused():
    with pytest.raises(ValueError, match=f"exact = True: 501 recurrent states: must be at most {MAX_EXACT_STATES}"):
        stationary(MM1K(capacity=500), exact=True)
    with pytest.raises(ValueError, match="exact = True: goes without a method"):
        stationary(Coin(), GTH(), exact=True)
    with pytest.raises(ValueError, match="exact = 1"):
        stationary(Coin(), exact=1)
    assert explore(lambda n: [(1 - n, 0.1)], start=0).chain.size == 2
