"""The stationary distribution in fractions: elimination without rounding, for small chains and as a reference."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["MAX_EXACT_STATES", "exact_distribution"]

MAX_EXACT_STATES = 100
"""Fractions have some 100 digits per state where rates are any float64: time grows like n^4 and more."""


def exact_distribution(Q: sp.csr_matrix) -> list[Fraction]:
    """Return pi of an irreducible generator, shape (n, n), whose off-diagonals are taken as exact.

    The elimination of `GTH` in exact arithmetic, each time of the state with the smallest product of transitions
    in and out (H. M. Markowitz, Management Science 3, 1957).

    Raises
    ------
    ValueError
        For more than `MAX_EXACT_STATES` states.
    """
    n = Q.shape[0]
    if n > MAX_EXACT_STATES:
        raise ValueError(f"exact = True: {n} recurrent states: must be at most {MAX_EXACT_STATES}")
    out: list[dict[int, Fraction]] = [{} for _ in range(n)]
    into: list[dict[int, None]] = [{} for _ in range(n)]
    for s in range(n):
        row = slice(Q.indptr[s], Q.indptr[s + 1])
        for t, rate in zip(Q.indices[row].tolist(), Q.data[row].tolist(), strict=True):
            if t != s and rate != 0.0:
                out[s][t] = Fraction(rate)
                into[t][s] = None
    left, shares = set(range(n)), []
    while len(left) > 1:
        k = min(left, key=lambda s: (len(out[s]) * len(into[s]), s))
        left.remove(k)
        total = sum(out[k].values())
        found = {}
        for i in into[k]:
            found[i] = out[i].pop(k) / total
            for j, rate in out[k].items():
                if j != i:
                    out[i][j] = out[i].get(j, Fraction(0)) + found[i] * rate
                    into[j][i] = None
        for j in out[k]:
            into[j].pop(k, None)
        shares.append((k, found))
    pi = [Fraction(0)] * n
    pi[left.pop()] = Fraction(1)
    for k, found in reversed(shares):
        pi[k] = sum((pi[i] * share for i, share in found.items()), Fraction(0))
    mass = sum(pi)
    return [x / mass for x in pi]
