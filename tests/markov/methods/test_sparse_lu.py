"""Sparse LU: orders, fill-in, elimination trees, and factors that are returned."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from markov import GTH, Kanban, MarkovChain, PauseTandem, Polling, SparseLU, explore
from markov.methods import minimum_degree
from markov.methods.sparse_lu import BYTES, LUFactors, best_order
from markov.methods.symbolic_kernels import column_counts, elimination_tree, postorder
from tests.markov.methods.conftest import CHAINS, tree

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
}


@pytest.mark.parametrize("name", CHAINS_SPARSE_LU)
def test_fill_in_is_known_before_it_happens(name):
    """Exactly by the pattern; SuperLU has no more entries, but counts the diagonal twice."""
    Q = CHAINS_SPARSE_LU[name]().irreducible(0)
    order = best_order(Q)
    assert sorted(order.order) == list(range(Q.shape[0]))
    assert order.fill == filled_in(Q, order.order)
    factors = LUFactors(Q, int(order.order[-1]), order)
    assert factors.nbytes <= order.nbytes + BYTES * Q.shape[0]


# Orders of minimum degree, found in another process.


def test_an_order_found_in_another_process_is_the_same_or_given_up(monkeypatch):
    Q = MarkovChain(PauseTandem()).irreducible(0)
    matrix = sp.csc_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    matrix.setdiag(Q.shape[0])
    here = minimum_degree.minimum_degree_order(matrix, 0.0, 0.0)
    there = minimum_degree.minimum_degree_order(matrix, math.inf, 60.0)
    np.testing.assert_array_equal(here, there)
    monkeypatch.setattr(minimum_degree, "SHORT", 1e-3)
    assert minimum_degree.minimum_degree_order(matrix, math.inf, 0.0) is None


# Elimination tree, postorder and column counts, by elimination of the pattern itself.


def pattern_of(n, seed, density):
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < density
    return pattern | pattern.T | np.eye(n, dtype=bool)


def factor_of(pattern):
    """Return where the factor L has entries, filled in."""
    filled = np.tril(pattern)
    for k in range(len(filled)):
        below = np.flatnonzero(filled[k + 1 :, k]) + k + 1
        filled[np.ix_(below, below)] = True
    return np.tril(filled)


@pytest.mark.parametrize("density", [0.0, 0.03, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_counts_and_tree_are_those_of_the_filled_factor(seed, density):
    n = 40
    pattern = pattern_of(n, seed, density)
    matrix = sp.csr_matrix(pattern)
    parent, ancestor = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    elimination_tree(matrix.indptr, matrix.indices, parent, ancestor)
    factor = factor_of(pattern)
    first_below = [np.flatnonzero(factor[k + 1 :, k]) + k + 1 for k in range(n)]
    assert parent.tolist() == [int(rows[0]) if len(rows) else -1 for rows in first_below]
    counts = np.empty(n, dtype=np.int64)
    column_counts(matrix.indptr, matrix.indices, parent, np.empty((8, n), dtype=np.int64), counts)
    assert counts.tolist() == factor.sum(axis=0).tolist()


def test_children_come_before_their_parents_and_subtrees_stay_together():
    parent = np.array([3, 5, 3, 6, 5, -1, 8, 8, -1])
    n = len(parent)
    child, sibling, post, stack = np.empty((4, n), dtype=np.int64)
    postorder(parent, child, sibling, post, stack)
    place = np.argsort(post)
    assert sorted(post) == list(range(n))
    assert all(place[k] < place[p] for k, p in enumerate(parent) if p >= 0)
    sizes = np.ones(n, dtype=np.int64)
    for k in post:
        if parent[k] >= 0:
            sizes[parent[k]] += sizes[k]
    for k in range(n):  # the subtree of k is what comes right before it
        below = {k}
        for x in reversed(post):
            if parent[x] in below:
                below.add(int(x))
        assert set(post[place[k] - sizes[k] + 1 : place[k] + 1]) == below


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
