"""Poisson's equation by few cycles of multigrid; which solvers are tried, and in which order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import markov.multigrid.linear_multigrid
import markov.proofs.certificates
import markov.proofs.poisson
from markov import GTH, CoxTandem, MarkovChain, Multilevel, PauseTandem, stationary
from markov.computing.double_double import DoubleDouble
from markov.methods.jump_chain import jumps
from markov.multigrid.hierarchy import build_hierarchy
from markov.multigrid.linear_multigrid import CoarseLevels
from markov.proofs.certificates import SHARP, Certificate, error_bound, supersolution
from markov.proofs.poisson import MultigridPoisson


def cycles_of(monkeypatch):
    """Return a list that grows by one with each cycle for a linear equation."""
    counted = []
    cycle = markov.multigrid.linear_multigrid.LinearMultigrid.cycle

    def counting(self):
        counted.append(1)
        return cycle(self)

    monkeypatch.setattr(markov.multigrid.linear_multigrid.LinearMultigrid, "cycle", counting)
    return counted


def test_a_bound_takes_few_cycles(monkeypatch):
    """Three or four at any size, since costs are large where nobody is; a tight one some more."""
    counted = cycles_of(monkeypatch)
    for n in (2, 4, 6):
        model = PauseTandem(buffers=(10 * n, 20 * n), high_threshold=15 * n)
        plain = stationary(model, Multilevel())
        assert len(counted) <= 5
        counted.clear()
        tight = stationary(model, Multilevel(), proof="tight")
        assert len(counted) <= 15
        counted.clear()
        # the slack of either, by the answer of elimination, which is right to 1e-15
        truth = 0.5 * np.abs(plain.pi - stationary(model, GTH()).pi).sum()
        assert truth < tight.error_bound < 20 * truth
        assert tight.error_bound < plain.error_bound < 1e4 * truth


def test_cycles_that_diverge_get_more_sweeps():
    """Of 2,016 states most are as unlikely as numbers can show in a vector held at a floor.

    With one sweep per level the residual grows by a factor of 80 per cycle.
    """
    chain = MarkovChain(CoxTandem(capacity=31))
    pi = stationary(chain).pi
    pi = np.maximum(pi, 1e-8 * pi.max())
    flow, weights = pi * -chain.Q.diagonal(), (pi / pi.max()) ** -0.1
    components = chain.components_of(chain.recurrent_classes[0])
    levels = build_hierarchy(jumps(chain.Q).inflow, flow, flow, components)
    found = supersolution(
        DoubleDouble(chain.Q), MultigridPoisson(chain.Q, pi, levels, weights), weights
    )
    assert found.c > SHARP
    # mean costs until the reference, by dense linear algebra; (Q h)(x) <= -c puts h above c times them
    others = np.flatnonzero(found.h)
    costs = np.linalg.solve(chain.Q[others][:, others].toarray(), -np.ones(len(others)))
    assert np.all(found.h[others] >= found.c * costs)


def test_the_last_level_is_solved_with_the_leak_of_the_likeliest_state(monkeypatch):
    """Where the likeliest state is slow, and most flow is elsewhere, in another aggregate.

    Two slow states hold most of the probability, 400 fast ones behind them nearly all of the flow.
    """
    made = []
    left = CoarseLevels.left

    def kept(self, reference, leak):
        made.append((left(self, reference, leak), reference, leak))
        return made[-1][0]

    monkeypatch.setattr(CoarseLevels, "left", kept)
    up, down = np.full(401, 100.0), np.full(401, 100.0)
    up[:2], down[:2] = 0.01, 0.02
    rates = sp.diags_array([up, down], offsets=[1, -1])
    Q = sp.csr_matrix(rates - sp.diags_array(np.asarray(rates.sum(axis=1)).ravel()))
    found = Multilevel().solve(Q)
    solver = MultigridPoisson(Q, found.pi, found.hierarchy, np.ones(402))
    busiest = int(np.argmax(found.pi * -Q.diagonal()))
    parents = [solver.reference, busiest]
    ((levels, reference, leak),) = made
    for _ in levels.first[1:-1]:
        parents = [int(levels.parent[place]) for place in parents]
    assert reference == solver.reference == 0
    assert parents[0] != parents[1]
    low, high = levels.first[-2:]
    rows = levels.indptr[low : high + 1]
    part = slice(rows[0], rows[-1])
    flows = sp.csr_matrix(
        (levels.values[part], levels.indices[part].astype(int) - low, rows - rows[0]),
        shape=(high - low, high - low),
    ).toarray()
    flows[np.diag_indices_from(flows)] = 0.0
    equations = np.diag(flows.sum(axis=1)) - flows
    equations[parents[0] - low, parents[0] - low] += leak
    # flows in and out of an aggregate differ by 1e-12, the residual of pi, and the leak is 1e-4 of them
    assert np.allclose(levels.inverse @ equations, np.eye(high - low), atol=1e-5)


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
    monkeypatch.setattr(markov.proofs.poisson, "MAX_PREDICTION_COST", 0.0)
    monkeypatch.setattr(markov.proofs.poisson, "MAX_LU_COST", 0.0)
    by_cycles = Certificate(Q, found.pi, None, found).distance
    assert truth <= by_factors <= 3.0 * truth
    assert by_factors < by_cycles < 1e-8
    own_levels = error_bound(Q, found.pi)
    # each h proves some c between 1/2, where cycles end, and its costs' own 1 and more
    assert by_cycles / 4.0 < own_levels < by_cycles * 4.0
    monkeypatch.setattr(markov.multigrid.linear_multigrid, "MAX_STAGNANT_CYCLES", 0)
    monkeypatch.setattr(markov.proofs.certificates, "PLAIN_CYCLES", 1)  # which is too few
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
        markov.proofs.poisson,
        "_multigrid",
        lambda *arguments: Failing("algebraic" if arguments[3] is None else "geometric"),
    )
    monkeypatch.setattr(
        markov.proofs.poisson,
        "_lu",
        lambda Q, reference: (0.0, lambda: Failing("sparse LU")),
    )
    assert error_bound(Q, pi, components) < 1e-14  # by elimination, which is the fastest here
    monkeypatch.setattr(markov.computing.costs, "MEMORY", 0.0)
    assert error_bound(Q, pi, components) == np.inf
    assert set(tried) == {"geometric", "sparse LU", "algebraic"}
    assert tried[-1] == "algebraic"
