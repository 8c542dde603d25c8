"""exp(Q t) times vectors by squared non-negative matrices: a proved relative error of every entry, at any stiffness.

1. P = I + Q / q with a power of two q >= max exit, so that P >= 0.
2. E_0 = exp(-x) T(x P), x = q h <= 2, T the Taylor polynomial of the exponential function, from the powers of P up to
   the root of its degree (M. S. Paterson, L. J. Stockmeyer, SIAM J. Comput. 2, 1973). E_(k + 1) = E_k E_k.
3. A time is a sum of several 2^k h and a remainder below h: a vector is multiplied by the E_k of those, and by T for
   the remainder.

No step subtracts: relative errors add up, whatever the size of the entries. A relative error of E_k is twice as large
in E_(k + 1). So the first matrices have three float64 per entry where the last would have too large an error in two.
Entries are unevaluated sums of two or three float64, their words: shape (words, rows, columns), >= 0, each word at most
about u = 2^-53 of the one before. Rounding enters in products (`unit_error`), sums (`total_error`), the weights of T,
and the cut to words. The docs page ``markov-time`` has the proof. Another algorithm with a bound of this kind, in
working precision and with a condition number: M. Shao, W. Gao, J. Xue, SIAM J. Matrix Anal. Appl. 35, 2014.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.kernels import engine
from markov.computing.double_double import sum_error
from markov.computing.rounding import U
from markov.time.uniformization import max_jumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Words = NDArray[np.float64]
    Vector = NDArray[np.float64]

__all__ = [
    "MAX_SQUARING_JUMPS",
    "MAX_STATES",
    "Evolution",
    "Evolved",
    "exact_sum",
    "plan_squarings",
    "product",
    "product_seconds",
    "squares_of",
    "total",
    "total_error",
    "unit_error",
    "weights_in_words",
]

KERNEL = "markov.time.kernels"
KERNELS = {2: "pairs", 3: "triples"}
ESTIMATE_MARGIN = 1.0 + 2.0**-20  # of an upper bound over the rounded sum, above the latter's rounding
SECONDS_PER_TERM, SECONDS_PER_CALL = {2: 3e-10, 3: 1.1e-9}, {2: 1e-5, 3: 1e-5}
"""Seconds per product of two entries, and per product of two matrices, by number of words."""


def unit_error(words: int, inner: int) -> float:
    """Return a bound on the relative error of an entry of `product`, by float64 per entry and terms per sum."""
    if words == 2:
        return (13 * inner + 64) * U**2
    return 2048 * (inner + 4) * U**3


def product_seconds(words: int, terms: int) -> float:
    """Return the predicted time of a `product` with ``terms`` multiplications, in s, once its kernel is loaded."""
    return SECONDS_PER_CALL[words] + SECONDS_PER_TERM[words] * terms


def exact_sum(values: Iterable[float], words: int = 2) -> tuple[float, ...]:
    """Return the sum of ``values`` as a tuple of ``words`` float64: the rounded sum, then the rounded remainders."""
    terms, words_of_sum = list(values), []
    for _ in range(words):
        words_of_sum.append(math.fsum(terms))
        terms.append(-words_of_sum[-1])
    return tuple(words_of_sum)


def total(a: Words, b: Words) -> Words:
    """Return a + b for non-negative arrays whose entries are sums of float64, shape (words, ...) each."""
    parts = [part for pair in zip(a, b, strict=True) for part in pair]
    for k in range(len(a)):
        for i in range(len(parts) - 1, k, -1):  # the smallest first
            loss = sum_error(parts[i - 1], parts[i])
            parts[i - 1], parts[i] = parts[i - 1] + parts[i], loss
    return np.array(parts[: len(a)])


def total_error(words: int) -> float:
    """Return a bound on the relative error of an entry of `total`, by the number of float64 per entry.

    Each of w passes over 2 w parts leaves at most (2 w - 1) u of their sum.
    """
    return ((2 * words - 1) * U) ** words


def product(a: Words, b: Words) -> Words:
    """Return the matrix product a b for entries that are sums of float64, shape (words, rows, columns) each."""
    words = len(a)
    upper_bound = a[0] @ b[0]
    upper_bound *= ESTIMATE_MARGIN
    out = np.empty((words, *upper_bound.shape))
    engine(KERNEL, KERNELS[words])(a, b, upper_bound, out)
    return out


MANTISSA_BITS = 220


def weights_in_words(x: Fraction, count: int, words: int) -> Words:
    """Return Poisson weights e^-x x^k / k! for k < count as sums of float64, shape (words, count), 0 <= x <= 2."""
    # x as a mantissa and an exponent: in units of 2^-BITS a small one would have no digits
    shift = x.denominator.bit_length() - x.numerator.bit_length() + MANTISSA_BITS
    factor, shift = _mantissa((x.numerator << max(shift, 0)) // x.denominator, -max(shift, 0))
    value, exponent = _exp_minus(x), -MANTISSA_BITS
    weights = np.empty((words, count))
    for k in range(count):
        remainder = value
        for word in range(words):
            rounded = float(remainder)
            weights[word, k] = math.ldexp(rounded, exponent)
            remainder -= int(rounded)
        value, carry = _mantissa(value * factor // (k + 1), 0)
        exponent += carry + shift
    return weights


def _mantissa(value: int, exponent: int) -> tuple[int, int]:
    """Return ``value`` cut to its first `MANTISSA_BITS` bits, and ``exponent`` plus the number of bits cut off."""
    extra = max(value.bit_length() - MANTISSA_BITS, 0)
    return value >> extra, exponent + extra


def _exp_minus(x: Fraction) -> int:
    """Return e^-x in units of 2^-MANTISSA_BITS as an integer, for 0 <= x <= 2, to about 100 units."""
    scaled = (x.numerator << MANTISSA_BITS) // x.denominator
    total, term, k = 0, 1 << MANTISSA_BITS, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * scaled >> MANTISSA_BITS) // k
    return total


MAX_STATES = 500
MAX_STEP_JUMPS = 2.0  # jumps in the mean
MAX_MADE_JUMPS_PER_STEP = 2.5  # jumps in the mean, of the most that are ever made
FACTORS = {2: 7, 3: 8}  # powers of P that are made, by number of words
BLOCKS = {2: 6, 3: 7}  # of as many terms of the Taylor polynomial
TRUNCATION_ERROR = {2: 2.0**-114, 3: 2.0**-174}  # at least 2.5^d / d! for the first degree d above that of T
TARGET_RELATIVE_ERROR = 4e-13  # relative error
MAX_SQUARING_JUMPS = 1e40  # in the mean: far above the range of three words
MAX_RELATIVE_ERROR = 1e-6  # relative error beyond which second-order terms would have to be counted
MAX_BISECTIONS = 1100  # of the exponents of float64
MIN_FLOAT = float(np.finfo(np.float64).tiny)
MIN_JUMPS = 1e-300  # jumps in the mean: shorter times count as this
MIN_RATE_RATIO = 1e-290  # of a rate over q: far from where products of last words underflow


class Evolved(NamedTuple):
    """Vectors at several times, shape (times, n), with bounds on the relative error of their entries.

    ``absolute`` is an additional bound: on the sum over all entries, or on each entry where expectations are evolved.
    """

    values: Vector
    relative: Vector
    absolute: Vector

    def error(self, row: int) -> float:
        """Return a bound on the sum of the absolute errors of all entries at time number ``row``."""
        sum_of_all = math.fsum(self.values[row].tolist())
        return float(self.relative[row]) * sum_of_all + float(self.absolute[row])


class Plan(NamedTuple):
    """Plan of repeated squaring: how often the first matrix is squared, and how many squares have triple precision.

    Attributes
    ----------
    squarings
        K: the longest time is 2^K h.
    precise
        How many of E_0, E_1, .. have three words, the others have two.
    seconds
        Predicted.
    """

    squarings: int
    precise: int
    seconds: float

    @property
    def words(self) -> int:
        """Number of float64 per entry of the first matrix E_0."""
        return 3 if self.precise else 2

    def errors(self, n: int) -> list[float]:
        """Return bounds on the relative errors of the squared matrices E_0, ..., E_K, without those of powers of P."""
        error, rounded = _first_square_error(self.words), 2.0 * U * U
        errors = [error + rounded]
        for k in range(1, self.squarings + 1):
            error += rounded * (k == self.precise)
            error = 2.0 * error + unit_error(3 if k < self.precise else 2, n)
            errors.append(error + rounded)
        return errors


def plan_squarings(n: int, shortest: float, longest: float) -> Plan:
    """Return the plan for n states and times from ``shortest`` to ``longest``, in expected jumps at rate q."""
    shortest, longest = max(shortest, MIN_JUMPS), max(longest, MIN_JUMPS)
    step = min(MAX_STEP_JUMPS, MAX_MADE_JUMPS_PER_STEP * shortest / max_jumps(shortest))
    squarings = max(0, math.ceil(math.log2(longest / step)))
    precise = 0
    if _error_at_longest(2, n, longest, squarings) > TARGET_RELATIVE_ERROR:
        allowance = max(
            TARGET_RELATIVE_ERROR - _error_at_longest(3, n, longest, squarings), 0.1 * TARGET_RELATIVE_ERROR
        )
        halvings = math.floor(math.log2(allowance / (unit_error(2, n) + 2.0 * U * U)))
        precise = min(max(squarings - halvings, 0), squarings) + 1
    words = 3 if precise else 2
    n_products = FACTORS[words] + BLOCKS[words] - 2 + max(precise - 1, 0)
    seconds = n_products * product_seconds(words, n**3)
    seconds += (squarings - max(precise - 1, 0)) * product_seconds(2, n**3)
    seconds += (len(taylor_degrees(words)) + squarings / 2) * product_seconds(2, n**2)
    return Plan(squarings, precise, seconds)


def taylor_degrees(words: int) -> range:
    """Return the degrees 0, 1, ... of the Taylor polynomial of exp(Q h), by the number of float64 per entry."""
    return range(FACTORS[words] * BLOCKS[words])


def _error_at_longest(words: int, n: int, longest: float, squarings: int) -> float:
    """Return a bound on the relative error at time ``longest`` with ``words`` float64 per entry of all matrices."""
    per_product, first_error = _error_per_power(words, n), _first_square_error(words)
    return max_jumps(longest) * per_product + 2.0**squarings * (first_error + unit_error(words, n))


def _error_per_power(words: int, n: int) -> float:
    """Return a bound on the relative error of the power P^k of the jump matrix, divided by k."""
    return float(unit_error(words, n) + 2.0 * U**words)


def _first_square_error(words: int) -> float:
    """Return a bound on the relative error of E_0 = exp(Q h), without that of the powers of P."""
    sums = (BLOCKS[words] + 1) * total_error(words)
    return float(unit_error(words, FACTORS[words]) + sums + 4.0 * U**words + TRUNCATION_ERROR[words])


class Evolution:
    """exp(Q t) of a chain by repeated squaring, for all times from a shortest to a longest one.

    Parameters
    ----------
    rates
        Off the diagonal, each an exact sum of two float64 >= 0, shape (2, n, n).
    shortest, longest
        Times > 0 in s.
    stored
        Whether all E_k are stored: then only the first call takes long.

    Raises
    ------
    ValueError
        Where no relative error below 1e-6 is proved: rates that are more than 290 decades apart, or more than some
        1e30 jumps.
    """

    def __init__(self, rates: Words, shortest: float, longest: float, stored: bool = False) -> None:
        self.shortest, self.longest, self._stored = shortest, longest, stored
        n = self._n = rates.shape[1]
        exits = [exact_sum(row) for row in np.concatenate(rates, axis=1).tolist()]
        largest = max(exits)[0]
        self._q = 2.0 ** math.frexp(largest)[1] if largest > 0.0 else 0.0
        if largest == 0.0:
            return
        smallest = float(rates[0][rates[0] > 0.0].min())
        if smallest / self._q < MIN_RATE_RATIO:
            raise ValueError(f"rates from {smallest:g} to {largest:g} 1/s: more than 290 decades apart")
        self._last: tuple[tuple[bytes, bool], Words] | None = None
        self._last_float64: tuple[bytes, Vector] | None = None
        jumps = self._q * longest
        if jumps > MAX_SQUARING_JUMPS or self._plan_relative(jumps) > MAX_RELATIVE_ERROR:
            raise ValueError(f"times up to {longest:g}: about {jumps:.1e} jumps, too many jumps for a relative error")
        words = self.plan.words
        self._P = np.zeros((words, n, n))
        self._P[:2] = rates / self._q
        for i, exit_rate in enumerate(exits):
            self._P[:, i, i] = exact_sum([1.0, *(-part / self._q for part in exit_rate)], words)
        self._top = self._first_square()
        self._levels = [self._top[:2]]

    def _plan_relative(self, jumps: float) -> float:
        """Set the plan, step and errors of all squares, and return the relative error at the longest time."""
        self.plan = plan_squarings(self._n, self._q * self.shortest, jumps)
        self._step = Fraction(self.longest) / 2**self.plan.squarings
        self._errors = self.plan.errors(self._n)
        return self._relative(2**self.plan.squarings, False)

    @property
    def products(self) -> int:
        """Number of matrix products for the longest time; 0 for a chain without transitions."""
        if self._q == 0.0:
            return 0
        words = self.plan.words
        return FACTORS[words] + BLOCKS[words] - 2 + self.plan.squarings

    def covers(self, time: float) -> bool:
        """Return whether ``time`` lies in the interval from ``shortest`` to ``longest``, both included."""
        return self.shortest <= time <= self.longest

    def forward(self, start: Vector, times: Sequence[float]) -> Evolved:
        """Return the distributions start exp(Q t) at ``times``, shape (times, n); start >= 0 is exact, shape (n,)."""
        return self._evolve(start, times, transposed=False)

    def backward(self, values: Vector, times: Sequence[float]) -> Evolved:
        """Return the expectations exp(Q t) values at ``times``, shape (times, n); values >= 0 are exact, shape (n,)."""
        return self._evolve(values, times, transposed=True)

    def _evolve(self, vector: Vector, times: Sequence[float], transposed: bool) -> Evolved:
        """Return `forward` of a start ``vector``, or `backward` of values if ``transposed``.

        ValueError for a time > 0 that `covers` rejects.
        """
        rows = np.zeros((2, len(times), len(vector)))
        rows[0] = vector
        if self._q == 0.0:
            return Evolved(rows[0], np.zeros(len(times)), np.zeros(len(times)))
        if not all(time == 0.0 or self.covers(time) for time in times):
            range_text = f"must be 0, or from {self.shortest} to {self.longest}"
            raise ValueError(f"times = {list(times)}: {range_text}")
        counts, remainders = [], []
        for time in times:
            count, remainder = divmod(Fraction(time), self._step)
            counts.append(count)
            remainders.append(remainder)
        self._evolve_by_remainders(rows, vector, remainders, transposed)
        for k, level in enumerate(self._squares(max(counts, default=0).bit_length())):
            selected = [row for row, count in enumerate(counts) if count >> k & 1]
            if selected:
                rows[:, selected] = product(np.ascontiguousarray(rows[:, selected]), _contiguous(level, transposed))
        relative = [self._relative(count, remainder != 0) for count, remainder in zip(counts, remainders, strict=True)]
        n = len(vector)
        absolute = [(count + 1) * n * n * 2.0**-1060 + n * 1e-318 for count in counts]
        return Evolved(rows[0], np.array(relative), np.array(absolute) * max(1.0, vector.max()))

    def forward_many(self, start: Vector, times: Vector) -> tuple[Vector, float]:
        """Return start exp(Q t) at many times, fast in float64, shape (times, ..., n), and a bound on relative errors.

        Matrices are the same as in `forward`, vectors are rounded to one float64: n + 2 roundings more per factor.
        Entries below 1e-290 may be lost.

        Parameters
        ----------
        start
            Exact, >= 0, shape (..., n).
        times
            At least 0 and at most ``longest``, which must be a power of two: then each is an exact sum of steps. Shape
            (times,).
        """
        if math.frexp(self.longest)[0] != 0.5:
            raise ValueError(f"longest = {self.longest}: must be a power of two")
        shape = len(times), *start.shape
        if self._q == 0.0 or not times.any():
            return np.broadcast_to(start, shape).copy(), 0.0
        step, n_degrees = float(self._step), len(taylor_degrees(2))
        top = (Fraction(float(times.max())) // self._step).bit_length()
        remainders = self._q * np.fmod(times, step)
        weights = np.empty((len(times), n_degrees))
        weights[:, 0] = np.exp(-remainders)
        weights[:, 1:] = remainders[:, None] / np.arange(1.0, n_degrees)
        powers = self._powers_in_float64(start).reshape(n_degrees, -1)
        values = (np.cumprod(weights, axis=1) @ powers).reshape(shape)
        remaining, levels = times.copy(), list(self._squares(top))
        for k in reversed(range(top)):
            duration = math.ldexp(step, k)
            rows = np.flatnonzero(remaining >= duration)
            if len(rows):
                remaining[rows] -= duration
                moved = values[rows]
                values[rows] = (moved.reshape(-1, self._n) @ levels[k][0]).reshape(moved.shape)
        return values, self._relative((1 << top) - 1, True) + self._rounding(top)

    def _powers_in_float64(self, start: Vector) -> Vector:
        """Return ``start`` times P^k for all degrees k of T in float64, shape (degrees, ..., n); caches its result."""
        key = start.tobytes()
        if self._last_float64 is None or self._last_float64[0] != key:
            powers = np.empty((len(taylor_degrees(2)), *start.shape))
            powers[0] = start
            for k in taylor_degrees(2)[1:]:
                powers[k] = powers[k - 1] @ self._P[0]
            self._last_float64 = key, powers
        return self._last_float64[1]

    def _rounding(self, factors: int) -> float:
        """Return a bound on the relative rounding error of a float64 vector times ``factors`` squares and T(P)."""
        degrees = len(taylor_degrees(2))
        return float(((factors + degrees) * (self._n + 1) + 4 * degrees + 5) * U)

    def time_at(self, start: Vector, states: NDArray[np.int64], probability: float) -> tuple[float, float]:
        """Return the time in s at which P(in ``states``) crosses ``probability``, and its relative error there.

        Parameters
        ----------
        start
            As in `forward`.
        states
            Numbers of states whose probability only rises, or only falls.
        probability
            Exact, > 0.

        Returns
        -------
        tuple of float
            In s; inf where ``longest`` is too short. The probability at that time differs from the value by
            this relative error at most, without the rounding of the time.
        """
        from scipy.optimize import brentq

        def excess(total: Words) -> float:
            """Return the sum of ``total`` relative to ``probability``, minus 1."""
            return math.fsum([*total.ravel().tolist(), -probability]) / probability

        row = np.zeros((2, 1, len(start)))
        row[0, 0] = start
        rising = excess(row[..., states]) < 0.0
        levels: list[Words] = []
        for level in self._squares(self.plan.squarings + 1 if self._q else 0):
            if (excess(product(row, level)[..., states]) < 0.0) != rising:
                break
            levels.append(level)
        else:
            return math.inf, 0.0
        count = 0
        for k in reversed(range(len(levels))):
            product_row = product(row, levels[k])
            if (excess(product_row[..., states]) < 0.0) == rising:
                row, count = product_row, count + (1 << k)
        sums = np.zeros((2, len(taylor_degrees(2)), 1))
        for k in taylor_degrees(2):
            row = product(row, self._P[:2]) if k else row
            sums[:, k, 0] = exact_sum(row[..., states].ravel().tolist())

        def excess_after(remaining: float) -> float:
            """Return the excess at ``remaining`` s after the last complete step."""
            weights = weights_in_words(Fraction(self._q) * Fraction(remaining), len(taylor_degrees(2)), 2)
            return excess(product(weights[:, None], sums))

        remaining = step = float(self._step)
        if (excess_after(step) < 0.0) != rising:  # otherwise it is the complete step, to rounding
            tolerance = 1e-16 * step if count else MIN_FLOAT
            remaining = brentq(excess_after, 0.0, step, xtol=tolerance, maxiter=MAX_BISECTIONS)
        return float(count * self._step + Fraction(remaining)), self._relative_of_words(count, True)

    def _evolve_by_remainders(
        self, rows: Words, vector: Vector, remainders: Sequence[Fraction], transposed: bool
    ) -> None:
        """Set each of ``rows`` to ``vector`` after its remainder, the time in s beyond complete steps, if positive."""
        if not any(remainders):
            return
        powers = self._powers(vector, transposed)
        for row, remainder in enumerate(remainders):
            if remainder:
                scale = weights_in_words(Fraction(self._q) * remainder, len(taylor_degrees(2)), 2)
                rows[:, row : row + 1] = product(scale[:, None], powers)

    def _powers(self, vector: Vector, transposed: bool) -> Words:
        """Return ``vector`` times P^k for all degrees k of T, shape (2, degrees, n); caches its result."""
        key = vector.tobytes(), transposed
        if self._last is None or self._last[0] != key:
            powers = np.zeros((2, len(taylor_degrees(2)), len(vector)))
            powers[0, 0] = vector
            P = _contiguous(self._P[:2], transposed)
            for k in taylor_degrees(2)[1:]:
                powers[:, k : k + 1] = product(powers[:, k - 1 : k].copy(), P)
            self._last = key, powers
        return self._last[1]

    def _first_square(self) -> Words:
        """Return E_0 = exp(Q h) for the step h, shape (words, n, n)."""
        words, n = self.plan.words, self._n
        factors, blocks = FACTORS[words], BLOCKS[words]
        powers = np.zeros((words, factors, n, n))
        powers[0, 0] = np.eye(n)
        power = self._P
        for k in range(1, factors):
            powers[:, k] = power
            power = product(power, self._P)
        scale = weights_in_words(Fraction(self._q) * self._step, factors * blocks, words)
        scale = scale.reshape(words, blocks, factors)
        sums = product(scale, powers.reshape(words, factors, n * n))
        sums = sums.reshape(words, blocks, n, n)
        power_sum = sums[:, -1].copy()
        for k in range(blocks - 2, -1, -1):
            power_sum = total(sums[:, k], product(power_sum, power))
        return power_sum

    def _squares(self, count: int) -> Iterator[Words]:
        """Yield the first ``count`` squares E_0, E_1, ... as sums of two float64, shape (2, n, n)."""
        yield from self._levels[:count]
        top = self._top
        for k in range(len(self._levels), count):
            if k >= self.plan.precise:
                top = top[:2]
            top = product(top, top)
            if self._stored:
                self._top = top
                self._levels.append(top[:2])
            yield top[:2]

    def _relative(self, count: int, with_remainder: bool) -> float:
        """Return a bound on the relative error of a vector after ``count`` steps and a remainder, as float64."""
        return self._relative_of_words(count, with_remainder) + U * (1.0 + 1e-6)

    def _relative_of_words(self, count: int, with_remainder: bool) -> float:
        """Return a bound on the relative error of a vector after ``count`` steps and a remainder, as two float64."""
        n = self._n
        time = float(self._step) * (count + 1)
        error = max_jumps(self._q * time) * _error_per_power(self.plan.words, n)
        error += (count + 1) * TRUNCATION_ERROR[self.plan.words] + with_remainder * TRUNCATION_ERROR[2]
        per_product = unit_error(2, n) + 2.0 * U * U
        for k in range(count.bit_length()):
            if count >> k & 1:
                error += self._errors[k] + per_product
        if with_remainder:
            error += len(taylor_degrees(2)) * (per_product + 2.0 * U * U) + unit_error(2, len(taylor_degrees(2)))
        return error * (1.0 + 1e-5)


def _contiguous(matrix: Words, transposed: bool) -> Words:
    """Return the matrix, or its transpose if ``transposed``, contiguous in memory."""
    return np.ascontiguousarray(matrix.transpose(0, 2, 1) if transposed else matrix)


def squares_of(rates: Words, shortest: float, longest: float, *, stored: bool = False) -> Evolution | None:
    """Return `Evolution(rates, shortest, longest, stored)`; None if it proves no relative error below 1e-6."""
    try:
        return Evolution(rates, shortest, longest, stored)
    except ValueError:
        return None
