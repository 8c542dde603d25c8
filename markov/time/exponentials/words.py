"""Matrices whose entries are unevaluated sums of two or three float64, their words, and products of them without subtraction.

Shape (words, rows, columns); entries are >= 0, each word is at most about u = 2^-53 of the one before. The relative error of an
entry of a product does not depend on how large entries are (`unit_error`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import engine
from markov.computing import costs
from markov.computing.double_double import product_error, split, sum_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Words = NDArray[np.float64]

__all__ = ["U", "exact_sum", "product", "product_seconds", "total", "total_error", "unit_error"]

U = 2.0**-53
KERNEL = "markov.time.exponentials.kernel"
KERNELS = {2: "pairs", 3: "triples"}
MARGIN = 1.0 + 2.0**-20  # of an estimate, above its own rounding
CHUNK = 2**15  # products of entries that NumPy makes at once
TERM, CALL = {2: 3e-10, 3: 1.1e-9}, {2: 1e-5, 3: 1e-5}
NUMPY_TERM, NUMPY_CALL = {2: 2.5e-8, 3: 7.5e-8}, {2: 5e-5, 3: 1e-4}
"""Seconds per product of two entries, and per product of two matrices, by number of words."""


def unit_error(words: int, inner: int) -> float:
    """Return a bound on the relative error of an entry of a product, a sum of ``inner`` terms, of exact factors."""
    if words == 2:
        return (13 * inner + 64) * U**2
    return 2048 * (inner + 8) * U**3


def product_seconds(words: int, terms: int) -> float:
    """Return the predicted time of a product of ``terms`` multiplications, in s, once its kernel is loaded."""
    if costs.has_numba():
        return CALL[words] + TERM[words] * terms
    return NUMPY_CALL[words] + NUMPY_TERM[words] * terms


def exact_sum(values: Iterable[float], words: int = 2) -> tuple[float, ...]:
    """Return a sum as some float64, each of them rounded once."""
    terms, found = list(values), []
    for _ in range(words):
        found.append(math.fsum(terms))
        terms.append(-found[-1])
    return tuple(found)


def total(a: Words, b: Words) -> Words:
    """Return the sum of two arrays of non-negative numbers of w words, to `total_error` of it."""
    parts = [part for pair in zip(a, b, strict=True) for part in pair]
    return _renormalized(parts, len(a))


def total_error(words: int) -> float:
    """Return a bound on the relative error of a sum of two numbers of so many words.

    Each of w passes over 2 w parts leaves at most (2 w - 1) u of what it finds.
    """
    return ((2 * words - 1) * U) ** words


def product(a: Words, b: Words) -> Words:
    """Return a b, shape (words, l, n), of shapes (words, l, m) and (words, m, n)."""
    words, _, inner = a.shape
    estimate = a[0] @ b[0]
    estimate *= MARGIN
    seconds = NUMPY_CALL[words] + NUMPY_TERM[words] * inner * estimate.size
    if costs.by_numpy(seconds, lambda: _kernel(words)):
        return _product_by_numpy(a, b, estimate)
    out = np.empty((words, *estimate.shape))
    _kernel(words)(a, b, estimate, out)
    return out


def _kernel(words: int) -> Any:
    return engine(KERNEL, KERNELS[words])


def _product_by_numpy(a: Words, b: Words, estimate: NDArray[np.float64]) -> Words:
    """Return a product with NumPy: terms of one order of u are cut into parts whose sums are exact, and what is left is of the next."""
    words, rows, inner = a.shape
    columns, orders = b.shape[2], words + 1
    cuts = np.ldexp(1.0, np.frexp(estimate)[1])  # a power of two, above each sum
    finer = 2.0 ** (math.frexp(16.0 * inner)[1] - 53)
    sums = np.zeros((orders, rows, columns))
    step = max(1, CHUNK // (rows * columns))
    for first in range(0, inner, step):
        part = slice(first, first + step)
        orders_of_terms = _terms(a[:, :, part, None], b[:, None, part, :])
        cut = cuts[:, None, :].copy()
        for order in range(orders):
            rest: Words = np.zeros(1)
            for term in orders_of_terms[order]:
                if order == orders - 1:
                    rest = rest + term
                    continue
                high = (term + cut) - cut
                sums[order] += high.sum(axis=1)
                orders_of_terms[order + 1].append(term - high)
            if order == orders - 1:
                sums[order] += rest.sum(axis=1)
            cut *= finer
    return _renormalized(sums, words)


def _terms(a: Words, b: Words) -> list[list[Words]]:
    """Return products of words and their rounding errors, by their order in u: those of the last one are rounded."""
    words = len(a)
    found: list[list[Words]] = [[] for _ in range(words + 1)]
    parts = [split(a[k]) for k in range(words - 1)], [split(b[k]) for k in range(words - 1)]
    for i in range(words):
        for j in range(words - i):
            term = a[i] * b[j]
            found[i + j].append(term)
            if i + j < words - 1:
                found[i + j + 1].append(product_error(term, parts[0][i], parts[1][j]))
    return found


def _renormalized(sums: Iterable[NDArray[np.float64]], words: int) -> Words:
    """Return sums of parts of falling size as so many words."""
    parts = list(sums)
    for k in range(words):
        for i in range(len(parts) - 1, k, -1):  # the smallest first
            rest = sum_error(parts[i - 1], parts[i])
            parts[i - 1], parts[i] = parts[i - 1] + parts[i], rest
    return np.array(parts[:words])
