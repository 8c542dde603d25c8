"""Elimination on band storage: layouts, factors by blocks, and a part that is left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov import CoxTandem, MarkovChain, stationary
from markov.computing import memory
from markov.errors import TooLargeError
from markov.methods import elimination
from markov.methods.elimination import (
    Pattern,
    ascent,
    band,
    eliminate_down_to,
    eliminated,
    short_order,
)
from markov.methods.gth import STEEP
from tests.markov.methods.conftest import CHAINS, random_chain

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
    Q = MarkovChain(
        np.diag(np.ones(99), 1) + np.diag(np.ones(99), -1) - np.diag([1.0, *[2.0] * 98, 1])
    ).Q
    form = band(Q)
    assert form.span == 1
    assert form.memory <= 8 * 5 * 100


@pytest.mark.parametrize("most", [0, 10**9])
def test_products_taken_apart_give_the_same_factors(monkeypatch, most):
    Q = matrix_of("random, sparse")
    form = band(Q, 8)
    whole = eliminated(Q, form, "test").rates
    monkeypatch.setattr(elimination, "TILE", 5)
    monkeypatch.setattr(elimination, "MAX_TILED", most)
    np.testing.assert_allclose(eliminated(Q, form, "test").rates, whole, rtol=1e-13)


def test_an_order_is_turned_where_the_state_that_is_left_is_hardly_ever_entered():
    """A tandem that empties: its proof is by the factors of the solution, at once."""
    Q = MarkovChain(CoxTandem(capacity=31)).irreducible(0)
    form, turned = band(Q), band(Q, turned=True)
    assert turned.order.tolist() == form.order[::-1].tolist()
    assert ascent(Q, turned) == pytest.approx(-ascent(Q, form))
    assert ascent(Q, form) > STEEP
    answer = stationary(CoxTandem(capacity=31))
    assert answer.proof.solver.reference == turned.order[0]
    assert answer.error_bound < 1e-15


def test_entries_that_share_a_place_stay_zero():
    """Factors in a band give the flows of factors in a full matrix."""
    Q = matrix_of("pause, long first queue")
    form = band(Q)
    assert form.row_stride < Q.shape[0]
    found = eliminated(Q, form, "GTH()").flows()
    full = form._replace(row_stride=Q.shape[0], first=np.zeros(Q.shape[0], dtype=np.int64))
    expected = eliminated(Q, full, "GTH()").flows()
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


def test_what_does_not_fit_is_refused_before_it_is_laid_out(monkeypatch):
    Q = matrix_of("random, dense")
    form = band(Q)
    monkeypatch.setattr(memory, "available", lambda: 1e3)
    monkeypatch.setattr(memory, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(TooLargeError, match=r"^GTH\(\) on 60 states"):
        eliminated(Q, form, "GTH()")


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
