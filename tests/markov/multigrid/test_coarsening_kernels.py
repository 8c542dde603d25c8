"""Pairs of states, and the entries between aggregates, as plain Python finds them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from markov.multigrid import coarsening_kernels as kernels
from tests.markov.methods.conftest import jump_matrix

N = 7
RNG = np.random.default_rng(9)
P = jump_matrix(N)
INFLOW = sp.csr_matrix(P.T)
INDEX = INFLOW.indptr, INFLOW.indices


def test_flow_along_a_component_is_counted_by_its_steps():
    component = np.array([0, 0, 1, 3])
    graph = sp.csr_matrix(np.array([[0, 1, 2, 0], [0, 0, 0, 4], [8, 0, 0, 0], [0, 0, 16, 0]]))
    found = kernels.moves(component, graph.indptr, graph.indices, graph.data)
    assert found == (2 + 4 + 8 + 16, 2 + 8)


def test_neighbours_that_exchange_most_are_paired():
    exchange = np.zeros((6, 6))
    for a, b, flow in ((0, 1, 9.0), (1, 2, 1.0), (2, 3, 8.0), (3, 4, 2.0), (4, 5, 7.0)):
        exchange[a, b] = exchange[b, a] = flow
    graph, labels = sp.csr_matrix(exchange), np.full(6, -1)
    index = graph.indptr, graph.indices, graph.data
    assert (
        kernels.match(kernels.Pattern(*index[:2]), index[2], np.ones(6), 0.01, np.zeros(6), labels)
        == 3
    )
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_entries_of_aggregates_are_merged():
    labels = np.array([0, 1, 0, 1, 2, 2, 0])
    order = np.argsort(labels, kind="stable")
    bounds = np.array([0, 3, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = kernels.merge(
        kernels.Aggregates(labels, order, bounds),
        kernels.Pattern(*INDEX),
        target,
        kernels.Pattern(begins, coarse),
        seen,
    )
    sums = np.zeros((3, 3))
    np.add.at(sums, (labels[np.repeat(np.arange(N), np.diff(INFLOW.indptr))], labels[INFLOW.indices]),
              INFLOW.data)  # fmt: skip
    data = np.bincount(target[target >= 0], INFLOW.data[target >= 0], minlength=count)
    found = sp.csr_matrix((data, coarse[:count], begins), shape=(3, 3)).toarray()
    np.testing.assert_allclose(found, sums * (1 - np.eye(3)), rtol=1e-14)
