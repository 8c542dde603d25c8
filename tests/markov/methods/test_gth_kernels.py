"""The loops of elimination as plain Python, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from markov.methods.gth_kernels import eliminate, flows, inflows, mean_costs, product
from tests.markov.conftest import exact, generator_of

RATES = generator_of(10.0 ** np.random.default_rng(6).uniform(-6, 6, (6, 6)))
FULL = np.zeros(6, dtype=np.int64)


def factors():
    rates = RATES.copy()
    np.fill_diagonal(rates, 0.0)
    rates = rates.reshape(-1)
    eliminate(rates, 6, FULL, 1, 6, np.empty(12))
    return rates


def solved(A, b):
    """Return x with A x = b in rational arithmetic."""
    rows = [[*map(Fraction, row), Fraction(right)] for row, right in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k:
                share = rows[r][k]
                rows[r] = [x - share * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def off_reference():
    """Return the generator without the first state, its diagonal what makes rows sum to zero."""
    Q = [[Fraction(float(q)) for q in row] for row in RATES]
    for k, row in enumerate(Q):
        row[k] = -sum(q for j, q in enumerate(row) if j != k)
    return [row[1:] for row in Q[1:]]


def test_flows_are_right_in_every_entry():
    pi = np.zeros(6)
    flows(factors(), 6, FULL, pi)
    truth = exact(RATES)
    for value, right in zip(pi, truth, strict=True):
        ratio = Fraction(float(value)) * truth[0] / right
        assert abs(ratio - 1) < 200 * Fraction(2) ** -53  # O'Cinneide: some n^2 units


def test_blocks_of_states_leave_the_same_factors_whether_pairs_or_one_by_one():
    rates = RATES.copy()
    np.fill_diagonal(rates, 0.0)
    rates = rates.reshape(-1)
    for high in range(6, 1, -1):  # one at a time: the square below is to be completed
        k = high - 1
        eliminate(rates, 6, FULL, k, high, np.empty(12))
        square = rates.reshape(6, 6)
        square[:k, :k] += np.outer(square[:k, k], square[k, :k])
    off = ~np.eye(6, dtype=bool)
    one = rates.reshape(6, 6)
    two = factors().reshape(6, 6)
    np.testing.assert_allclose(one[off], two[off], rtol=1e-14)
    np.testing.assert_allclose(np.diag(one)[1:], np.diag(two)[1:], rtol=1e-14)


def test_mean_costs_and_inflows_solve_their_equations():
    right = np.array([3.0, 1.0, 0.5, 2.0, 0.25, 8.0])
    g, low = right.copy(), np.zeros(6)
    mean_costs(factors(), 6, FULL, g, low)
    expected = solved(off_reference(), [-Fraction(x) for x in right[1:].tolist()])
    np.testing.assert_allclose((g + low)[1:], [float(x) for x in expected], rtol=1e-13)
    assert g[0] == low[0] == 0.0
    d = right.copy()
    inflows(factors(), 6, FULL, d)
    transposed = [list(column) for column in zip(*off_reference(), strict=True)]
    expected = solved(transposed, [-Fraction(x) for x in right[1:].tolist()])
    np.testing.assert_allclose(d[1:], [float(x) for x in expected], rtol=1e-13)
    assert d[0] == 0.0


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_a_product_is_the_sum_of_products(n):
    x, y = np.arange(1.0, n + 1), np.arange(2.0, n + 2)
    assert product(x, y) == sum(k * (k + 1) for k in range(1, n + 1))
