"""Both linear equations of a chain by multigrid, beside sparse LU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov import Cluster, MarkovChain, Multilevel, PauseTandem
from markov.proofs.poisson import MultigridPoisson


def poisson_of(model, known):
    """Return Q, pi and multigrid for its linear equations, on geometric or algebraic aggregates."""
    chain = MarkovChain(model)
    Q, components = chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])
    found = Multilevel(geometric=known).solve(Q, components)
    return Q, found.pi, MultigridPoisson(Q, found.pi, found.hierarchy, np.ones(len(found.pi)))


@pytest.mark.parametrize(
    "model",
    [PauseTandem(), PauseTandem(buffers=(10, 30), rtt=25.0, arrival_rates=(30, 3, 0.5)), Cluster()],
    ids=["pause", "slow", "cluster"],
)
@pytest.mark.parametrize("known", [True, False], ids=["geometric", "algebraic"])
def test_both_equations(model, known):
    """Q g = -f and d Q = -r beside sparse LU, to what is left of the equations."""
    Q, pi, multigrid = poisson_of(model, known)
    to, rng = multigrid.reference, np.random.default_rng(2)
    others = np.delete(np.arange(len(pi)), to)
    matrix = sp.csc_matrix(Q[others][:, others])
    f = rng.random(len(pi))
    g = multigrid.poisson(f, lambda rest: np.abs(rest).max() < 1e-9)
    expected = sp.linalg.spsolve(matrix, -f[others])
    assert g[to] == 0.0
    np.testing.assert_allclose(g[others], expected, rtol=1e-6)
    r = (rng.random(len(pi)) - 0.5) * pi
    r[to] -= r.sum()
    d = multigrid.balance(r, lambda rest: np.abs(rest).sum() < 1e-10)
    expected = sp.linalg.spsolve(sp.csc_matrix(matrix.T), -r[others])
    np.testing.assert_allclose((d - d[to] / pi[to] * pi)[others], expected, atol=1e-7)
    assert multigrid.nbytes > 8 * Q.nnz
