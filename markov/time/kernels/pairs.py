"""The product of two matrices of sums of two float64.

1. Each sum starts at an estimate of what it will be, which is not below it, and which is subtracted in the end. So it is
   never below what is added, and its rounding error takes two operations instead of six.
2. The error t = sum + a b, d = a b - (t - sum) is found by fused multiplication and addition: no factor is split.
3. Four terms are added between two loads of a sum; then the rounding errors of these are merged into it.

The docs page ``markov-time`` has the proof of `markov.time.exponentials.words.unit_error`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import inlined, multiply_add, unaliased_entry

__all__ = ["run"]

BLOCK = 128  # columns whose part of the second matrix stays in the cache


@unaliased_entry
def run(a, b, estimate, out):
    """Write the product of ``a``, shape (2, l, m), and ``b``, shape (2, m, n), to ``out``, shape (2, l, n).

    ``estimate`` is at least the sum of a[0, i, k] b[0, k, j] over k, shape (l, n).
    """
    rows, inner, columns = a.shape[1], a.shape[2], b.shape[2]
    for first in range(0, columns, BLOCK):
        last = min(first + BLOCK, columns)
        for i in range(rows):
            for j in range(first, last):
                out[0, i, j] = estimate[i, j]
                out[1, i, j] = 0.0
            fours = inner - inner % 4
            for k in range(0, fours, 4):
                if a[0, i, k] + a[0, i, k + 1] + a[0, i, k + 2] + a[0, i, k + 3] > 0.0:
                    add_four(a, b, out, (i, k), (first, last))
            for k in range(fours, inner):
                add_one(a, b, out, (i, k), (first, last))
            for j in range(first, last):
                total = out[0, i, j] - estimate[i, j]
                high = total + out[1, i, j]
                out[1, i, j] -= high - total
                out[0, i, j] = high


@inlined
def add_four(a, b, out, place, columns):
    """Add four terms to the sums of a row."""
    i, k = place
    left, left_1, left_2, left_3 = a[0, i, k], a[0, i, k + 1], a[0, i, k + 2], a[0, i, k + 3]
    low, low_1, low_2, low_3 = a[1, i, k], a[1, i, k + 1], a[1, i, k + 2], a[1, i, k + 3]
    for j in range(columns[0], columns[1]):
        total, lost = added(out[0, i, j], (left, low), (b[0, k, j], b[1, k, j]))
        total, more = added(total, (left_1, low_1), (b[0, k + 1, j], b[1, k + 1, j]))
        lost += more
        total, more = added(total, (left_2, low_2), (b[0, k + 2, j], b[1, k + 2, j]))
        lost += more
        total, more = added(total, (left_3, low_3), (b[0, k + 3, j], b[1, k + 3, j]))
        lost += more
        lost += out[1, i, j]
        high = total + lost
        out[1, i, j] = lost - (high - total)
        out[0, i, j] = high


@inlined
def add_one(a, b, out, place, columns):
    """Add one term to the sums of a row."""
    i, k = place
    left, low = a[0, i, k], a[1, i, k]
    for j in range(columns[0], columns[1]):
        total, lost = added(out[0, i, j], (left, low), (b[0, k, j], b[1, k, j]))
        lost += out[1, i, j]
        high = total + lost
        out[1, i, j] = lost - (high - total)
        out[0, i, j] = high


@inlined
def added(total, left, right):
    """Return total + left right without its small parts, and what that lacks."""
    new = multiply_add(left[0], right[0], total)
    lost = multiply_add(left[0], right[0], total - new)
    return new, multiply_add(left[0], right[1], multiply_add(left[1], right[0], lost))
