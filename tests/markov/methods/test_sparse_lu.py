"""Fill-in of sparse LU is known before it happens."""

from __future__ import annotations

import numpy as np
import pytest

from markov import Kanban, MarkovChain, PauseTandem, Polling, explore
from markov.methods.sparse_lu import BYTES, LUFactors, best_order
from tests.markov.methods.conftest import tree


def filled_in(Q, order):
    """Return the entries of both factors, by elimination of the pattern itself."""
    pattern = (Q.toarray() != 0)[np.ix_(order, order)]
    pattern |= pattern.T
    for k in range(len(order)):
        later = np.flatnonzero(pattern[k, k + 1 :]) + k + 1
        pattern[np.ix_(later, later)] = True
    return int(pattern.sum())


CHAINS = {
    "tree": lambda: tree(300),
    "pause": lambda: MarkovChain(PauseTandem()),
    "kanban": lambda: explore(Kanban(tickets=1)).chain,
    "polling": lambda: explore(Polling(stations=5)).chain,
}


@pytest.mark.parametrize("name", CHAINS)
def test_fill_in_is_known_before_it_happens(name):
    """Exactly by the pattern; SuperLU has no more entries, but counts the diagonal twice."""
    Q = CHAINS[name]().irreducible(0)
    order = best_order(Q)
    assert sorted(order.order) == list(range(Q.shape[0]))
    assert order.fill == filled_in(Q, order.order)
    factors = LUFactors(Q, int(order.order[-1]), order)
    assert factors.nbytes <= order.nbytes + BYTES * Q.shape[0]
