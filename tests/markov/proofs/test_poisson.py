"""Poisson's equation by few cycles of multigrid."""

from __future__ import annotations

import numpy as np

import markov.methods.linear_multigrid
from markov import GTH, CoxTandem, MarkovChain, Multilevel, PauseTandem, stationary
from markov.computing.double_double import DoubleDouble
from markov.methods.hierarchy import build_hierarchy
from markov.methods.jump_chain import jumps
from markov.methods.linear_multigrid import CoarseLevels
from markov.proofs.poisson import MultigridPoisson
from markov.proofs.supersolutions import SHARP, supersolution


def cycles_of(monkeypatch):
    """Return a list that grows by one with each cycle for a linear equation."""
    counted = []
    cycle = markov.methods.linear_multigrid.LinearMultigrid.cycle

    def counting(self):
        counted.append(1)
        return cycle(self)

    monkeypatch.setattr(markov.methods.linear_multigrid.LinearMultigrid, "cycle", counting)
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
    levels = CoarseLevels.entered(build_hierarchy(jumps(chain.Q)[0], flow, flow, components), flow)
    found = supersolution(
        DoubleDouble(chain.Q), MultigridPoisson(chain.Q, pi, levels, weights), weights
    )
    assert found.c > SHARP
    # mean costs until the reference, by dense linear algebra; (Q h)(x) <= -c puts h above c times them
    others = np.flatnonzero(found.h)
    costs = np.linalg.solve(chain.Q[others][:, others].toarray(), -np.ones(len(others)))
    assert np.all(found.h[others] >= found.c * costs)
