"""The stationary distribution in fractions: p-adic lifting, and a proof by substitution.

1. Each row of the generator is scaled to integers without a common factor. With the weight of one state set to 1, the
   others solve A x = b, with an M-matrix A of integers.
2. x modulo p, p^2, p^3, ... for a number p of 31 bits, from one inverse modulo p (J. D. Dixon, Exact solution of linear
   equations using p-adic expansions, Numerische Mathematik 40, 1982). Each digit costs two products with float64 or
   int64 matrices, all exact.
3. Fractions with one denominator are read off by Euclid's algorithm once there are enough digits.
4. They are substituted: all balance equations hold exactly, and all weights are positive. That alone is the proof, so
   that neither p nor the number of digits needs to be justified.

The determinant of A is at most the product of its diagonal, and so is every numerator: this bounds the digits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Objects = NDArray[np.object_]

__all__ = ["MAX_EXACT_STATES", "exact_distribution"]

MAX_EXACT_STATES = 500
"""A sum of 500 terms of 53 bits fits int64; each probability then has about 100,000 bits."""

FIRST_MODULUS = 2**31 - 1
LIMB = 22  # bits of a coefficient that are multiplied by 31 bits at a time: 500 such products fit int64
PIECE = 11  # bits of a residue that are multiplied by 31 bits at a time: 500 such products fit float64
MARGIN = 64  # bits by which a fraction must be shorter than the modulus to be taken for the right one
ATTEMPTS = 16, 8, 4, 2, 1  # parts of all digits after which fractions are tried


class _Rows(NamedTuple):
    """A generator in integers: the rate from s to t is ``moves[s][t]`` times the fraction ``scales[s]``."""

    moves: list[dict[int, int]]
    scales: list[Fraction]

    @property
    def exits(self) -> list[int]:
        """Sum of the integer rates out of each state."""
        return [sum(row.values()) for row in self.moves]


def exact_distribution(Q: sp.csr_matrix) -> list[Fraction]:
    """Return pi of an irreducible generator as exact fractions; its off-diagonal rates are taken as exact.

    Raises
    ------
    ValueError
        For more than `MAX_EXACT_STATES` states.
    """
    n = Q.shape[0]
    if n > MAX_EXACT_STATES:
        raise ValueError(f"exact = True: {n} recurrent states: must be at most {MAX_EXACT_STATES}")
    rows = _integer_rows(Q)
    weights = [1] if n == 1 else _weights(rows)
    common = math.lcm(*(scale.numerator for scale in rows.scales))
    numerators = [
        w * scale.denominator * (common // scale.numerator) for w, scale in zip(weights, rows.scales, strict=True)
    ]
    factor = math.gcd(*numerators)
    total = sum(numerators) // factor
    return [Fraction(w // factor, total) for w in numerators]


def _integer_rows(Q: sp.csr_matrix) -> _Rows:
    """Return the rates out of each state as integers without a common factor, and a fraction that scales them."""
    moves, scales = [], []
    for s in range(Q.shape[0]):
        part = slice(Q.indptr[s], Q.indptr[s + 1])
        row = {
            t: rate.as_integer_ratio()
            for t, rate in zip(Q.indices[part].tolist(), Q.data[part].tolist(), strict=True)
            if t != s and rate != 0.0
        }
        denominator = max((d for _, d in row.values()), default=1)
        integers = {t: a * (denominator // d) for t, (a, d) in row.items()}
        factor = math.gcd(*integers.values()) or 1
        moves.append({t: a // factor for t, a in integers.items()})
        scales.append(Fraction(factor, denominator))
    return _Rows(moves, scales)


def _weights(rows: _Rows) -> list[int]:
    """Return positive integers proportional to pi: w with sum_s w_s moves_st = w_t exit_t for all t."""
    exits = rows.exits
    bits = 2 * sum(exit_rate.bit_length() for exit_rate in exits) + 2 * MARGIN
    lifting = _Lifting(rows.moves, exits)
    for part in ATTEMPTS:
        weights = lifting.solution(bits // part + 1)
        if weights is not None and _solves_balance(rows.moves, exits, weights):
            return weights
    raise AssertionError("no fractions with as many digits as the determinant can have")


def _solves_balance(moves: list[dict[int, int]], exits: list[int], weights: list[int]) -> bool:
    """Return whether weights are positive and the flow into each state equals the flow out of it."""
    into = [0] * len(weights)
    for weight, row in zip(weights, moves, strict=True):
        for t, rate in row.items():
            into[t] += weight * rate
    out = [weight * exit_rate for weight, exit_rate in zip(weights, exits, strict=True)]
    return min(weights) > 0 and into == out


class _Lifting:
    """Solver of A x = b in integers modulo growing powers of a number p (p-adic lifting).

    A has the balance equations of all states but the last one, whose weight is 1.
    """

    def __init__(self, moves: list[dict[int, int]], exits: list[int]) -> None:
        last = len(moves) - 1
        entries = [(t, s, -rate) for s, row in enumerate(moves) for t, rate in row.items()]
        entries += [(s, s, exit_rate) for s, exit_rate in enumerate(exits)]
        right = np.zeros(last, dtype=object)
        for t, rate in moves[last].items():
            right[t] = rate
        self._residual: Objects = right
        self._entries = [entry for entry in entries if last not in entry[:2]]
        self._limbs = self._split(last)
        self.p, self._inverse = self._invert_modulo_prime(last)
        self._digits: list[Integers] = []

    def _split(self, n: int) -> list[sp.csr_matrix]:
        """Return A as a list of sparse matrices of LIMB bits: the coefficients of the powers of 2^LIMB."""
        rows, columns, values = zip(*self._entries, strict=True)
        longest = max(abs(value).bit_length() for value in values)
        mask, limbs = (1 << LIMB) - 1, []
        for low in range(0, longest, LIMB):
            part = [((abs(v) >> low) & mask) * (1 if v > 0 else -1) for v in values]
            limb = sp.csr_matrix((np.array(part, dtype=np.int64), (rows, columns)), shape=(n, n))
            limb.eliminate_zeros()
            limbs.append(limb)
        return limbs

    def _invert_modulo_prime(self, n: int) -> tuple[int, NDArray[np.float64]]:
        """Return p and the inverse of A modulo p, shape (n, n), for the first p with invertible pivots."""
        p = FIRST_MODULUS
        while True:
            dense = np.zeros((n, n), dtype=np.int64)
            for row, column, value in self._entries:
                dense[row, column] = value % p
            if _invert(dense, p):
                return p, dense.astype(np.float64)
            p -= 2

    def solution(self, bits: int) -> list[int] | None:
        """Return the integer weights of all states from digits of ``bits`` bits in total; None if too few."""
        while len(self._digits) * (self.p.bit_length() - 1) < bits:
            self._lift()
        first, modulus = _from_digits([digit[:1] for digit in self._digits], self.p)
        if _fraction(first[0], modulus) is None:
            return None
        return _common_fractions(*_from_digits(self._digits, self.p))

    def _lift(self) -> None:
        """Append the next digit in base p of the solution x."""
        p = self.p
        residual = (self._residual % p).astype(np.int64)
        pieces = np.stack([(residual >> low) & ((1 << PIECE) - 1) for low in (0, PIECE, 2 * PIECE)], 1)
        parts = (self._inverse @ pieces.astype(np.float64)).astype(np.int64) % p
        digit = (parts @ np.array([1, 1 << PIECE, 1 << 2 * PIECE])) % p
        remaining = self._residual
        for k, limb in enumerate(self._limbs):
            remaining = remaining - ((limb @ digit).astype(object) << LIMB * k)
        self._residual = remaining // p  # without a remainder
        self._digits.append(digit)


def _invert(matrix: Integers, p: int) -> bool:
    """Invert a matrix modulo p < 2^31 in place, by Gauss and Jordan; return whether all pivots have inverses."""
    for k in range(len(matrix)):
        try:
            inverse = pow(int(matrix[k, k]), -1, p)
        except ValueError:
            return False
        row = matrix[k] * inverse % p
        row[k] = inverse
        column = matrix[:, k].copy()
        matrix[:, k] = 0
        column[k] = 0
        matrix -= np.outer(column, row)
        matrix %= p
        matrix[k] = row
    return True


def _from_digits(digits: list[Integers], p: int) -> tuple[list[int], int]:
    """Return the integers with these arrays of digits in base p, the lowest first, and the modulus, a power of p."""
    parts: list[Any] = [digit.astype(object) for digit in digits]
    power = p
    while len(parts) > 1:
        if len(parts) % 2:
            parts.append(parts[0] * 0)
        parts = [low + high * power for low, high in zip(parts[::2], parts[1::2], strict=True)]
        power *= power
    return parts[0].tolist(), p ** len(digits)


def _common_fractions(residues: list[int], modulus: int) -> list[int] | None:
    """Return the numerators and, last, the common denominator of short fractions with these residues.

    None if a residue has no short fraction.
    """
    common, numerators = 1, []
    for residue in residues:
        short = _fraction(residue * common % modulus, modulus)
        if short is None:
            return None
        numerator, denominator = short
        numerators.append((numerator, common * denominator))
        common *= denominator
    weights = [numerator * (common // d) for numerator, d in numerators]
    return [*weights, common]


def _fraction(residue: int, modulus: int) -> tuple[int, int] | None:
    """Return a short fraction (a, b), b > 0, with a = b residue modulo ``modulus``, by Euclid's algorithm.

    a b is shorter than the modulus by MARGIN bits; None if no such fraction is met.
    """
    max_bits = modulus.bit_length() - MARGIN
    a, b, before, beyond = residue, 1, modulus, 0
    while a:
        if a.bit_length() + b.bit_length() <= max_bits:
            return (a, b) if b > 0 else (-a, -b)
        quotient, remainder = divmod(before, a)
        before, a, beyond, b = a, remainder, b, beyond - quotient * b
    return None
