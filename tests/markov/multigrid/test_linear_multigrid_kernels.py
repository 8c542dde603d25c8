"""The loops for linear equations as plain Python, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from markov.multigrid import linear_multigrid_kernels as kernels
from tests.markov.methods.conftest import jump_matrix

N = 7
RNG = np.random.default_rng(9)
P = jump_matrix(N)
INFLOW = sp.csr_matrix(P.T)
INDEX = INFLOW.indptr, INFLOW.indices
PARENT = np.array([7, 7, 8, 8, 8, 9, 9])


def coarser(x, right, scale, middles=None):
    """Return levels of which one has the entries above."""
    rest = middles, INFLOW.indices, INFLOW.data, PARENT, scale, None, True
    return kernels.Coarser(INFLOW.indptr, *rest, x, right)


def test_relaxation_solves_equation_after_equation():
    right, scale = RNG.random(N), RNG.random(N)
    x = RNG.random(N)
    expected = x.copy()
    A = INFLOW.toarray()
    for s in range(N):
        expected[s] = scale[s] * (right[s] + A[s] @ expected)
    kernels.relax(0, N, False, coarser(x, right, scale))
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_what_equations_leave_is_added_for_each_aggregate():
    right, scale, x = RNG.random(N), RNG.random(N), RNG.random(N)
    rest = right + INFLOW @ x - x / scale
    room = np.concatenate([right, np.zeros(3)])
    kernels.leave(0, N, coarser(x, room, scale))
    np.testing.assert_allclose(room[7:], [rest[:2].sum(), rest[2:5].sum(), rest[5:].sum()])


def test_a_first_sweep_from_zero_is_done_by_halves():
    """As by whole rows: what each half leaves out is zero, but for rounding."""
    rows, columns = INFLOW.indptr, INFLOW.indices
    middles = np.empty(N, dtype=rows.dtype)
    assert kernels.middles_of(0, N, rows, columns, middles)
    for s in range(N):
        assert np.all(columns[rows[s] : middles[s]] <= s)
        assert np.all(columns[middles[s] : rows[s + 1]] > s)
    right, scale, into = RNG.random(N), RNG.random(N), RNG.random(N)
    whole, half, room, other = np.zeros(N), np.zeros(N), np.zeros(N + 3), np.zeros(N + 3)
    room[:N] = other[:N] = right
    kernels.relax(0, N, False, coarser(whole, right, scale))
    kernels.leave(0, N, coarser(whole, room, scale))
    kernels.begin(0, N, coarser(half, right, scale, middles))
    kernels.pass_on(0, N, coarser(half, other, scale, middles))
    np.testing.assert_allclose(half, whole, rtol=1e-14)
    np.testing.assert_allclose(other, room, rtol=1e-12)
    first, room, other = half.copy(), np.append(right, np.zeros(3)), np.append(right, np.zeros(3))

    def finest(damping, own=0.0):
        weights = middles, damping, into, None
        return kernels.Finest(rows, columns, INFLOW.data, own, *weights)

    kernels.begin_first(N, finest(scale), coarser(first, right, scale))
    np.testing.assert_allclose(first, half, rtol=1e-14)
    own = -1.0 / scale[0]  # all alike, as for the jump chain
    alike = finest(np.full(N, scale[0]), own)
    kernels.begin_first(N, alike, coarser(first, right, scale))
    kernels.leave_first(N, alike, coarser(first, room, scale))
    kernels.pass_on_first(N, alike, coarser(first, other, scale))
    np.testing.assert_allclose(other, room, rtol=1e-12)


def test_rows_that_do_not_ascend_are_seen():
    indices = INFLOW.indices.copy()
    row = slice(*INFLOW.indptr[2:4])
    indices[row] = indices[row][::-1]
    assert not kernels.middles_of(0, N, INFLOW.indptr, indices, np.empty(N, dtype=np.int64))


def test_products_and_transposes_are_those_of_the_matrix():
    own, x, product = -RNG.random(), RNG.random(N), np.empty(N)
    kernels.multiply(*INDEX, INFLOW.data, own, x, product)
    # terms below one, which may cancel, in another order
    np.testing.assert_allclose(product, INFLOW @ x + own * x, atol=1e-15)
    rows, columns = np.zeros(N + 1, dtype=np.int64), np.empty(INFLOW.nnz, dtype=np.int64)
    entries = np.empty(INFLOW.nnz)
    kernels.transpose(0, N, (*INDEX, INFLOW.data), (rows, columns, entries))
    found = sp.csr_matrix((entries, columns, rows), shape=(N, N))
    np.testing.assert_array_equal(found.toarray(), P)


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
    kernels.advance((x, left), (step, moved), (steps, changes), shares, 0.7)
    np.testing.assert_allclose(x, wanted[0])
    np.testing.assert_allclose(left, wanted[1])
