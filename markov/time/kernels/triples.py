"""The product of two matrices of sums of three float64.

As in `pairs`, each sum starts at an estimate. What is lost of it, and the products of a first and a second part, are
summed in the same way from an offset that is larger than they can be; what is lost of those, and all smaller products,
in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import inlined, multiply_add, unaliased_entry

__all__ = ["run"]

BLOCK = 96  # columns whose part of the second matrix stays in the cache
GROUP = 4  # terms between two merges
OFFSET = 2.0**-48  # of an estimate, where sums of second parts start: 32 u


@unaliased_entry
def run(a, b, estimate, out):
    """Write the product of ``a``, shape (3, l, m), and ``b``, shape (3, m, n), to ``out``, shape (3, l, n).

    ``estimate`` is at least the sum of a[0, i, k] b[0, k, j] over k, shape (l, n).
    """
    rows, inner, columns = a.shape[1], a.shape[2], b.shape[2]
    for first in range(0, columns, BLOCK):
        last = min(first + BLOCK, columns)
        for i in range(rows):
            for j in range(first, last):
                out[0, i, j] = estimate[i, j]
                out[1, i, j] = OFFSET * estimate[i, j]
                out[2, i, j] = 0.0
            for k in range(0, inner, GROUP):
                for here in range(k, min(k + GROUP, inner)):
                    if a[0, i, here] > 0.0:
                        add(a, b, out, (i, here), (first, last))
                for j in range(first, last):
                    offset = OFFSET * estimate[i, j]
                    total, second, third = merged(out[0, i, j], out[1, i, j] - offset, out[2, i, j])
                    start = offset + second
                    out[0, i, j], out[1, i, j] = total, start
                    out[2, i, j] = third + (second - (start - offset))
            for j in range(first, last):
                second = out[1, i, j] - OFFSET * estimate[i, j]
                total, second, third = merged(out[0, i, j] - estimate[i, j], second, out[2, i, j])
                out[0, i, j], out[1, i, j], out[2, i, j] = total, second, third


@inlined
def add(a, b, out, place, columns):
    """Add one term to the sums of a row."""
    i, k = place
    left, left_1, left_2 = a[0, i, k], a[1, i, k], a[2, i, k]
    for j in range(columns[0], columns[1]):
        right, right_1, right_2 = b[0, k, j], b[1, k, j], b[2, k, j]
        product = left * right
        total = out[0, i, j] + product
        second, lost = raised(out[1, i, j], product - (total - out[0, i, j]))
        second, more = raised(second, multiply_add(left, right, -product))
        lost += more
        new = multiply_add(left, right_1, second)
        lost += multiply_add(left, right_1, second - new)
        second = multiply_add(left_1, right, new)
        lost += multiply_add(left_1, right, new - second)
        lost = multiply_add(left, right_2, lost)
        lost = multiply_add(left_1, right_1, lost)
        out[2, i, j] += multiply_add(left_2, right, lost)
        out[1, i, j] = second
        out[0, i, j] = total


@inlined
def raised(total, by):
    """Return total + by, where |by| <= |total|, and what rounding takes from it."""
    new = total + by
    return new, by - (new - total)


@inlined
def merged(first, second, third):
    """Return three parts of the same sum with each at most about u times the one before."""
    total, lost = raised(first, second)
    rest = lost + third
    part = rest - lost
    return total, rest, (lost - (rest - part)) + (third - part)
