"""Products of sums of two and three float64 against fractions: compiled, as plain Python and by NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from markov.computing import costs
from markov.time.exponentials import words as of_words
from markov.time.exponentials.kernel import pairs, triples
from markov.time.exponentials.words import U, exact_sum, product, total, total_error, unit_error


def random_words(rng, words, rows, columns):
    """Return entries of any size from 1e-60 to 1, some of them zero."""
    parts = [10.0 ** rng.uniform(-60.0, 0.0, (rows, columns)) * (rng.random((rows, columns)) < 0.9)]
    for _ in range(words - 1):
        parts.append(parts[-1] * U * rng.uniform(-1.0, 1.0, (rows, columns)))
    return np.array(parts)


def value(a, i, j):
    return sum(map(Fraction, a[:, i, j].tolist()))


def check(found, a, b):
    words, rows, inner = a.shape
    for i in range(rows):
        for j in range(b.shape[2]):
            known = sum(value(a, i, k) * value(b, k, j) for k in range(inner))
            off = abs(value(found, i, j) - known)
            assert off <= Fraction(unit_error(words, inner)) * known
            parts = np.abs(found[:, i, j])
            assert np.all(parts[1:] <= 1.01 * U * parts[:-1])


SHAPES = [(1, 1, 1), (2, 3, 2), (5, 8, 130), (3, 41, 2), (7, 6, 7)]


@pytest.mark.parametrize("words", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_product_is_within_its_bound(words, shape, compiled, monkeypatch):
    if compiled and not costs.has_numba():
        pytest.skip("Numba is not installed")
    monkeypatch.setattr(costs, "by_numpy", lambda *_: not compiled)
    rng = np.random.default_rng([words, *shape])
    a, b = random_words(rng, words, *shape[:2]), random_words(rng, words, *shape[1:])
    check(product(a, b), a, b)


@pytest.mark.parametrize("kernel", [pairs, triples])
def test_the_kernel_as_plain_python_is_within_the_bound(kernel):
    words = 2 if kernel is pairs else 3
    rng = np.random.default_rng(words)
    a, b = random_words(rng, words, 2, 5), random_words(rng, words, 5, 2)
    out = np.empty((words, 2, 2))
    kernel.run(a, b, a[0] @ b[0] * of_words.MARGIN, out)
    check(out, a, b)


@pytest.mark.parametrize("words", [2, 3])
def test_equal_terms_whose_rounding_errors_all_have_one_sign(words, monkeypatch):
    """Each addition of the largest terms rounds in the same direction: the proof's worst case."""
    inner = 64
    a = np.zeros((words, 1, inner))
    b = np.zeros((words, inner, 1))
    a[0] = 1.0 + 3.0 * U
    b[0] = 1.0 + 2.0 * U
    a[1] = b[1] = U * (1.0 - 2.0 * U)
    for by_numpy in (True, False) if costs.has_numba() else (True,):
        monkeypatch.setattr(costs, "by_numpy", lambda *_, by_numpy=by_numpy: by_numpy)
        check(product(a, b), a, b)


@pytest.mark.parametrize("words", [2, 3])
def test_sums_of_two_are_within_their_bound(words):
    rng = np.random.default_rng(words)
    a, b = random_words(rng, words, 6, 6), random_words(rng, words, 6, 6)
    found = total(a, b)
    for i in range(6):
        for j in range(6):
            known = value(a, i, j) + value(b, i, j)
            assert abs(value(found, i, j) - known) <= Fraction(total_error(words)) * known


def test_words_of_a_sum_are_rounded_one_by_one():
    found = exact_sum([1.0, 2.0**-60, 2.0**-120, -(2.0**-180)], 3)
    assert found == (1.0, 2.0**-60, 2.0**-120)
    assert exact_sum([1.0, -1.0]) == (0.0, 0.0)
