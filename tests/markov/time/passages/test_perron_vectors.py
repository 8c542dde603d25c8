"""Perron vectors and their eigenvalue against a cosine formula and against what the vectors must satisfy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from markov.time.passages.absorbing import Absorbing
from markov.time.passages.perron_vectors import slowest_decay


def walk(m, up, down, top):
    """A walk on m states that is left from the last one only, at another rate."""
    rates = np.zeros((m + 1, m + 1))
    rates[np.arange(m - 1), np.arange(1, m)] = up
    rates[np.arange(1, m), np.arange(m - 1)] = down
    rates[m - 1, m] = top
    return Absorbing(sp.csr_matrix(rates), np.arange(m + 1) < m)


@pytest.mark.parametrize(("m", "down"), [(10, 2.0), (30, 3.0), (40, 3.0)])
def test_the_interval_holds_the_eigenvalue_of_a_hundred_digits(m, down):
    """The largest has a decay rate of 1e-19 beside rates of 3."""
    system = walk(m, 1.0, down, 1.0)
    found = slowest_decay(system)
    with mpmath.workdps(120):
        A = mpmath.matrix(m)
        for i in range(m):
            A[i, i] = (i > 0) * down + 1
            if i:
                A[i, i - 1], A[i - 1, i] = -down, -1
        x = mpmath.ones(m, 1)
        for _ in range(60):
            y = mpmath.lu_solve(A, x)
            rate = x[0] / y[0]
            x = y / y[0]
        truth = rate
    assert mpmath.mpf(found.low) <= truth <= mpmath.mpf(found.high)
    assert found.high <= (1.0 + 1e-9) * found.low
    assert found.rate == pytest.approx(float(truth), rel=1e-9)
    assert found.left.min() > 0.0
    assert found.right.min() > 0.0


def test_both_vectors_satisfy_their_inequalities():
    system = walk(12, 1.0, 1.7, 0.3)
    found = slowest_decay(system)
    np.testing.assert_allclose(system.A.T @ found.left, found.rate * found.left, rtol=1e-9)
    np.testing.assert_allclose(system.A @ found.right, found.rate * found.right, rtol=1e-9)


def test_no_vectors_without_a_proof():
    assert slowest_decay(walk(60, 1.0, 3.0, 1.0)) is None  # beyond twice float64
    one_way = sp.csr_matrix(np.diag(np.ones(5), 1))
    assert slowest_decay(Absorbing(one_way, np.arange(6) < 5)) is None
    halves = np.zeros((5, 5))  # two pairs that are hardly joined and are left equally often
    halves[0, 1] = halves[1, 0] = halves[2, 3] = halves[3, 2] = 1.0
    halves[0, 2] = halves[2, 0] = 1e-6
    halves[1, 4] = halves[3, 4] = 1e-3
    halves[1, 4] *= 1.0001
    assert slowest_decay(Absorbing(sp.csr_matrix(halves), np.arange(5) < 4)) is None
