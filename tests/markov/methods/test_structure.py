"""Closed classes, periods and absorption probabilities."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from markov import MM1K, JacksonTandem, MarkovChain, PauseTandem, stationary_by_class
from markov.methods.structure import closed_classes
from tests.markov.conftest import generator_of


@pytest.mark.parametrize("seed", range(20))
def test_closed_classes_are_networkxs_attracting_components(seed):
    graph = nx.gnp_random_graph(12, 0.12, seed=seed, directed=True)
    Q = sp.csr_matrix(generator_of(nx.to_numpy_array(graph)))
    expected = {frozenset(states) for states in nx.attracting_components(graph)}
    found = closed_classes(Q)
    assert {frozenset(states.tolist()) for states in found} == expected
    assert all((np.diff(states) > 0).all() for states in found)


def test_periods():
    assert MarkovChain(MM1K()).periods == [2]
    assert MarkovChain(JacksonTandem()).periods == [3]
    assert MarkovChain(PauseTandem()).periods == [1]
    for n in (2, 3, 7):
        rates = np.roll(np.eye(n), 1, axis=1)
        assert MarkovChain(generator_of(rates)).periods == [n]
        rates[0, 0 if n == 2 else 2] += 1.0  # a short cut
        assert MarkovChain(generator_of(rates)).periods == [{2: 2, 3: 1, 7: 1}[n]]
    assert MarkovChain(np.zeros((3, 3))).periods == [1, 1, 1]


def test_gamblers_ruin():
    """From n of 10 with odds 3 : 2 against, the textbook's formula, entry by entry."""
    rates = np.diag(np.full(10, 2.0), 1) + np.diag(np.full(10, 3.0), -1)
    rates[0] = rates[10] = 0.0
    chain = MarkovChain(generator_of(rates))
    n, ratio = np.arange(11), 1.5
    wins = (ratio**n - 1) / (ratio**10 - 1)
    order = np.argsort([states[0] for states in chain.recurrent_classes])
    np.testing.assert_allclose(chain.absorption_probabilities[:, order[1]], wins, rtol=1e-14)
    np.testing.assert_allclose(chain.absorption_probabilities.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("limit", [1500, 5])
def test_absorption_against_a_dense_solver(limit, monkeypatch):
    monkeypatch.setattr("markov.methods.structure.DENSE_LIMIT", limit)
    rng = np.random.default_rng(4)
    rates = rng.random((30, 30)) * (rng.random((30, 30)) < 0.2) + np.diag(np.ones(29), 1)
    for end in (slice(24, 27), slice(27, 30)):
        rates[end] = 0.0
        rates[end, end] = 1.0
    np.fill_diagonal(rates, 0.0)
    Q = generator_of(rates)
    chain = MarkovChain(Q)
    inside = np.linalg.inv(-Q[:24, :24])
    for column, states in enumerate(chain.recurrent_classes):
        expected = inside @ rates[:24][:, states].sum(axis=1)
        np.testing.assert_allclose(
            chain.absorption_probabilities[:24, column], expected, rtol=1e-12
        )
        assert (chain.absorption_probabilities[states, column] == 1.0).all()
    np.testing.assert_allclose(
        chain.absorption_probabilities
        @ np.array([answer.pi for answer in stationary_by_class(chain)])
        @ Q,
        0.0,
        atol=1e-14,
    )
