"""exp(Q t) of small chains to hundreds of digits, in integers."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["exact"]


def exact(rates, time, digits=300):
    """Return exp(Q t) as whole numbers in units of 2^-(4 digits), by scaling and squaring."""
    n, bits = len(rates), 4 * digits
    a = [[Fraction(v) for v in row] for row in rates.tolist()]
    for i in range(n):
        a[i][i] = -sum(a[i])
    halvings = 200
    x = [[round(v * Fraction(time) * 2**bits) >> halvings for v in row] for row in a]

    def times(p, q):
        return [[sum(p[i][k] * q[k][j] for k in range(n)) >> bits for j in range(n)] for i in range(n)]

    unit = [[(1 << bits) * (i == j) for j in range(n)] for i in range(n)]
    total, term = unit, unit
    for k in range(1, 7):
        term = [[v // k for v in row] for row in times(term, x)]
        total = [[v + w for v, w in zip(r, s, strict=True)] for r, s in zip(total, term, strict=True)]
    for _ in range(halvings):
        total = times(total, total)
    return [[Fraction(v, 1 << bits) for v in row] for row in total]
