"""The loops of multigrid as plain Python, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov.methods import multilevel_kernels as kernels
from tests.markov.conftest import generator_of

N = 7
RNG = np.random.default_rng(8)
P = RNG.random((N, N)) * (RNG.random((N, N)) < 0.5) + np.roll(np.eye(N), 1, axis=1)
np.fill_diagonal(P, 0.0)
P /= P.sum(axis=1, keepdims=True)
INFLOW = sp.csr_matrix(P.T)
INDEX = INFLOW.indptr, INFLOW.indices


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_gives_each_state_what_flows_in(backward):
    x, expected = RNG.random(N), None
    expected = x.copy()
    for s in range(N)[:: -1 if backward else 1]:
        expected[s] = expected @ P[:, s]
    kernels.sweep(0, N, backward, *INDEX, INFLOW.data, np.ones(N), x)
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_elimination_finds_the_flows_and_keeps_their_total():
    x, scale = np.ones(N), 1.0 / RNG.random(N)
    flows = RNG.random((N, N)) * (1 - np.eye(N))  # from state to state
    inflow = sp.csr_matrix(flows.T)
    scale = 1.0 / flows.sum(axis=1)
    kernels.eliminate(0, N, inflow.indptr, inflow.indices, inflow.data, scale, x, np.empty((N, N)))
    out = x / scale  # out of each state, all its flows by the factor x
    np.testing.assert_allclose(flows.T @ x, out, rtol=1e-13)
    assert out.sum() == pytest.approx(flows.sum(), rel=1e-14)


def test_relaxation_solves_equation_after_equation():
    right, scale = RNG.random(N), RNG.random(N)
    x = RNG.random(N)
    expected = x.copy()
    A = INFLOW.toarray()
    for s in range(N):
        expected[s] = scale[s] * (right[s] + A[s] @ expected)
    kernels.relax(0, N, False, *INDEX, INFLOW.data, scale, x, right)
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_what_equations_leave_is_added_for_each_aggregate():
    right, scale, x = RNG.random(N), RNG.random(N), RNG.random(N)
    parent = np.array([7, 7, 8, 8, 8, 9, 9])
    rest = right + INFLOW @ x - x / scale
    room = np.concatenate([right, np.zeros(3)])
    kernels.leave(0, N, *INDEX, INFLOW.data, scale, parent, x, room)
    np.testing.assert_allclose(room[7:], [rest[:2].sum(), rest[2:5].sum(), rest[5:].sum()])


def test_products_and_transposes_are_those_of_the_matrix():
    own, x, product = -RNG.random(), RNG.random(N), np.empty(N)
    kernels.multiply(*INDEX, INFLOW.data, own, x, product)
    np.testing.assert_allclose(product, INFLOW @ x + own * x, rtol=1e-14)
    rows, columns = np.zeros(N + 1, dtype=np.int64), np.empty(INFLOW.nnz, dtype=np.int64)
    entries = np.empty(INFLOW.nnz)
    kernels.transpose(0, N, *INDEX, INFLOW.data, rows, columns, entries)
    found = sp.csr_matrix((entries, columns, rows), shape=(N, N))
    np.testing.assert_array_equal(found.toarray(), P)


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


def test_a_step_is_made_without_its_shares_of_former_ones():
    rest, change, weights = RNG.random((3, N))
    former = RNG.random((2, N))
    products = np.empty(5)
    kernels.gain(rest, change, former, weights, products)
    expected = [rest @ (rest * weights), rest @ (change * weights), change @ (change * weights)]
    np.testing.assert_allclose(products, [*expected, *(former @ (change * weights))])
    x, left, step, moved = RNG.random((4, N))
    steps, changes, shares = RNG.random((2, N)), RNG.random((2, N)), np.array([0.3, -0.2])
    wanted = x + 0.7 * (step - shares @ steps), left + 0.7 * (moved - shares @ changes)
    kernels.advance(x, left, step, moved, steps, changes, shares, 0.7)
    np.testing.assert_allclose(x, wanted[0])
    np.testing.assert_allclose(left, wanted[1])


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
    assert kernels.match(*index, np.ones(6), 0.01, np.zeros(6), labels) == 3
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_entries_of_aggregates_are_merged():
    labels = np.array([0, 1, 0, 1, 2, 2, 0])
    order = np.argsort(labels, kind="stable")
    bounds = np.array([0, 3, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = kernels.merge(labels, order, bounds, *INDEX, target, begins, coarse, seen)
    sums = np.zeros((3, 3))
    np.add.at(sums, (labels[np.repeat(np.arange(N), np.diff(INFLOW.indptr))], labels[INFLOW.indices]),
              INFLOW.data)  # fmt: skip
    data = np.bincount(target[target >= 0], INFLOW.data[target >= 0], minlength=count)
    found = sp.csr_matrix((data, coarse[:count], begins), shape=(3, 3)).toarray()
    np.testing.assert_allclose(found, sums * (1 - np.eye(3)), rtol=1e-14)


def test_a_cycle_on_two_levels_is_a_sweep_a_correction_and_a_sweep():
    """Restricted flows solved exactly: the solution is a fixed point, and any start comes nearer."""
    pi = np.linalg.solve(np.vstack([(P.T - np.eye(N))[:-1], np.ones(N)]), np.eye(N)[-1])
    Q = generator_of(P)
    np.testing.assert_allclose(pi @ Q, 0.0, atol=1e-15)
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    order, bounds = np.arange(N), np.array([0, 2, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = kernels.merge(labels, order, bounds, *INDEX, target, begins, coarse, seen)
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
        kernels.cycle(
            first,
            left,
            repeats,
            1,
            indptr,
            indices,
            values,
            target,
            parent,
            scale,
            x,
            np.empty((3, 3)),
        )
        return x[:N] / x[:N].sum()

    np.testing.assert_allclose(cycled(pi), pi, rtol=1e-13)
    start = np.full(N, 1.0 / N)
    assert np.abs(cycled(start) - pi).sum() < 0.3 * np.abs(start - pi).sum()
