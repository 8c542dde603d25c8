"""Solutions without a subtraction against fractions, entry by entry."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from markov.time.passages.positive_factors import PositiveFactors


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
