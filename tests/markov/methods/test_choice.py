"""Which method is chosen, what is predicted before it happens, and what small chains do without."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hopflow import Status
from markov import (
    GTH,
    CoxTandem,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    Polling,
    SparseLU,
    explore,
    stationary,
)
from markov.computing import costs
from markov.methods import minimum_degree
from markov.methods.sparse_lu import BYTES, LUFactors, best_order


def tree(n, seed=1):
    """Return a reversible chain on a random tree."""
    rng = np.random.default_rng(seed)
    above = np.array([rng.integers(0, x) for x in range(1, n)])
    below = np.arange(1, n)
    ends = np.concatenate([above, below]), np.concatenate([below, above])
    rates = sp.csr_matrix((rng.random(2 * n - 2) + 0.1, ends), shape=(n, n))
    return MarkovChain(sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())))


def filled_in(Q, order):
    """Return the entries of both factors, by elimination of the pattern itself."""
    pattern = (Q.toarray() != 0)[np.ix_(order, order)]
    pattern |= pattern.T
    for k in range(len(order)):
        later = np.flatnonzero(pattern[k, k + 1 :]) + k + 1
        pattern[np.ix_(later, later)] = True
    return int(pattern.sum())


CHAINS = {
    "tree": lambda: tree(300),
    "pause": lambda: MarkovChain(PauseTandem()),
    "kanban": lambda: explore(Kanban(tickets=1)).chain,
    "polling": lambda: explore(Polling(stations=5)).chain,
}


@pytest.mark.parametrize("name", CHAINS)
def test_fill_in_is_known_before_it_happens(name):
    """Exactly by the pattern; SuperLU has no more entries, but counts the diagonal twice."""
    Q = CHAINS[name]().irreducible(0)
    order = best_order(Q)
    assert sorted(order.order) == list(range(Q.shape[0]))
    assert order.fill == filled_in(Q, order.order)
    factors = LUFactors(Q, int(order.order[-1]), order)
    assert factors.nbytes <= order.nbytes + BYTES * Q.shape[0]


def test_an_order_found_in_another_process_is_the_same_or_given_up(monkeypatch):
    Q = CHAINS["pause"]().irreducible(0)
    matrix = sp.csc_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    matrix.setdiag(Q.shape[0])
    here = minimum_degree.minimum_degree_order(matrix, 0.0, 0.0)
    there = minimum_degree.minimum_degree_order(matrix, math.inf, 60.0)
    np.testing.assert_array_equal(here, there)
    monkeypatch.setattr(minimum_degree, "SHORT", 1e-3)
    assert minimum_degree.minimum_degree_order(matrix, math.inf, 0.0) is None


def test_what_is_chosen():
    """Elimination where it is short, factors on a tree, multigrid where both would fill in."""
    stationary(explore(Polling(stations=8)), Multilevel(), proof=False)  # loads Numba
    assert isinstance(stationary(PauseTandem()).method, GTH)
    assert isinstance(stationary(tree(30_000)).method, SparseLU)
    answer = stationary(explore(Polling(stations=10)))
    assert isinstance(answer.method, Multilevel)
    assert "multigrid" in answer.reason
    assert "predicted" in answer.reason


def test_without_numba_no_method_needs_it(monkeypatch):
    monkeypatch.setattr(costs, "has_numba", lambda: False)
    answer = stationary(explore(CoxTandem(capacity=15)))
    assert isinstance(answer.method, (GTH, SparseLU))
    assert answer.status is Status.CONVERGED


@pytest.mark.slow
def test_a_bare_tandem_of_two_million_states_has_a_bound():
    """Half of its probabilities are below 1e-280, of which multigrid promises only that they are positive."""
    chain = MarkovChain(explore(CoxTandem(capacity=1023)).chain.Q)
    assert stationary(chain).error_bound < 1e-9


FRESH = """
import sys
import numpy as np
from markov import explore, stationary

def machines(s, q):
    if s.working > 0:
        yield s._replace(working=s.working - 1), 0.1 * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), 1.0

found = explore(machines, start={"working": 3}, rewards=lambda s: {"working": s.working})
small = stationary(found)
rates = np.random.default_rng(1).random((200, 200))
np.fill_diagonal(rates, 0.0)
dense = stationary(rates - np.diag(rates.sum(axis=1)))
rates[np.abs(np.subtract.outer(np.arange(200), np.arange(200))) > 2] = 0.0
band = stationary(rates - np.diag(rates.sum(axis=1)))
for answer in (small, dense, band):
    assert str(answer.status) == "converged" and answer.error_bound < 1e-14
    assert answer.entry_error < 1e-9
small.bound("working"), dense.bound(np.arange(200)), repr(band)
print("numba" in sys.modules)
"""


def test_small_chains_are_solved_and_bounded_without_loading_numba():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
