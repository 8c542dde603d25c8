"""Rational Krylov spaces against exponentials of matrices; their bounds hold."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import expm

from markov import explore, transient
from markov.methods.sparse_lu import best_order
from markov.time.transients.rational import Resolvents, cheaper_order, mean_growth


def slow_and_fast(s: Any, q: Any) -> Any:
    """A queue at 1000/s whose load changes once in 100 s, and that may stop for ever."""
    n, load = s
    if n < 20:
        yield (n + 1, load), 1000.0 * q.loads[load]
    if n > 0:
        yield (n - 1, load), 1000.0
    yield (n, 1 - load), 0.01
    if q.stops and n == 0:
        yield (0, 0 if load else 1), q.stops


@pytest.mark.parametrize("stops", [0.0, 0.5])
def test_long_times_of_a_chain_with_slow_and_fast_changes(stops: float) -> None:
    found = explore(slow_and_fast, start=(0, 0), params={"loads": (0.3, 0.6), "stops": stops})
    times = [0.0, 0.05, 50.0, 300.0]
    answer = transient(found, times)
    assert "rational Krylov" in answer.method
    assert answer.steps < 0.2 * 1600.0 * times[-1]
    start = answer.start
    for time, pi, bound in zip(times, answer.pi, answer.error_bound, strict=True):
        exact = start @ expm(found.chain.Q.toarray() * time)
        # the exponential by squarings is right to about 1e-16 times its norm
        assert 0.5 * np.abs(pi - exact).sum() <= bound + 1e-15 * 2000.0 * time
        assert bound <= 1e-9


def test_bounds_hold_for_random_chains() -> None:
    rng = np.random.default_rng(4)
    for _ in range(8):
        n = int(rng.integers(2, 12))
        rates = rng.random((n, n)) * 10.0 ** rng.uniform(-3, 2, (n, n))
        np.fill_diagonal(rates, 0.0)
        Q = sp.csr_matrix(rates - np.diag(rates.sum(axis=1)))
        start = rng.dirichlet(np.ones(n))
        spans = np.array([0.1, 5.0])
        resolvents = Resolvents(Q, 5.0, best_order(Q))
        found = resolvents.distributions(start, spans, np.full(2, 1e9))  # the first approximation
        assert found is not None
        for span, pi, error in zip(spans, found.values, found.errors, strict=True):
            assert 0.5 * np.abs(pi - start @ expm(Q.toarray() * span)).sum() <= error + 1e-13
        best = resolvents.distributions(start, spans, np.full(2, 1e-8))
        assert best is not None  # the whole space of so few states
        assert (best.errors <= 1e-8).all()


def test_short_times_are_left_to_products() -> None:
    Q = sp.csr_matrix(np.array([[-1.0, 1.0], [1.0, -1.0]]))
    assert cheaper_order(Q, 1e3) is None
    assert transient(Q, [1.0], start=0).method == "uniformization"


def test_the_mean_of_an_exponential_is_bounded_from_above() -> None:
    z = np.concatenate([-np.geomspace(1e-12, 30.0, 60), [0.0], np.geomspace(1e-12, 1.0, 40)])
    exact = [float(mpmath.expm1(x) / x) if x else 1.0 for x in map(mpmath.mpf, z.tolist())]
    found = mean_growth(z)
    assert (found >= np.array(exact) * (1.0 - 1e-15)).all()  # the rounding of expm1 and a quotient
    np.testing.assert_allclose(found, exact, rtol=1e-8)
