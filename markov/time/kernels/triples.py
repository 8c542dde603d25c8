"""The product of two matrices of sums of three float64.

As in `pairs`, each sum starts at an upper bound. Its rounding errors, and the products of a first and a second part,
are summed in the same way from an offset that is larger than they can be. Their rounding errors, and all smaller
products, are summed in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import inlined, multiply_add, unaliased_entry

__all__ = ["run"]

BLOCK = 96  # columns whose part of the second matrix stays in the cache
GROUP = 4  # terms between two merges
OFFSET = 2.0**-48  # of the upper bound, where sums of second parts start: 32 u


@unaliased_entry
def run(a, b, upper_bound, out):
    """Write the matrix product a b to ``out``, in sums of three float64: shapes (3, l, m), (3, m, n) and (3, l, n).

    ``upper_bound`` is at least the sum of a[0, i, k] b[0, k, j] over k, shape (l, n).
    """
    rows, inner, columns = a.shape[1], a.shape[2], b.shape[2]
    for first in range(0, columns, BLOCK):
        last = min(first + BLOCK, columns)
        for i in range(rows):
            for j in range(first, last):
                out[0, i, j] = upper_bound[i, j]
                out[1, i, j] = OFFSET * upper_bound[i, j]
                out[2, i, j] = 0.0
            for k in range(0, inner, GROUP):
                for term in range(k, min(k + GROUP, inner)):
                    if a[0, i, term] > 0.0:
                        add_term(a, b, out, (i, term), (first, last))
                for j in range(first, last):
                    offset = OFFSET * upper_bound[i, j]
                    total, second, third = renormalize(out[0, i, j], out[1, i, j] - offset, out[2, i, j])
                    start = offset + second
                    out[0, i, j], out[1, i, j] = total, start
                    out[2, i, j] = third + (second - (start - offset))
            for j in range(first, last):
                second = out[1, i, j] - OFFSET * upper_bound[i, j]
                total, second, third = renormalize(out[0, i, j] - upper_bound[i, j], second, out[2, i, j])
                out[0, i, j], out[1, i, j], out[2, i, j] = total, second, third


@inlined
def add_term(a, b, out, position, columns):
    """Add term k of the product a b to row i of ``out`` in a block of columns; ``position`` is (i, k)."""
    i, k = position
    a0, a1, a2 = a[0, i, k], a[1, i, k], a[2, i, k]
    for j in range(columns[0], columns[1]):
        b0, b1, b2 = b[0, k, j], b[1, k, j], b[2, k, j]
        main = a0 * b0
        total = out[0, i, j] + main
        second, loss = fast_two_sum(out[1, i, j], main - (total - out[0, i, j]))
        second, error = fast_two_sum(second, multiply_add(a0, b0, -main))
        loss += error
        partial = multiply_add(a0, b1, second)
        loss += multiply_add(a0, b1, second - partial)
        second = multiply_add(a1, b0, partial)
        loss += multiply_add(a1, b0, partial - second)
        loss = multiply_add(a0, b2, loss)
        loss = multiply_add(a1, b1, loss)
        out[2, i, j] += multiply_add(a2, b0, loss)
        out[1, i, j] = second
        out[0, i, j] = total


@inlined
def fast_two_sum(total, addend):
    """Return the rounded sum total + addend and its exact rounding error, for |addend| <= |total|."""
    new = total + addend
    return new, addend - (new - total)


@inlined
def renormalize(first, second, third):
    """Return the sum of three float64 as three parts, each at most about 2^-53 times its predecessor."""
    total, loss = fast_two_sum(first, second)
    sum_of_losses = loss + third
    absorbed = sum_of_losses - loss
    return total, sum_of_losses, (loss - (sum_of_losses - absorbed)) + (third - absorbed)
