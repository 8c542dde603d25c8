"""Factors that methods return solve both equations of a chain."""

from __future__ import annotations

import numpy as np
import pytest

from markov import GTH, MarkovChain, SparseLU
from tests.markov.methods.conftest import CHAINS


@pytest.mark.parametrize("method", [GTH(block=1), GTH(block=5), GTH(), SparseLU()], ids=repr)
@pytest.mark.parametrize("name", ["birth-death", "pause", "random, dense", "random, sparse"])
def test_factors_solve_both_equations(name, method):
    """Q g = -f and d Q = -r, beside a dense solver; rates within two decades, so that little is lost."""
    Q = MarkovChain(CHAINS[name]()).irreducible(0)
    found = method.solve(Q)
    factors, n = found.factors, Q.shape[0]
    others = np.delete(np.arange(n), factors.reference)
    matrix, rng = Q.toarray()[np.ix_(others, others)], np.random.default_rng(7)
    f = rng.random(n)
    g, low = factors.poisson(f)
    expected = np.linalg.solve(matrix, -f[others])
    np.testing.assert_allclose((g + low)[others], expected, rtol=1e-9)
    assert g[factors.reference] == low[factors.reference] == 0.0
    r = rng.random(n) - 0.5
    d = factors.balance(r)
    expected = np.linalg.solve(matrix.T, -r[others])
    np.testing.assert_allclose(d[others], expected, atol=1e-9 * np.abs(expected).max())
    assert d[factors.reference] == 0.0
    assert factors.nbytes == found.memory > 0
