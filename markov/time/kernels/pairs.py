"""The product of two matrices of sums of two float64.

1. Each sum starts at an upper bound of its value, which is subtracted at the end. So the sum is
   never below an addend, and its rounding error takes two operations instead of six.
2. The error t = sum + a b, d = a b - (t - sum) takes fused multiplications and additions: no factor is split.
3. Four terms are added between two loads of a sum; then the rounding errors of these are merged into it.

The docs page ``markov-time`` has the proof of `markov.time.squaring.unit_error`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import inlined, multiply_add, unaliased_entry

__all__ = ["run"]

BLOCK = 128  # columns whose part of the second matrix stays in the cache


@unaliased_entry
def run(a, b, upper_bound, out):
    """Write the matrix product a b to ``out``, in sums of two float64: shapes (2, l, m), (2, m, n) and (2, l, n).

    ``upper_bound`` is at least the sum of a[0, i, k] b[0, k, j] over k, shape (l, n).
    """
    rows, inner, columns = a.shape[1], a.shape[2], b.shape[2]
    for first in range(0, columns, BLOCK):
        last = min(first + BLOCK, columns)
        for i in range(rows):
            for j in range(first, last):
                out[0, i, j] = upper_bound[i, j]
                out[1, i, j] = 0.0
            fours = inner - inner % 4
            for k in range(0, fours, 4):
                if a[0, i, k] + a[0, i, k + 1] + a[0, i, k + 2] + a[0, i, k + 3] > 0.0:
                    add_four(a, b, out, (i, k), (first, last))
            for k in range(fours, inner):
                add_one(a, b, out, (i, k), (first, last))
            for j in range(first, last):
                total = out[0, i, j] - upper_bound[i, j]
                high = total + out[1, i, j]
                out[1, i, j] -= high - total
                out[0, i, j] = high


@inlined
def add_four(a, b, out, position, columns):
    """Add terms k to k + 3 of the product a b to row i of ``out`` in a block of columns; ``position`` is (i, k)."""
    i, k = position
    high_a, high_a1, high_a2, high_a3 = a[0, i, k], a[0, i, k + 1], a[0, i, k + 2], a[0, i, k + 3]
    low_a, low_a1, low_a2, low_a3 = a[1, i, k], a[1, i, k + 1], a[1, i, k + 2], a[1, i, k + 3]
    for j in range(columns[0], columns[1]):
        total, loss = multiply_and_add(out[0, i, j], (high_a, low_a), (b[0, k, j], b[1, k, j]))
        total, error = multiply_and_add(total, (high_a1, low_a1), (b[0, k + 1, j], b[1, k + 1, j]))
        loss += error
        total, error = multiply_and_add(total, (high_a2, low_a2), (b[0, k + 2, j], b[1, k + 2, j]))
        loss += error
        total, error = multiply_and_add(total, (high_a3, low_a3), (b[0, k + 3, j], b[1, k + 3, j]))
        loss += error
        loss += out[1, i, j]
        high = total + loss
        out[1, i, j] = loss - (high - total)
        out[0, i, j] = high


@inlined
def add_one(a, b, out, position, columns):
    """Add term k of the product a b to row i of ``out`` in a block of columns; ``position`` is (i, k)."""
    i, k = position
    high_a, low_a = a[0, i, k], a[1, i, k]
    for j in range(columns[0], columns[1]):
        total, loss = multiply_and_add(out[0, i, j], (high_a, low_a), (b[0, k, j], b[1, k, j]))
        loss += out[1, i, j]
        high = total + loss
        out[1, i, j] = loss - (high - total)
        out[0, i, j] = high


@inlined
def multiply_and_add(total, a, b):
    """Return total + a[0] b[0] rounded, and its rounding error plus a[0] b[1] + a[1] b[0]; a and b are pairs."""
    new = multiply_add(a[0], b[0], total)
    loss = multiply_add(a[0], b[0], total - new)
    return new, multiply_add(a[0], b[1], multiply_add(a[1], b[0], loss))
