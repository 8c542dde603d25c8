"""Elimination tree, postorder and column counts, by elimination of the pattern itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov.methods.symbolic_kernels import column_counts, elimination_tree, postorder


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
