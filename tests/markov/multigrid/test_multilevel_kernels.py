"""The loops of aggregation multigrid as plain Python, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopflow.kernels import build
from markov.multigrid import coarsening_kernels
from markov.multigrid import multilevel_kernels as kernels
from markov.multigrid.coarsening_kernels import Aggregates, Pattern
from markov.multigrid.cycle_kernels import Schedule, cycle
from tests.markov.conftest import generator_of
from tests.markov.methods.conftest import jump_matrix

N = 7
RNG = np.random.default_rng(9)
P = jump_matrix(N)
INFLOW = sp.csr_matrix(P.T)
INDEX = INFLOW.indptr, INFLOW.indices


def flows(inflow, scale, x):
    """Return the flows of one level."""
    index = inflow.indptr, inflow.indices, inflow.data
    return kernels.Flows(*index, None, None, scale, x, np.empty((N, N)))


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_gives_each_state_what_flows_in(backward):
    x, expected = RNG.random(N), None
    expected = x.copy()
    for s in range(N)[:: -1 if backward else 1]:
        expected[s] = expected @ P[:, s]
    kernels.sweep(0, N, backward, flows(INFLOW, np.ones(N), x))
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_elimination_finds_the_flows_and_keeps_their_total():
    x, scale = np.ones(N), 1.0 / RNG.random(N)
    rates = RNG.random((N, N)) * (1 - np.eye(N))  # from state to state
    inflow = sp.csr_matrix(rates.T)
    scale = 1.0 / rates.sum(axis=1)
    kernels.eliminate(0, N, flows(inflow, scale, x))
    out = x / scale  # out of each state, all its flows by the factor x
    np.testing.assert_allclose(rates.T @ x, out, rtol=1e-13)
    assert out.sum() == pytest.approx(rates.sum(), rel=1e-14)


def test_iterates_are_combined_with_a_floor():
    flow, flows = np.array([1.0, 2.0, 3.0]), np.array([[2.0, 2.0, -30.0]])
    better = np.empty(3)
    total = kernels.blend(flow, flows, np.array([0.5]), 0.1, better)
    np.testing.assert_allclose(better, [1.5, 2.0, 0.3])
    assert total == pytest.approx(3.8)
    residual, residuals = np.array([0.3, -0.1, 0.2]), RNG.random((2, 3))
    products = np.empty((2, 3))
    kernels.compare(flow, residual, RNG.random((2, 3)), residuals, products)
    change = residuals - residual
    np.testing.assert_allclose(products[:, :2], change / flow @ change.T)
    np.testing.assert_allclose(products[:, 2], -(change / flow) @ residual)


def test_a_cycle_on_two_levels_is_a_sweep_a_correction_and_a_sweep():
    """The correction solves the chain of the aggregates exactly; the solution is a fixed point."""
    pi = np.linalg.solve(np.vstack([(P.T - np.eye(N))[:-1], np.ones(N)]), np.eye(N)[-1])
    Q = generator_of(P)
    np.testing.assert_allclose(pi @ Q, 0.0, atol=1e-15)
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    order, bounds = np.arange(N), np.array([0, 2, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = coarsening_kernels.merge(
        Aggregates(labels, order, bounds), Pattern(*INDEX), target, Pattern(begins, coarse), seen
    )
    nnz = INFLOW.nnz
    indptr = np.concatenate([INFLOW.indptr, begins[1:] + nnz])
    indices = np.concatenate([INFLOW.indices, coarse[:count] + N])
    values = np.concatenate([INFLOW.data, np.zeros(count + 1)])
    target = np.concatenate(
        [np.where(target < 0, nnz + count, target + nnz), np.full(count, nnz + count)]
    )
    parent = np.concatenate([labels + N, np.zeros(3, dtype=np.int64)])
    first, left, repeats = np.array([0, N, N + 3]), np.zeros(3, dtype=np.int64), np.array([1, 1])

    def cycled(flow):
        x, scale = np.concatenate([flow, np.ones(3)]), np.ones(N + 3)
        entries = indptr, indices, values, target, parent
        levels = kernels.Flows(*entries, scale, x, np.empty((3, 3)))
        build(cycle, helpers=kernels.HELPERS, compiled=False)(
            Schedule(first, left, repeats, 1), levels
        )
        return x[:N] / x[:N].sum()

    np.testing.assert_allclose(cycled(pi), pi, rtol=1e-13)
    expected = np.full(N, 1.0 / N)
    for s in range(N):  # forward
        expected[s] = expected @ P[:, s]
    flows = np.zeros((3, 3))
    np.add.at(flows, (labels[:, None], labels[None, :]), expected[:, None] * P)
    rates = flows - np.diag(flows.sum(axis=1))
    factors = np.linalg.lstsq(np.vstack([rates.T, np.ones(3)]), np.eye(4)[-1])[0]
    expected *= factors[labels]
    for s in reversed(range(N)):
        expected[s] = expected @ P[:, s]
    np.testing.assert_allclose(cycled(np.full(N, 1.0 / N)), expected / expected.sum(), rtol=1e-12)
