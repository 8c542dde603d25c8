"""exp(Q t) by squaring against exact arithmetic: every entry, however small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from markov.computing import costs
from markov.time.transients import squaring
from markov.time.transients.squaring import Pair, exponential
from tests.markov.time.exact_exponentials import exact

DISKS = np.array([[0.0, 2e-5, 0.0], [30.0, 0.0, 1e-5], [0.0, 0.0, 0.0]])
STIFF = 10.0 ** np.random.default_rng(49).uniform(-9.0, 6.0, (6, 6)) * (1.0 - np.eye(6))


def pair(rates):
    return Pair(rates, np.zeros_like(rates))


@pytest.mark.parametrize(
    ("rates", "time"), [(DISKS, 1.0), (DISKS, 1e11), (STIFF, 1e-6), (STIFF, 1e6)]
)
def test_every_entry_is_within_its_relative_bound(rates, time):
    found, truth = exponential(pair(rates), time), exact(rates, time)
    assert found.relative < 1e-12
    for i, row in enumerate(truth):
        for j, value in enumerate(row):
            entry = Fraction(found.matrix.high[i, j]) + Fraction(found.matrix.low[i, j])
            assert abs(entry - value) <= Fraction(found.relative) * value + Fraction(1, 10**290)


def test_the_kernel_and_numpy_agree_to_the_last_bit(monkeypatch):
    if not costs.has_numba():
        pytest.skip("Numba is not installed")
    a = exponential(pair(STIFF), 1.0).matrix
    monkeypatch.setattr(squaring, "without_numba", lambda *_: False)
    compiled, by_columns = squaring._product(a, a), squaring._product_by_columns(a, a)
    assert np.array_equal(compiled.high, by_columns.high)
    assert np.array_equal(compiled.low, by_columns.low)


def test_a_product_keeps_the_bound_of_the_header():
    """In one product of random matrices of 40 states, against integers."""
    rng = np.random.default_rng(1)
    a, b = (Pair(rng.random((40, 40)), np.zeros((40, 40))) for _ in range(2))
    found = squaring._product(a, b)
    eta = Fraction(72 * 40 + 16) / 2**106
    for i in range(0, 40, 13):
        for j in range(0, 40, 7):
            value = sum(
                Fraction(x) * Fraction(y) for x, y in zip(a.high[i], b.high[:, j], strict=True)
            )
            off = Fraction(found.high[i, j]) + Fraction(found.low[i, j]) - value
            assert abs(off) <= eta * value


def test_no_time_no_rates_and_what_cannot_be_proved():
    assert np.array_equal(exponential(pair(DISKS), 0.0).matrix.high, np.eye(3))
    assert np.array_equal(exponential(pair(0.0 * DISKS), 1.0).matrix.high, np.eye(3))
    assert exponential(pair(DISKS), 1e25) is None  # q t = 3e26 squared too often
    assert exponential(pair(np.array([[0.0, 1e-300], [1.0, 0.0]])), 1.0) is None


def test_a_start_is_multiplied_to_full_accuracy():
    found = exponential(pair(DISKS), 1.0)
    values, relative = found.applied(np.array([1.0, 0.0, 0.0]))
    assert values[2] == pytest.approx(6.44443822220883669e-12, rel=1e-15)  # 60 digits
    assert relative < 1e-15
