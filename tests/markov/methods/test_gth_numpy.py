"""Elimination in NumPy does what the loops of the kernels do."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MarkovChain
from markov.methods import gth_kernels, gth_numpy
from markov.methods.elimination import band
from tests.markov.methods.conftest import CHAINS


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
