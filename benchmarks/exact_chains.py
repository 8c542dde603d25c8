"""Quantities of Markov chains to 60 digits.

Decimal numbers of 160 digits and plain elimination: rates are the given floating-point numbers, exactly, and
at most some 90 digits are lost where rates differ by 1e24 and groups of states exchange 1e-17 of their flow.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import numpy as np

CONTEXT = decimal.Context(prec=160, Emax=999_999_999, Emin=-999_999_999)
decimal.setcontext(CONTEXT)
TERMS = 110  # of the series of the exponential function, for arguments up to one
ROUNDING = Decimal("1e-130")
"""Smaller differences are rounding: no probability of these chains is as close to zero or one."""
Exact = Any
"""Array of decimal numbers."""


def exact(values: Any) -> Exact:
    """Return floating-point numbers as decimal ones, exactly."""
    values = np.asarray(values, dtype=float)
    return np.array([Decimal(x) for x in values.ravel().tolist()], dtype=object).reshape(values.shape)


def exact_generator(Q: Any) -> Exact:
    """Return a generator whose off-diagonals are those given and whose rows sum to zero."""
    found = exact(Q)
    np.fill_diagonal(found, Decimal(0))
    sums = found.sum(axis=1)
    for x, total in enumerate(sums):
        found[x, x] = -total
    return found


def stationary_vector(Q: Any) -> Exact:
    """Return pi of an irreducible generator by elimination without subtractions."""
    rates, n = exact(Q), len(Q)
    np.fill_diagonal(rates, Decimal(0))
    for k in range(n - 1, 0, -1):
        rates[:k, k] = rates[:k, k] / rates[k, :k].sum()
        rates[:k, :k] += np.multiply.outer(rates[:k, k], rates[k, :k])
    pi = np.array([Decimal(1)] * n, dtype=object)
    for k in range(1, n):
        pi[k] = (pi[:k] * rates[:k, k]).sum()
    return pi / pi.sum()


def solved(A: Exact, b: Exact) -> Exact:
    """Return the solution of linear equations by elimination with row exchanges."""
    n, A, b = len(A), A.copy(), b.copy()
    for k in range(n):
        best = max(range(k, n), key=lambda row: abs(A[row, k]))
        if best != k:
            A[[k, best]], b[[k, best]] = A[[best, k]], b[[best, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= np.multiply.outer(factors, A[k, k:])
        b[k + 1 :] -= factors * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - (A[k, k + 1 :] * b[k + 1 :]).sum()) / A[k, k]
    return b


def mean(pi: Exact, f: Any) -> Decimal:
    """Return the mean of a function of the state."""
    f = np.asarray(f)
    found: Decimal = (pi * (f if f.dtype == object else exact(f))).sum()
    return found


def poisson(Q: Any, pi: Exact, f: Exact) -> Exact:
    """Return g with Q g = pi f - f and g = 0 in the first state."""
    g = np.array([Decimal(0)] * len(Q), dtype=object)
    if len(Q) > 1:
        right = mean(pi, f) - f
        g[1:] = solved(exact_generator(Q)[1:, 1:], right[1:])
    return g


def passage_moments(Q: Any, target: Any) -> tuple[Exact, Exact]:
    """Return the first two moments of the time to a set that is always entered, in each state."""
    inside = ~np.asarray(target)
    A = -exact_generator(Q)[np.ix_(inside, inside)]
    moments = np.array([[Decimal(0)] * len(Q)] * 2, dtype=object)
    first = solved(A, np.array([Decimal(1)] * int(inside.sum()), dtype=object))
    moments[0, inside] = first
    moments[1, inside] = solved(A, 2 * first)
    return moments[0], moments[1]


def distribution_at(Q: Any, time: float) -> Exact:
    """Return exp(Q t): the distribution at a time from each state, shape (n, n).

    A series of the jump chain over a short time, squared until the time is reached: nothing cancels.
    """
    n, generator = len(Q), exact_generator(Q)
    rate = max([*(-generator.diagonal()), Decimal(1) / Decimal(10**30)])
    jumps = rate * Decimal(time)
    squarings = max(0, int(jumps.log10() / Decimal(2).log10()) + 1) if jumps > 0 else 0
    step = jumps / Decimal(2) ** squarings
    one = exact(np.eye(n))
    P = generator / rate + one
    total = power = one
    for k in range(1, TERMS):
        power = (power @ P) * (step / k)
        total = total + power
    found = total * (-step).exp()
    for _ in range(squarings):
        found = found @ found
    return found


# --------------------------------------------------------------------------- probabilities of paths


def reaching(Q: Any, target: Any, within: Any) -> Any:
    """Return the states that lead to a target through others."""
    found = np.array(target)
    while True:
        grown = found | (within & ((np.asarray(Q) > 0.0)[:, found].any(axis=1)))
        if (grown == found).all():
            return found
        found = grown


def snapped(probabilities: Exact) -> Exact:
    """Return probabilities that are exactly zero or one where they differ by rounding alone."""
    zero, one = Decimal(0), Decimal(1)
    found = [zero if abs(p) < ROUNDING else one if abs(p - 1) < ROUNDING else p for p in probabilities]
    return np.array(found, dtype=object)


def until(Q: Any, left: Any, right: Any) -> Exact:
    """Return P(left U right) in each state."""
    rates = np.array(Q, dtype=float)
    np.fill_diagonal(rates, 0.0)
    left, right = np.asarray(left), np.asarray(right)
    open_ = reaching(rates, right, left & ~right) & ~right
    found = np.array([Decimal(int(x)) for x in right], dtype=object)
    if open_.any():
        generator = exact_generator(Q)
        into = exact(rates)[np.ix_(open_, right)].sum(axis=1)
        found[open_] = solved(-generator[np.ix_(open_, open_)], into)
    return found


def until_within(Q: Any, left: Any, right: Any, time: float) -> Exact:
    """Return P(left U[0, time] right) in each state."""
    stopped = np.array(Q, dtype=float)
    right = np.asarray(right)
    stopped[right | ~np.asarray(left)] = 0.0
    return distribution_at(stopped, time)[:, right].sum(axis=1)


def until_between(Q: Any, left: Any, right: Any, times: tuple[float, float]) -> Exact:
    """Return P(left U[low, high] right) in each state, for times above zero."""
    low, high = times
    left = np.asarray(left)
    later = until_within(Q, left, right, high - low)
    stopped = np.array(Q, dtype=float)
    stopped[~left] = 0.0
    here = distribution_at(stopped, low)
    found = (here[:, left] * later[left]).sum(axis=1)
    found[~left] = Decimal(0)
    return found
