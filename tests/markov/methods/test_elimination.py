"""Elimination: its order, its kernels, GTH, and entries that are accurate one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hopflow import Status
from markov import GTH, CoxTandem, MarkovChain, SparseLU, stationary
from markov.elimination import bands
from markov.elimination.bands import (
    BLOCK,
    Pattern,
    PositiveFactors,
    ascent,
    band,
    eliminate_band,
    eliminate_down_to,
    short_order,
)
from markov.methods.gth import MAX_ASCENT
from tests.markov.conftest import birth_death, chains, distance, exact, generator_of
from tests.markov.methods.conftest import CHAINS, random_chain
from tests.surface import for_each

# Elimination on band storage: layouts, factors by blocks, and a part that is left.


NAMES = ["birth-death", "pause", "random, sparse", "random, dense", "one state"]


def matrix_of(name):
    return MarkovChain(CHAINS[name]()).irreducible(0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reference", [None, 0, -1])
def test_no_transition_reaches_below_the_first_place(name, reference):
    Q = matrix_of(name)
    reference = None if reference is None else reference % Q.shape[0]
    form = band(Q, 64, reference)
    assert sorted(form.order) == list(range(Q.shape[0]))
    assert form.rank[form.order].tolist() == list(range(Q.shape[0]))
    if reference is not None:
        assert form.order[0] == reference
    edges = Q.tocoo()
    low = np.minimum(form.rank[edges.row], form.rank[edges.col])
    high = np.maximum(form.rank[edges.row], form.rank[edges.col])
    assert (low >= form.first[high]).all()
    assert (np.diff(form.first) >= 0).all()
    assert form.span == form.spans.max()
    assert form.work == (form.spans**2).sum()
    assert form.memory == 8 * form.n_values


def test_a_birth_death_chain_needs_a_band_of_two():
    Q = MarkovChain(np.diag(np.ones(99), 1) + np.diag(np.ones(99), -1) - np.diag([1.0, *[2.0] * 98, 1])).Q
    form = band(Q)
    assert form.span == 1
    assert form.memory <= 8 * 5 * 100


@pytest.mark.parametrize("most", [0, 10**9])
def test_products_taken_apart_give_the_same_factors(monkeypatch, most):
    Q = matrix_of("random, sparse")
    form = band(Q, 8)
    whole = eliminate_band(Q, form, "test").rates
    monkeypatch.setattr(bands, "TILE_STATES", 5)
    monkeypatch.setattr(bands, "MAX_TILED_STATES", most)
    np.testing.assert_allclose(eliminate_band(Q, form, "test").rates, whole, rtol=1e-13)


def test_an_order_is_turned_where_the_state_that_is_left_is_hardly_ever_entered():
    """A tandem that empties: its proof is by the factors of the solution, at once."""
    Q = MarkovChain(CoxTandem(capacity=31)).irreducible(0)
    form, turned = band(Q), band(Q, turned=True)
    assert turned.order.tolist() == form.order[::-1].tolist()
    assert ascent(Q, turned) == pytest.approx(-ascent(Q, form))
    assert ascent(Q, form) > MAX_ASCENT
    answer = stationary(CoxTandem(capacity=31))
    assert answer.proof.solver.reference == turned.order[0]
    assert answer.error_bound < 1e-15


def test_entries_that_share_a_place_stay_zero():
    """Factors in a band give the flows of factors in a full matrix."""
    Q = matrix_of("pause, long first queue")
    form = band(Q)
    assert form.row_stride < Q.shape[0]
    found = eliminate_band(Q, form, "GTH()").stationary_vector()
    full = form._replace(row_stride=Q.shape[0], first=np.zeros(Q.shape[0], dtype=np.int64))
    expected = eliminate_band(Q, full, "GTH()").stationary_vector()
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-13)


@pytest.mark.parametrize("low", [1, 7, 29])
def test_the_states_that_are_left_have_the_censored_rates(low):
    """S = A + B (-D)^-1 C for the blocks of the generator (Meyer's stochastic complement)."""
    Q = random_chain(30, 1.0, 4, density=0.5)
    rates = Q.copy()
    np.fill_diagonal(rates, 0.0)
    eliminate_down_to(rates, low)
    censored = Q[:low, :low] + Q[:low, low:] @ np.linalg.solve(-Q[low:, low:], Q[low:, :low])
    off = ~np.eye(low, dtype=bool)
    np.testing.assert_allclose(rates[:low, :low][off], censored[off], rtol=1e-11, atol=1e-13)


def test_an_array_in_columns_is_eliminated_in_place():
    Q = random_chain(9, 1.0, 5, density=0.6)
    rows, columns = Q.copy(), np.asfortranarray(Q)
    for rates in (rows, columns):
        eliminate_down_to(rates, 1)
    np.testing.assert_array_equal(rows, columns)


def test_a_layout_is_found_once_for_each_pattern():
    Q = matrix_of("pause")
    other = Q.copy()
    other.data = 2.0 * other.data
    assert Pattern(Q) == Pattern(other)
    assert hash(Pattern(Q)) == hash(Pattern(other))
    assert band(Q).order is band(other).order
    assert Pattern(Q) != Pattern(matrix_of("birth-death"))


def test_an_order_shortens_transitions():
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(60)
    chain = sp.diags([np.ones(59), np.ones(59)], [1, -1]).tocsr()[shuffled][:, shuffled]
    order = short_order(chain.indptr, chain.indices)
    rank = np.argsort(order)
    edges = chain.tocoo()
    assert np.abs(rank[edges.row] - rank[edges.col]).max() == 1
    dense = sp.csr_matrix(np.ones((4, 4)))
    assert short_order(dense.indptr, dense.indices, 2).tolist() == [2, 1, 0, 3]


# Factors of transient states, in NumPy, solve the equations of a closed chain outside of its reference.


@pytest.mark.parametrize("name", ["birth-death", "pause", "ring", "random, dense"])
@pytest.mark.parametrize("block", [40, BLOCK])
def test_transient_states_have_the_costs_and_times_of_the_chain_with_a_reference(name, block):
    """Halves of blocks, recursively, beside pairs of states in kernels."""
    Q = matrix_of(name)
    closed = eliminate_band(Q, band(Q, block), "GTH()")
    reference, n = closed.reference, Q.shape[0]
    others = np.delete(np.arange(n), reference)
    rates = Q[others][:, others].tolil()
    rates.setdiag(0.0)
    factors = PositiveFactors(sp.csr_matrix(rates), Q[others, reference].toarray().ravel())
    costs = np.random.default_rng(2).uniform(0.5, 2.0, n)
    expected = closed.poisson(costs)[0] + closed.poisson(costs)[1]
    np.testing.assert_allclose(factors.right(costs[others]), expected[others], rtol=1e-11)
    np.testing.assert_allclose(factors.left(costs[others]), closed.balance(costs)[others], rtol=1e-11)


def test_flows_beyond_float64_are_scaled_on_the_way():
    """A chain of 80 states whose probabilities grow by 1e5 each: 1e395 in all."""
    Q = MarkovChain(birth_death(np.full(79, 1e5), np.ones(79))).Q
    pi = eliminate_band(Q, band(Q, reference=0), "GTH()").stationary_vector()
    assert np.isfinite(pi).all()
    rest = pi[:-1] > 1e-280
    np.testing.assert_allclose(pi[1:][rest] / pi[:-1][rest], 1e5, rtol=1e-12)


# GTH and sparse LU against closed forms and exact rational solutions.


BOTH = pytest.mark.parametrize("method", [GTH(), GTH(block=3), SparseLU()], ids=repr)


@BOTH
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.lil_array])
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


@for_each([0, -1, 1.5, "64", True, None])
def test_bad_block(block):
    with pytest.raises(ValueError, match=r"^block = .*: must be a whole number in 1\.\.1000000"):
        GTH(block=block)


# Bounds on every entry by counting roundings.


@pytest.mark.parametrize("coupling", [1e-16, 1e-100])
def test_nearly_decomposable(coupling):
    rng = np.random.default_rng(5)
    Q = rng.random((8, 8)) * 10.0 ** rng.integers(-3, 3, (8, 8))
    Q[:4, 4:] *= coupling
    Q[4:, :4] *= 3.0 * coupling
    Q = generator_of(Q)
    truth = exact(Q)
    answer = stationary(Q)
    relative = [abs(Fraction(float(x)) / y - 1) for x, y in zip(answer.pi, truth, strict=True)]
    assert max(relative) < 1e-14
    assert distance(answer.pi, truth) <= answer.error_bound
    assert answer.status is Status.CONVERGED  # at any coupling: by the count of roundings
    assert max(relative) <= answer.entry_error < 1e-12
    assert answer.error_bound <= answer.entry_error
    other = stationary(Q, SparseLU(), on_failure="return")  # may be far off, and then says so
    assert distance(other.pi, truth) <= other.error_bound if other.status.ok else True
    assert other.status is not Status.CONVERGED or other.error_bound <= 1e-3


def test_unverified_is_infinite():
    """Two halves that residuals cannot see connected: only the count of roundings proves anything."""
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[2, 3] = Q[3, 2] = 1.0
    Q[1, 2] = Q[2, 1] = 1e-300
    answer = stationary(generator_of(Q))
    np.testing.assert_allclose(answer.pi, 0.25, rtol=1e-15)  # GTH knows
    assert answer.entry_error == math.inf  # its products underflow
    assert answer.error_bound >= 0.5
    assert answer.status is Status.UNPROVED
    failed = stationary(generator_of(Q), SparseLU(), on_failure="return")
    assert not failed.status.ok or failed.error_bound >= 0.5
