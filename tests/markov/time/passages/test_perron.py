"""Tails of passages: Perron vectors, and positive factors."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from markov import MM1K, passage, quasi_stationary
from markov.time.passages.absorbing import Absorbing
from markov.time.passages.perron_vectors import slowest_decay
from markov.time.passages.positive_factors import PositiveFactors

# Quasi-stationary distributions: formulas, dense eigenvectors, and intervals that hold.


def killed_walk(n: int, birth: float, death: float) -> np.ndarray:
    """States 0 (absorbing) to n."""
    Q = np.diag([0.0] + [birth] * (n - 1), 1) + np.diag([death] * n, -1)
    return Q - np.diag(Q.sum(axis=1))


def test_a_simple_walk_has_the_decay_rate_of_the_cosine_formula() -> None:
    # birth = death = 1, both ends absorbing: 2 (1 - cos(pi / n))
    n = 30
    Q = np.diag([1.0] * n, 1) + np.diag([1.0] * n, -1)
    Q[0] = Q[-1] = 0.0
    Q -= np.diag(Q.sum(axis=1))
    found = quasi_stationary(Q)
    exact = 4.0 * np.sin(np.pi / (2 * n)) ** 2
    assert found.decay_rate.lower <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.decay_rate.upper
    assert found.decay_rate.error <= 1e-11 * exact
    shape = np.sin(np.pi * np.arange(n + 1) / n)
    np.testing.assert_allclose(found.pi, shape / shape.sum(), atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_have_the_left_eigenvector_of_dense_algebra(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.1), 1)
    Q += np.diag(np.full(n - 1, 0.1), -1)
    Q[0] = 0.0
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    values, left = scipy.linalg.eig(Q[1:, 1:].T)
    k = int(np.argmax(values.real))
    vector = np.abs(left[:, k].real)
    found = quasi_stationary(Q)
    assert found.decay_rate.value == pytest.approx(-values[k].real, rel=1e-11)
    np.testing.assert_allclose(found.pi[1:], vector / vector.sum(), atol=1e-11)


def test_from_it_the_time_to_absorption_is_exponential() -> None:
    Q = killed_walk(12, 1.0, 0.7)
    found = quasi_stationary(Q)
    time = passage(Q, to=0, start=found.pi)
    assert time.mean == pytest.approx(found.mean_time, rel=1e-9)
    assert time.variance == pytest.approx(found.mean_time**2, rel=1e-8)


def test_a_rare_end_has_an_interval_too() -> None:
    model = MM1K(capacity=8, arrival_rate=5.0, service_rate=1.0)
    found = quasi_stationary(model, to=(0,))
    mean = passage(model, to=(0,), start=found.pi).mean  # about 5^8 / 4
    assert found.decay_rate.lower * (1 - 1e-9) <= 1.0 / mean <= found.decay_rate.upper * (1 + 1e-9)
    assert 0.0 < found.decay_rate.lower <= found.decay_rate.value
    assert "decay rate" in repr(found)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="say in to="):
        quasi_stationary(MM1K(capacity=3))
    with pytest.raises(ValueError, match="2 classes"):
        quasi_stationary(np.array([[-1.0, 1, 0], [0, -1, 1], [0, 0, 0]]))
    with pytest.raises(ValueError, match="no state is left"):
        quasi_stationary(np.array([[-1.0, 1], [1, -1]]), to=[0, 1])


# Perron vectors and their eigenvalue against a cosine formula and against what the vectors must satisfy.


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


# Solutions without a subtraction against fractions, entry by entry.


def solved(matrix, right):
    """Solve a system in fractions, by Gauss and Jordan."""
    n = len(matrix)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_every_entry_is_right_however_rarely_the_states_are_left(seed):
    """Exit rates of 1 to 100, and one in 1e30 s out of the states: nothing is left of that in a diagonal."""
    rng = np.random.default_rng(seed)
    n = 9
    rates = 10.0 ** rng.uniform(-3.0, 2.0, (n, n)) * (rng.random((n, n)) < 0.5) + 0.1
    np.fill_diagonal(rates, 0.0)
    leaving = np.zeros(n)
    leaving[rng.integers(n)] = 1e-30
    right = 10.0 ** rng.uniform(-2.0, 2.0, n)
    factors = PositiveFactors(sp.csr_matrix(rates), leaving)
    exact = [[-Fraction(v) for v in row] for row in rates.tolist()]
    for i in range(n):
        exact[i][i] = Fraction(float(leaving[i])) - sum(exact[i])
    given = [Fraction(value) for value in right.tolist()]
    for found, matrix in (
        (factors.right(right), exact),
        (factors.left(right), [list(column) for column in zip(*exact, strict=True)]),
    ):
        for value, truth in zip(found.tolist(), solved(matrix, given), strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(1, 10**13) * truth


def test_states_apart_from_each_other_are_solved_too():
    factors = PositiveFactors(sp.csr_matrix((2, 2)), np.array([2.0, 4.0]))
    assert factors.right(np.ones(2)).tolist() == [0.5, 0.25]
    assert factors.left(np.ones(2)).tolist() == [0.5, 0.25]
