"""Which solvers of Poisson's equation are tried, and in which order."""

from __future__ import annotations

import numpy as np
import pytest

import markov.multigrid.linear_multigrid
import markov.proofs.poisson_solvers
import markov.proofs.supersolutions
from markov import GTH, MarkovChain, Multilevel, PauseTandem
from markov.proofs.certificates import Certificate, error_bound


@pytest.mark.parametrize("geometric", [True, False], ids=["geometric", "algebraic"])
def test_bound_without_factors(geometric, monkeypatch):
    """Multigrid and elimination prove bounds; multigrid's is larger, and none without enough cycles."""
    chain = MarkovChain(PauseTandem(low_threshold=10))
    Q = chain.irreducible(0)
    found = Multilevel(geometric=geometric).solve(
        Q, chain.components_of(chain.recurrent_classes[0])
    )
    truth = 0.5 * np.abs(found.pi - GTH().solve(Q).pi).sum() - 1e-15  # GTH's own rounding
    by_factors = error_bound(Q, found.pi)
    monkeypatch.setattr(markov.proofs.poisson_solvers, "MAX_PREDICTION_COST", 0.0)
    monkeypatch.setattr(markov.proofs.poisson_solvers, "MAX_LU_COST", 0.0)
    by_cycles = Certificate(Q, found.pi, None, found).distance
    assert truth <= by_factors <= 3.0 * truth
    assert by_factors < by_cycles < 1e-8
    own_levels = error_bound(Q, found.pi)
    # each h proves some c between 1/2, where cycles end, and its costs' own 1 and more
    assert by_cycles / 4.0 < own_levels < by_cycles * 4.0
    monkeypatch.setattr(markov.multigrid.linear_multigrid, "MAX_STAGNANT_CYCLES", 0)
    monkeypatch.setattr(markov.proofs.supersolutions, "PLAIN_CYCLES", 1)  # which is too few
    assert error_bound(Q, found.pi) == np.inf


def test_bound_tries_one_solver_after_the_other(monkeypatch):
    chain = MarkovChain(PauseTandem(buffers=(60, 4), high_threshold=3))
    Q, components = chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])
    pi = GTH().solve(Q).pi
    tried = []

    class Failing:
        reference = int(np.argmax(pi))

        def __init__(self, name):
            self.name = name

        def poisson(self, f):
            tried.append(self.name)
            return np.full(len(f), np.nan), np.zeros(len(f))

    monkeypatch.setattr(
        markov.proofs.poisson_solvers,
        "_multigrid",
        lambda *arguments: Failing("algebraic" if arguments[3] is None else "geometric"),
    )
    monkeypatch.setattr(
        markov.proofs.poisson_solvers,
        "_lu",
        lambda Q, reference: (0.0, lambda: Failing("sparse LU")),
    )
    assert error_bound(Q, pi, components) < 1e-14  # by elimination, which is the fastest here
    monkeypatch.setattr(markov.computing.costs, "MEMORY", 0.0)
    assert error_bound(Q, pi, components) == np.inf
    assert set(tried) == {"geometric", "sparse LU", "algebraic"}
    assert tried[-1] == "algebraic"
