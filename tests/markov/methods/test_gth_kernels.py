"""The loops of elimination in plain Python and in NumPy, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from markov import MarkovChain
from markov.methods import gth_kernels, gth_numpy
from markov.methods.elimination import band
from markov.methods.gth_kernels import eliminate, flows, inflows, mean_costs, product
from tests.markov.conftest import exact, generator_of
from tests.markov.methods.conftest import CHAINS

# The loops of elimination as plain Python, against rational arithmetic.

RATES = generator_of(10.0 ** np.random.default_rng(6).uniform(-6, 6, (6, 6)))
FULL = np.zeros(6, dtype=np.int64)


def factors():
    rates = RATES.copy()
    np.fill_diagonal(rates, 0.0)
    rates = rates.reshape(-1)
    eliminate(rates, 6, FULL, 1, 6, np.empty(12))
    return rates


def solved(A, b):
    """Return x with A x = b in rational arithmetic."""
    rows = [[*map(Fraction, row), Fraction(right)] for row, right in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k:
                share = rows[r][k]
                rows[r] = [x - share * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def off_reference():
    """Return the generator without the first state, its diagonal what makes rows sum to zero."""
    Q = [[Fraction(float(q)) for q in row] for row in RATES]
    for k, row in enumerate(Q):
        row[k] = -sum(q for j, q in enumerate(row) if j != k)
    return [row[1:] for row in Q[1:]]


def test_flows_are_right_in_every_entry():
    pi = np.zeros(6)
    flows(factors(), 6, FULL, pi)
    truth = exact(RATES)
    for value, right in zip(pi, truth, strict=True):
        ratio = Fraction(float(value)) * truth[0] / right
        assert abs(ratio - 1) < 200 * Fraction(2) ** -53  # O'Cinneide: some n^2 units


def test_blocks_of_states_leave_the_same_factors_whether_pairs_or_one_by_one():
    rates = RATES.copy()
    np.fill_diagonal(rates, 0.0)
    rates = rates.reshape(-1)
    for high in range(6, 1, -1):  # one at a time: the square below is to be completed
        k = high - 1
        eliminate(rates, 6, FULL, k, high, np.empty(12))
        square = rates.reshape(6, 6)
        square[:k, :k] += np.outer(square[:k, k], square[k, :k])
    off = ~np.eye(6, dtype=bool)
    one = rates.reshape(6, 6)
    two = factors().reshape(6, 6)
    np.testing.assert_allclose(one[off], two[off], rtol=1e-14)
    np.testing.assert_allclose(np.diag(one)[1:], np.diag(two)[1:], rtol=1e-14)


def test_mean_costs_and_inflows_solve_their_equations():
    right = np.array([3.0, 1.0, 0.5, 2.0, 0.25, 8.0])
    g, low = right.copy(), np.zeros(6)
    mean_costs(factors(), 6, FULL, g, low)
    expected = solved(off_reference(), [-Fraction(x) for x in right[1:].tolist()])
    np.testing.assert_allclose((g + low)[1:], [float(x) for x in expected], rtol=1e-13)
    assert g[0] == low[0] == 0.0
    d = right.copy()
    inflows(factors(), 6, FULL, d)
    transposed = [list(column) for column in zip(*off_reference(), strict=True)]
    expected = solved(transposed, [-Fraction(x) for x in right[1:].tolist()])
    np.testing.assert_allclose(d[1:], [float(x) for x in expected], rtol=1e-13)
    assert d[0] == 0.0


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_a_product_is_the_sum_of_products(n):
    x, y = np.arange(1.0, n + 1), np.arange(2.0, n + 2)
    assert product(x, y) == sum(k * (k + 1) for k in range(1, n + 1))


# Elimination in NumPy does what the loops of the kernels do.


def laid_out(module, name):
    """Return first, row_stride and the rates of a chain as a module lays them out."""
    Q = MarkovChain(CHAINS[name]()).irreducible(0)
    form = band(Q)
    first = np.arange(len(form.order))
    module.lowest_beside(Q.indptr, Q.indices, form.rank, first)
    rates = np.zeros(form.n_values)
    module.lay_out(Q.indptr, Q.indices, Q.data, form.rank, form.row_stride, rates)
    first = np.minimum.accumulate(first[::-1])[::-1].copy()
    return first, form.row_stride, rates


@pytest.mark.parametrize("name", ["birth-death", "pause", "ring"])
def test_layout_factors_and_solutions_are_those_of_the_kernels(name):
    first, row_stride, rates = laid_out(gth_kernels, name)
    n = len(first)
    for mine, theirs in zip(laid_out(gth_numpy, name), (first, row_stride, rates), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    plain = rates.copy()
    gth_kernels.eliminate(rates, row_stride, first, 1, n, np.empty(2 * n))
    gth_numpy.eliminate(plain, row_stride, first, 1, n)
    np.testing.assert_allclose(plain, rates, rtol=1e-13, atol=1e-300)
    solver = gth_numpy.Substitution(rates, row_stride, first)
    rng = np.random.default_rng(3)
    pi, other = np.zeros((2, n))
    gth_kernels.flows(rates, row_stride, first, pi)
    solver.flows(other)
    np.testing.assert_allclose(other / other.sum(), pi / pi.sum(), rtol=1e-13)
    r = rng.random(n)
    into = r.copy()
    gth_kernels.inflows(rates, row_stride, first, r)
    solver.inflows(into)
    np.testing.assert_allclose(into, r, rtol=1e-12)
    g = rng.random(n)
    costs, low, low_too = g.copy(), np.zeros(n), np.zeros(n)
    gth_kernels.mean_costs(rates, row_stride, first, g, low)
    solver.mean_costs(costs, low_too)
    np.testing.assert_allclose(costs + low_too, g + low, rtol=1e-12)


def test_flows_beyond_float64_are_scaled_on_the_way():
    """A chain of 80 states whose probabilities grow by 1e5 each: 1e395 in all."""
    n = 80
    Q = np.diag(np.full(n - 1, 1e5), 1) + np.diag(np.ones(n - 1), -1)
    Q -= np.diag(Q.sum(axis=1))
    chain = MarkovChain(Q).Q
    first = np.maximum(np.arange(n) - 1, 0)
    rates = np.zeros(n * n)
    gth_numpy.lay_out(chain.indptr, chain.indices, chain.data, np.arange(n), n, rates)
    gth_numpy.eliminate(rates, n, first, 1, n)
    pi = np.zeros(n)
    gth_numpy.Substitution(rates, n, first).flows(pi)
    assert np.isfinite(pi).all()
    np.testing.assert_allclose(
        pi[1:][pi[:-1] > 1e-280] / pi[:-1][pi[:-1] > 1e-280], 1e5, rtol=1e-12
    )


@pytest.mark.parametrize("name", ["pause", "random, dense"])
def test_blocks_of_states_leave_the_factors_of_the_kernels(name):
    """Halves of blocks, recursively, beside pairs of states; the square below is completed."""
    Q = MarkovChain(CHAINS[name]()).irreducible(0)
    first, n = band(Q).first, Q.shape[0]
    factors = []
    for module in (gth_kernels, gth_numpy):
        rates = np.zeros(n * n)
        module.lay_out(Q.indptr, Q.indices, Q.data, band(Q).rank, n, rates)
        square = rates.reshape(n, n)
        for high in range(n, 1, -40):
            low = max(1, high - 40)
            module.eliminate(rates, n, first, low, high, np.empty(2 * n))
            rest, panel = slice(first[low], low), slice(low, high)
            square[rest, rest] += square[rest, panel] @ square[panel, rest]
        np.fill_diagonal(square[:1, :1], 0.0)  # of the state that is left: not used
        factors.append(square)
    below = np.arange(n)[None, :] >= first[:, None]
    used = np.tril(below) | np.tril(below).T
    np.testing.assert_allclose(factors[1][used], factors[0][used], rtol=1e-12, atol=1e-300)
