"""Poisson's equation by few cycles of multigrid."""

from __future__ import annotations

import numpy as np

import markov.methods.linear_multigrid
from markov import GTH, Multilevel, PauseTandem, stationary


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
    for n in (2, 4, 8):
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
