"""GTH and sparse LU against closed forms and exact rational solutions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from markov import GTH, MarkovChain, SparseLU, stationary
from tests.markov.conftest import birth_death, chains, distance, exact, generator_of

BOTH = pytest.mark.parametrize("method", [GTH(), GTH(block=3), SparseLU()], ids=repr)


@BOTH
@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.lil_array]
)
def test_mm1k(method, form):
    K, rho = 30, 0.7
    Q = birth_death([7.0] * K, [10.0] * K)
    answer = stationary(MarkovChain(form(Q)), method)
    truth = (1 - rho) * rho ** np.arange(K + 1) / (1 - rho ** (K + 1))
    np.testing.assert_allclose(answer.pi, truth, rtol=1e-12)
    assert answer.method == method
    rounded = 2 * K * 2.0**-53  # powers of a rounded rho
    assert 0.5 * np.abs(answer.pi - truth).sum() <= answer.error_bound + rounded
    assert answer.error_bound < 1e-15


@BOTH
def test_birth_death(method):
    up, down = np.array([3.0, 0.2, 50.0, 7.0]), np.array([1.0, 4.0, 4.0, 90.0])
    weights = np.concatenate([[1.0], np.cumprod(up / down)])
    answer = stationary(birth_death(up, down), method)
    np.testing.assert_allclose(answer.pi, weights / weights.sum(), rtol=1e-13)


@BOTH
def test_two_states_and_one(method):
    a, b = 3.0, 5.0
    answer = stationary([[-a, a], [b, -b]], method)
    np.testing.assert_allclose(answer.pi, [b / (a + b), a / (a + b)], rtol=1e-15)
    alone = stationary([[0.0]], method)
    assert alone.pi.tolist() == [1.0]
    assert alone.error_bound < 1e-15


@BOTH
def test_independent_sources_lump_to_a_binomial(method):
    """Six on/off sources: 64 states, of which the number that is on is binomial."""
    on, off, n = 0.3, 1.1, 6
    single = np.array([[-on, on], [off, -off]])
    Q = np.zeros((1, 1))
    for _ in range(n):
        Q = np.kron(Q, np.eye(2)) + np.kron(np.eye(len(Q)), single)
    count = np.array([x.bit_count() for x in range(2**n)])
    lumped = np.bincount(count, stationary(Q, method).pi)
    p = on / (on + off)
    truth = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    np.testing.assert_allclose(lumped, truth, rtol=1e-13)


@settings(max_examples=30)
@given(chains(), st.randoms(use_true_random=False), st.sampled_from([2.0**-30, 3.7, 1e12]))
def test_relabelling_and_time_scaling(Q, random, factor):
    order = list(range(len(Q)))
    random.shuffle(order)
    pi = stationary(Q).pi
    np.testing.assert_allclose(stationary(Q[np.ix_(order, order)]).pi, pi[order], rtol=1e-12)
    np.testing.assert_allclose(stationary(Q * factor).pi, pi, rtol=1e-12)


@settings(max_examples=60)
@given(chains(decades=12.0, largest=8), st.sampled_from([1, 2, 64]))
def test_gth_is_accurate_in_every_entry(Q, block):
    truth = exact(Q)
    pi = GTH(block=block).solve(MarkovChain(Q).Q).pi
    for value, true in zip(pi, truth, strict=True):
        assert abs(Fraction(float(value)) / true - 1) < 40 * len(Q) * Fraction(2) ** -53


@pytest.mark.parametrize("method", [GTH(), GTH(block=7), SparseLU()], ids=repr)
@pytest.mark.parametrize("reverse", [False, True])
def test_tiny_probabilities(method, reverse):
    """Entries down to 1e-250, in either order of the states."""
    up, down = np.full(50, 1.0), np.full(50, 1e5)
    Q = birth_death(down, up) if reverse else birth_death(up, down)
    expected = [Fraction(10**5) ** -n for n in range(51)]
    total = sum(expected)
    expected = np.array([float(x / total) for x in expected])
    pi = stationary(Q, method).pi
    np.testing.assert_allclose(pi[::-1] if reverse else pi, expected, rtol=1e-13)
    assert 0 < pi.min() < 1e-249


@pytest.mark.parametrize("reverse", [False, True])
def test_probabilities_that_underflow(reverse):
    """Entries down to 1e-400: the others are as good as ever."""
    up, down = np.full(80, 1.0), np.full(80, 1e5)
    pi = stationary(birth_death(down, up) if reverse else birth_death(up, down)).pi
    pi = pi[::-1] if reverse else pi
    np.testing.assert_allclose(pi[:60], (1 - 1e-5) * 10.0 ** (-5.0 * np.arange(60)), rtol=1e-12)
    assert 0 <= pi[60:].max() < 1e-299


def test_beyond_float64_is_not_silent():
    """A ratio of 1e350 between neighbours of a chain of four cannot be held: zero is right."""
    Q = birth_death([1.0, 1.0, 1e-200], [1e200, 1e150, 1.0])
    answer = stationary(Q, on_failure="return")
    assert answer.status.ok
    assert distance(answer.pi, exact(Q)) <= answer.error_bound


@settings(max_examples=20)
@given(st.integers(2, 90), st.integers(1, 100), st.integers(1, 90), st.integers(0, 10**6))
def test_blocks_do_not_matter(n, block, band, seed):
    rng = np.random.default_rng(seed)
    rates = rng.random((n, n)) * (np.abs(np.subtract.outer(range(n), range(n))) <= band)
    rates *= rng.random((n, n)) < 0.7
    rates += np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    Q = MarkovChain(generator_of(rates)).Q
    one = GTH(block=1).solve(Q).pi
    np.testing.assert_allclose(GTH(block=block).solve(Q).pi, one, rtol=1e-13)
    np.testing.assert_allclose(SparseLU().solve(Q).pi, one, rtol=1e-10)


@pytest.mark.parametrize("block", [0, -1, 1.5, "64", True, None])
def test_bad_block(block):
    with pytest.raises(ValueError, match=r"^block = .*: must be a whole number in 1\.\.1000000"):
        GTH(block=block)
