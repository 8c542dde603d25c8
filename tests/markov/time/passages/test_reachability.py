"""Which states lead to a set, and the chain that stops in one."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from markov.time.passages.reachability import leads_to, off_diagonal, stopped
from tests.markov.conftest import generator_of


def random_rates(n: int, seed: int) -> sp.csr_matrix:
    rng = np.random.default_rng(seed)
    rates = rng.random((n, n)) * (rng.random((n, n)) < 1.3 / n)
    np.fill_diagonal(rates, 0.0)
    return sp.csr_matrix(rates)


def truth(n: int, *states: int) -> np.ndarray:
    found = np.zeros(n, dtype=bool)
    found[list(states)] = True
    return found


def test_rates_between_different_states_leave_the_diagonal_and_zeros_out() -> None:
    Q = sp.coo_matrix(
        ([-2.0, 2.0, 0.0, 3.0, -3.0], ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])), shape=(3, 3)
    )
    found = off_diagonal(sp.csr_matrix(Q))
    assert found.toarray().tolist() == [[0.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0] * 3]
    assert found.nnz == 2


@pytest.mark.parametrize("seed", range(6))
def test_states_that_lead_to_a_set_are_the_ancestors_of_its_states(seed: int) -> None:
    rates = random_rates(40, seed)
    graph = nx.from_scipy_sparse_array(rates, create_using=nx.DiGraph)
    found = leads_to(sp.csr_matrix(rates.T), truth(40, 3, 17))
    expected = {3, 17} | nx.ancestors(graph, 3) | nx.ancestors(graph, 17)
    assert set(np.flatnonzero(found).tolist()) == expected


def test_only_some_states_may_be_passed_on_the_way() -> None:
    ring = sp.csr_matrix(np.roll(np.eye(6), 1, axis=1))  # 0 -> 1 -> ... -> 5 -> 0
    backward = sp.csr_matrix(ring.T)
    found = leads_to(backward, truth(6, 5), within=truth(6, 0, 1, 3, 4))
    assert np.flatnonzero(found).tolist() == [3, 4, 5]
    assert leads_to(backward, truth(6, 5)).all()


def test_a_stopped_chain_ends_in_the_target_or_elsewhere() -> None:
    Q = generator_of([[0, 1, 2, 0], [3, 0, 0, 4], [5, 6, 0, 7], [8, 0, 9, 0]])
    rates = off_diagonal(sp.csr_matrix(Q))
    found, reached = stopped(rates, running=truth(4, 0, 2), target=truth(4, 1))
    assert found.toarray().tolist() == [  # states 0 and 2, the target, elsewhere
        [-3.0, 2.0, 1.0, 0.0],
        [5.0, -18.0, 6.0, 7.0],
        [0.0] * 4,
        [0.0] * 4,
    ]
    assert reached.tolist() == [0.0, 0.0, 1.0, 0.0]
