"""Orders of minimum degree, found in another process."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from markov import MarkovChain, PauseTandem
from markov.methods import minimum_degree


def test_an_order_found_in_another_process_is_the_same_or_given_up(monkeypatch):
    Q = MarkovChain(PauseTandem()).irreducible(0)
    matrix = sp.csc_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    matrix.setdiag(Q.shape[0])
    here = minimum_degree.minimum_degree_order(matrix, 0.0, 0.0)
    there = minimum_degree.minimum_degree_order(matrix, math.inf, 60.0)
    np.testing.assert_array_equal(here, there)
    monkeypatch.setattr(minimum_degree, "SHORT", 1e-3)
    assert minimum_degree.minimum_degree_order(matrix, math.inf, 0.0) is None
