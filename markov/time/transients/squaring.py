"""exp(Q t) with a proved relative error of every entry, at any stiffness: squaring of non-negative matrices.

1. P = I + Q / q with a power of two q >= 2 max exit, so that P >= 0 and its diagonal is at least 1/2.
2. E = exp(-q h) T(q h P) for h = t / 2^K, T the Taylor polynomial of degree 18, by Horner's rule.
3. E is squared K times.

No step subtracts: relative errors of entries add up, whatever the size of the entries. In double-double a product of
matrices of n states has a relative error of at most eta = (72 n + 16) u^2, u = 2^-53: each of n terms costs 69 u^2 (the
collected small parts are merged each 16 terms, and are then at most 65 u of the sum), products of low parts and their
roundings 8 u^2. An error e becomes 2 e + eta by squaring, hence 2^K (e_0 + eta) at the end.

Truncation: with m = 2^K >= 16 D and D >= max(8 q t, 1100), the coefficient of P^d in E^m is the exact one times the
probability that d balls in m boxes leave at most 18 in each, at least 1 - m 16^-19 / 19! for d <= D; a Poisson number of
mean q t is above D with a probability below 1e-320 (Chernoff). The other way to the same kind of bound, in working precision and with
a condition number: M. Shao, W. Gao, J. Xue, SIAM J. Matrix Anal. Appl. 35, 2014.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.compilation import remembered, without_numba
from markov.computing.double_double import product, product_error, split, sum_error
from markov.computing.double_double_kernels import two_product, two_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Vector = NDArray[np.float64]

__all__ = [
    "MAX_STATES",
    "Evolution",
    "Pair",
    "exact_sum",
    "exponential",
    "product_seconds",
    "worthwhile",
]

MAX_STATES = 500
DEGREE = 18
MIN_BALLS = 1100
U = 2.0**-53
MERGED = 16  # terms between two merges of the collected small parts
SMALLEST = 1e-290  # of a rate over q: far from where products of low parts underflow
LARGEST = 1e-6  # relative error beyond which second-order terms would have to be counted
SECONDS_PER_TERM = 6e-10
SECONDS_PER_JUMP = 5e-6  # of uniformization, for few states
ALWAYS_SQUARED = 16  # states: it takes some milliseconds at any time
SECONDS_PER_CALL = 3e-5  # of the loop over inner indices in NumPy


class Pair(NamedTuple):
    """An unevaluated sum of two float64 matrices, the second at most u of the first."""

    high: Matrix
    low: Matrix


class Evolution(NamedTuple):
    """exp(Q t), shape (n, n), with the relative error of every entry and an absolute one besides."""

    matrix: Pair
    relative: float
    absolute: float

    def error(self, values: Vector, relative: float) -> float:
        """Return a bound on the sum of the errors of what was applied, by the relative error of its entries."""
        return relative * math.fsum(values) + len(values) * self.absolute

    def applied(self, start: Vector) -> tuple[Vector, float]:
        """Return start exp(Q t), shape (n,), and its relative error; start >= 0 is exact."""
        terms = start[:, None] * self.matrix.high
        return np.array([math.fsum(column) for column in terms.T]), self.relative + 4.0 * U


def product_seconds(n: int) -> float:
    """Return the predicted time of one product of matrices of n states, in s."""
    return SECONDS_PER_TERM * n**3 + 2e-5


def squarings(rate: float, time: float) -> int:
    """Return K, for a uniform rate q and a time t."""
    return math.ceil(math.log2(16.0 * max(8.0 * rate * time, MIN_BALLS)))


def worthwhile(n: int, jumps: float) -> bool:
    """Return whether squaring for n states is predicted to be quicker than uniformization, or takes milliseconds."""
    if n > MAX_STATES:
        return False
    products = DEGREE + squarings(jumps, 1.0) + 2
    return n <= ALWAYS_SQUARED or products * product_seconds(n) < jumps * SECONDS_PER_JUMP


def exponential(rates: Pair, time: float) -> Evolution | None:
    """Return exp(Q t) for the rates off the diagonal, shape (n, n), each an unevaluated sum >= 0.

    None where no relative error below 1e-6 is proved: rates that are more than 290 decades apart, or
    q t above some 1e20.
    """
    n = len(rates.high)
    exits = [
        exact_sum([*high, *low]) for high, low in zip(*map(np.ndarray.tolist, rates), strict=True)
    ]
    largest = max(high for high, _ in exits)
    if largest == 0.0 or time == 0.0:
        return Evolution(Pair(np.eye(n), np.zeros((n, n))), 0.0, 0.0)
    q = 2.0 ** (math.frexp(largest)[1] + 1)
    positive = rates.high[rates.high > 0.0]
    steps = squarings(q, time)
    eta = (72 * n + 16) * U * U
    error = (DEGREE * (eta + 32.0 * U * U) + 32.0 * U * U + eta) * 2.0**steps
    if float(positive.min()) / q < SMALLEST or error > LARGEST:
        return None
    P = Pair(rates.high / q, rates.low / q)
    for i, (high, low) in enumerate(exits):
        P.high[i, i], P.low[i, i] = exact_sum([1.0, -high / q, -low / q])
    x = Fraction(q) * Fraction(time) / 2**steps
    E = Pair(np.eye(n), np.zeros((n, n)))
    for j in range(DEGREE, 0, -1):
        E = _plus_identity(_scaled(_product(P, E), x / j))
    E = _scaled(E, _exp_minus(x))
    for _ in range(steps):
        E = _product(E, E)
    truncated = 2.0**steps * 2.0**-76 / math.factorial(DEGREE + 1)
    absolute = 2.0**steps * n * n * 2.0**-1060 + 1e-318
    return Evolution(E, (error + truncated) * (1.0 + 1e-5), absolute)


def exact_sum(values: list[float]) -> tuple[float, float]:
    """Return a sum as two float64."""
    high = math.fsum(values)
    return high, math.fsum([*values, -high])


def _exp_minus(x: Fraction) -> Fraction:
    """Return exp(-x) for 0 <= x <= 1/16, to some 1e-50."""
    total, term = Fraction(0), Fraction(1)
    for k in range(1, 40):
        total += term
        term = _shortened(-term * x / k)
    return total


def _shortened(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**200), 2**200)


def _scaled(a: Pair, by: Fraction) -> Pair:
    """Return a matrix times a number, to 16 u^2 of every entry."""
    high = float(by)
    low = float(by - Fraction(high))
    shape, factor = a.high.shape, np.full(a.high.size, high)
    rounded, lost = product(a.high.ravel(), factor)
    lost += a.high.ravel() * low + a.low.ravel() * high
    return _merged(rounded.reshape(shape), lost.reshape(shape))


def _plus_identity(a: Pair) -> Pair:
    """Return a matrix plus the identity, to 4 u^2 of every entry."""
    i = np.arange(len(a.high))
    high = a.high.copy()
    high[i, i] += 1.0
    low = a.low.copy()
    low[i, i] += sum_error(a.high[i, i], np.ones(len(i)))
    return _merged(high, low)


def _merged(high: Matrix, low: Matrix) -> Pair:
    total = high + low
    return Pair(total, (high - total) + low)


def _product(a: Pair, b: Pair) -> Pair:
    n = len(a.high)
    helpers = two_sum, two_product
    if without_numba(SECONDS_PER_CALL * n + 1e-8 * n**3, multiply, helpers):
        return _product_by_columns(a, b)
    out = Pair(np.empty((n, n)), np.empty((n, n)))
    arguments = *a, *b, *out
    remembered(multiply, helpers)(*arguments)
    return out


def _product_by_columns(a: Pair, b: Pair) -> Pair:
    """Return a b with NumPy, in the same order of operations as `multiply`."""
    n = len(a.high)
    total, rest = np.zeros((n, n)), np.zeros((n, n))
    high, low = split(a.high), split(b.high)
    for k in range(n):
        left, right = a.high[:, k, None], b.high[k]
        term = left * right
        here = high[0][:, k, None], high[1][:, k, None]
        lost = product_error(term, here, (low[0][k], low[1][k]))
        lost += left * b.low[k] + a.low[:, k, None] * right
        rest += sum_error(total, term) + lost
        total += term
        if k % MERGED == MERGED - 1:
            total, rest = _merged(total, rest)
    return _merged(total, rest)


def multiply(a, a_low, b, b_low, out, out_low):
    """Write the product of two matrices of unevaluated sums, as a template of a kernel."""
    n = len(a)
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
            out_low[i, j] = 0.0
        for k in range(n):
            left = a[i, k]
            left_low = a_low[i, k]
            if left != 0.0:
                for j in range(n):
                    right = b[k, j]
                    term = left * right
                    lost = two_product(left, right) + (left * b_low[k, j] + left_low * right)
                    out_low[i, j] += two_sum(out[i, j], term) + lost
                    out[i, j] += term
            if k % 16 == 15 or k == n - 1:
                for j in range(n):
                    total = out[i, j] + out_low[i, j]
                    out_low[i, j] = (out[i, j] - total) + out_low[i, j]
                    out[i, j] = total
