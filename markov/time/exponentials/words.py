"""Matrices whose entries are unevaluated sums of two or three float64, their words, and products of them without subtraction.

Shape (words, rows, columns); entries are >= 0, each word is at most about u = 2^-53 of the one before. The relative error of an
entry of a product does not depend on how large entries are (`unit_error`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hopflow.kernels import engine
from markov.computing.double_double import sum_error
from markov.computing.rounding import U

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Words = NDArray[np.float64]

__all__ = ["exact_sum", "product", "product_seconds", "total", "total_error", "unit_error"]

KERNEL = "markov.time.exponentials.kernel"
KERNELS = {2: "pairs", 3: "triples"}
MARGIN = 1.0 + 2.0**-20  # of an estimate, above its own rounding
TERM, CALL = {2: 3e-10, 3: 1.1e-9}, {2: 1e-5, 3: 1e-5}
"""Seconds per product of two entries, and per product of two matrices, by number of words."""


def unit_error(words: int, inner: int) -> float:
    """Return a bound on the relative error of an entry of a product, a sum of ``inner`` terms, of exact factors."""
    if words == 2:
        return (13 * inner + 64) * U**2
    return 2048 * (inner + 4) * U**3


def product_seconds(words: int, terms: int) -> float:
    """Return the predicted time of a product of ``terms`` multiplications, in s, once its kernel is loaded."""
    return CALL[words] + TERM[words] * terms


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
    words = len(a)
    estimate = a[0] @ b[0]
    estimate *= MARGIN
    out = np.empty((words, *estimate.shape))
    engine(KERNEL, KERNELS[words])(a, b, estimate, out)
    return out


def _renormalized(sums: Iterable[NDArray[np.float64]], words: int) -> Words:
    """Return sums of parts of falling size as so many words."""
    parts = list(sums)
    for k in range(words):
        for i in range(len(parts) - 1, k, -1):  # the smallest first
            rest = sum_error(parts[i - 1], parts[i])
            parts[i - 1], parts[i] = parts[i - 1] + parts[i], rest
    return np.array(parts[:words])
