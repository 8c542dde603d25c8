"""The distribution of a first passage time, with a bound on the relative error of each probability.

Few states and many jumps are squared (`markov.time.squaring`). All others:

1. With P = I - A / q >= 0 among the m transient states, s_k = p P^k 1 and g_k = p P^k b for a start p and rates b into
   the target: P(T > t) = sum_k P(N = k) s_k and P(T <= t) = sum_k (g_k / q) P(N > k), N Poisson of mean q t. No term is
   negative: relative errors of the terms are those of the sums. Powers are in extended precision.
2. Let v, u > 0 with v A and A u within [low, high] times v and u (`slowest_decay`). Once p P^K is between x and
   (1 + e) x times v,

       s_k = (p u) (v 1) / (v u) (1 - a / q)^k (1 + r),   low <= a <= high, |r| <= e,   for k >= K:

   with weights v u the ratios p P^K / v have a known mean. The same holds for g_k with b in place of 1. Only the powers
   of one vector are needed, and their rounding, K times that of one product, limits e.
   Where it would be more than `ONE_SIDE_SPREAD`, K + L powers are made, with P^L 1 between z and (1 + e') z times u:
   then |r| <= e e', since the deviations of the ratios on both sides from their means are multiplied. So e = e' = 3e-8
   proves 15 digits, and rounding in the powers does not matter.
3. For q t much above K + L the sums are closed: P(T > t) = (p u) (v 1) / (v u) e^(-a t) to the same error.

Rounding enters in the powers (k times that of one product), the sums, the Poisson weights and the interval of a.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from markov.computing.matrices import leads_to, off_diagonal
from markov.computing.resources import Counter, Prediction
from markov.computing.rounding import WIDE_U, U
from markov.proofs.bounded import Bounded
from markov.time.absorbing import Absorbing
from markov.time.exponentials import squaring_pays
from markov.time.perron import SlowestDecay, decay_seconds, slowest_decay
from markov.time.squaring import Evolution, exact_sum, squares_of
from markov.time.uniformization import PoissonWeights, poisson_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.time.squaring import Words

    Vector = NDArray[np.float64]
    Wide = NDArray[np.longdouble]

__all__ = ["MIN_RELATIVE_PROBABILITY", "Distribution", "PassageTime", "PowerSums", "TimePoint", "stopping_rates"]

RATE_FACTOR = 1.1  # q over the largest exit rate, so that no diagonal entry is lost by cancellation
CHECK_INTERVAL = 64  # powers between two checks of their spread
TWO_SIDE_SPREAD = 3e-8  # of the ratios to a Perron vector, on each side of two
ONE_SIDE_SPREAD = 1e-13  # the same where only one side is iterated
MAX_ROUNDING_TO_ONE_SIDE = 4.0  # factor of the rounding until TWO_SIDE_SPREAD: its part of ONE_SIDE_SPREAD
MAX_POWERS_TO_ONE_SIDE = 2.0  # times the powers until SPREAD: those until ONE_SIDE
MIN_POWERS_FOR_PERRON = 2_000  # with fewer powers Perron vectors do not pay
MAX_POWERS = 10**7
SECONDS_PER_ENTRY = 3e-9  # of a product
NEGLIGIBLE_SURVIVAL = 1e-18  # survival that counts as zero
POISSON_TAIL = 1e-30  # omitted probability of the Poisson number
RELATIVE_POISSON_TAIL = 1e-18  # the same over the probability, where that is small
MIN_RELATIVE_PROBABILITY = 1e-280  # probability whose relative error is bounded
SUM_ROUNDING = 80.0 * U  # of NumPy's pairwise sums, with the products in them
CLOSED_FORM_JUMPS = (
    4.0,
    4_000.0,
)  # times the powers of the table, and a number more: q t from which the sums are closed
RARE_JUMPS_DECAY = 0.38  # per expected jump, of the probability of twice as many, or of fewer than a fourth
MAX_DECAY_RATIO = 0.1  # decay rate over q above which Perron vectors are not used


@dataclass(frozen=True)
class TimePoint:
    """Distribution function, survival function and density of a passage time at one time, with error bounds.

    Attributes
    ----------
    time
        In s.
    cdf, survival, density
        P(T <= t), P(T > t) and the density in 1/s.
    error
        Bound on the error of ``cdf`` and of ``survival``.
    relative
        Bound on their errors relative to themselves, above 1e-290; inf: no bound.
    """

    time: float
    cdf: float
    survival: float
    density: float
    error: float
    relative: float

    @property
    def cdf_error(self) -> float:
        """Bound on the absolute error of ``cdf``: the smallest of three that the fields imply."""
        survival_gap = abs(self.cdf + self.survival - 1.0) + 2.0 * U
        return min(self.error, self.relative * self.cdf, self.relative * self.survival + survival_gap)


class _Sum(NamedTuple):
    """Sum of positive terms, with a bound on its absolute error."""

    value: float
    error: float

    def plus(self, addend: _Sum) -> _Sum:
        """Return the sum of both values, with the sum of both errors."""
        return _Sum(self.value + addend.value, self.error + addend.error)


class _Parts(NamedTuple):
    """Probabilities at one time that a chain still runs, has entered the target, or has ended elsewhere.

    Attributes
    ----------
    running
        The probability that it has not ended.
    ends, densities
        The probability that it has, and the density of that in 1/s, in the target and elsewhere.
    """

    running: _Sum
    end_sums: list[_Sum]
    densities: list[float]

    def plus(self, addend: _Parts) -> _Parts:
        """Return the sum of both, part by part."""
        end_sums = [a.plus(b) for a, b in zip(self.end_sums, addend.end_sums, strict=True)]
        densities = [a + b for a, b in zip(self.densities, addend.densities, strict=True)]
        return _Parts(self.running.plus(addend.running), end_sums, densities)


class PowerSums:
    """Powers of the jump matrix on a start distribution, from whose sums the passage time's distribution follows.

    Parameters
    ----------
    system
        The transient states that lead to the target and are reached from the start.
    start
        Probabilities in them at time 0, shape (m,).
    end_rates
        Rates from each to the target and to states that never lead there, shape (m,) each.
    initial
        Probabilities at time 0 of the target, and of those states, to one rounding.
    """

    def __init__(
        self,
        system: Absorbing,
        start: Vector,
        end_rates: tuple[Vector, Vector],
        initial: tuple[float, float],
    ) -> None:
        self._system, self._initial_ends = system, initial
        self._rights = [np.ones(len(start)), *end_rates]
        self._leading = [np.flatnonzero(rates) for rates in end_rates]
        self._rates = [rates[states] for rates, states in zip(end_rates, self._leading, strict=True)]
        exits = system.wide_exit_rates
        self.rate = RATE_FACTOR * float(exits.max())
        stays = (self.rate - exits) / self.rate
        F = system.F.astype(np.longdouble)
        F.data /= self.rate  # SciPy would multiply by a quotient in double precision
        P = sp.csr_matrix(F + sp.diags(stays))
        self.entries = P.nnz
        self._P, self._transposed = P, sp.csr_matrix(P.T)
        terms = max(int(np.diff(M.indptr).max()) for M in (P, self._transposed))
        cancellation = system.max_transitions / (RATE_FACTOR - 1.0)  # rounding of exit rates, in 1 - exit rate / q
        self._rounding_per_power = (terms + 3 + cancellation) * WIDE_U
        self._vector, self._start = start.astype(np.longdouble), start
        self._backward: list[Wide] | None = None
        self._table = [array("d") for _ in self._rights]
        self._decay: SlowestDecay | None = None
        self._perron_requested = False
        self._spread, self._n_powers_to_two_sides = math.inf, 0
        self.tail: _Tail | None = None
        self._exhausted = False
        self._cumulated = [np.zeros(0, dtype=np.longdouble)]
        self._append_entries()

    def __len__(self) -> int:
        return len(self._table[0])

    def evaluate(self, time: float) -> TimePoint:
        """Return cdf, survival function and density of the passage time at ``time``, in s.

        Raises
        ------
        ValueError
            Where that takes more than 1e7 powers, and no slowest decay is proved, or jumps are more than a float.
        """
        mean = self.rate * time
        if math.isinf(mean):
            raise ValueError(f"time = {time:g}: more than 1e308 jumps")
        self._extend(time, math.ceil(mean + 12.0 * math.sqrt(mean) + 100.0))
        if mean >= CLOSED_FORM_JUMPS[0] * len(self) + CLOSED_FORM_JUMPS[1]:  # all jumps of the table have been made
            return self._assemble_point(time, self._closed_form(mean))
        tail = POISSON_TAIL
        while True:
            weights = poisson_weights(mean, tail)
            self._extend(time, weights.right + 1)
            point = self._assemble_point(time, self._weighted_sums(weights))
            smaller = min(point.cdf, point.survival)
            if smaller <= MIN_RELATIVE_PROBABILITY or tail <= RELATIVE_POISSON_TAIL * smaller:
                return point
            tail = 0.1 * RELATIVE_POISSON_TAIL * smaller

    # ----------------------------------------------------------------- powers

    def _append_entries(self) -> None:
        """Append survival and rates into both ends after the current number of jumps to the table."""
        self._table[0].append(float(self._vector.sum()))
        for values, states, rates in zip(self._table[1:], self._leading, self._rates, strict=True):
            values.append(float((self._vector[states] * rates).sum()))

    def _extend(self, time: float, count: int) -> None:
        """Extend the table to ``count`` powers, unless its tail is proved before; ``time`` is for the error message."""
        if self._needs_more(count):
            # Perron vectors, if they are predicted to be cheaper than the powers
            work = SECONDS_PER_ENTRY * self._P.nnz * (count - len(self))
            if not self._perron_requested and count > MIN_POWERS_FOR_PERRON and self._decay_seconds < work:
                self._perron_requested = True
                decay = slowest_decay(self._system)
                if decay is not None and decay.high <= MAX_DECAY_RATIO * self.rate:
                    self._decay = decay
        begin, prediction = len(self), Prediction("the chain has not entered the set before")
        with Counter("powers of the jump matrix") as bar:
            while self._needs_more(count):
                if len(self) >= MAX_POWERS:
                    allowed = f"must be at most {MAX_POWERS:.0e} where no slowest decay is proved"
                    raise ValueError(f"time = {time:g}: about {self.rate * time:.1e} jumps: {allowed}")
                for _ in range(CHECK_INTERVAL):
                    self._advance()
                self._check_spread()
                bar.show(len(self))
                if self._needs_more(count):
                    distances = {"survival": (self._table[0][-1], NEGLIGIBLE_SURVIVAL)}
                    prediction.check(len(self) - begin, count - len(self), distances)

    def _needs_more(self, count: int) -> bool:
        """Whether the table has fewer than ``count`` powers and no proved tail, and the mass is not exhausted."""
        return self.tail is None and not self._exhausted and len(self) < count

    @cached_property
    def _decay_seconds(self) -> float:
        """Predicted time of `slowest_decay`, in s."""
        return decay_seconds(self._system)

    def _advance(self) -> None:
        """Compute the next power and append its entries to the table."""
        if self._backward is None:
            self._vector = self._transposed @ self._vector
            self._append_entries()
            return
        for n, (values, right) in enumerate(zip(self._table, self._backward, strict=True)):
            if n == 0 or len(self._leading[n - 1]):
                self._backward[n] = self._P @ right
                values.append(float((self._vector * self._backward[n]).sum()))
            else:
                values.append(0.0)

    def _check_spread(self) -> None:
        """Set the tail of the table if the current powers are near enough to multiples of the Perron vectors."""
        self._exhausted = self._table[0][-1] <= NEGLIGIBLE_SURVIVAL
        decay = self._decay
        if decay is None:
            return
        rounding = 2.0 * (len(self) * self._rounding_per_power + 4.0 * U)
        if self._backward is None:
            spread = _ratio_spread(self._vector, decay.left, rounding)
            if spread <= ONE_SIDE_SPREAD:
                self._set_tail(decay, (spread, 1.0))
            elif spread <= TWO_SIDE_SPREAD:
                self._n_powers_to_two_sides = self._n_powers_to_two_sides or len(self)
                if (
                    MAX_ROUNDING_TO_ONE_SIDE * rounding <= ONE_SIDE_SPREAD
                    and len(self) <= MAX_POWERS_TO_ONE_SIDE * self._n_powers_to_two_sides
                ):
                    return
                self._spread = spread
                self._backward = [right.astype(np.longdouble) for right in self._rights]
        else:
            spread = max(_ratio_spread(vector, decay.right, rounding) for vector in self._backward if vector.any())
            if spread <= TWO_SIDE_SPREAD:
                self._set_tail(decay, (self._spread, spread))

    def _set_tail(self, decay: SlowestDecay, spreads: tuple[float, float]) -> None:
        """Set the tail of the table from the Perron vectors and the spreads on both sides."""
        self.tail = _Tail.of(decay, self._start, self._rights, self.rate, len(self), spreads)

    # ------------------------------------------------------------------- sums

    def _rounding(self, count: int) -> float:
        """Return a bound on the relative rounding error of the first ``count`` entries of the table."""
        return count * self._rounding_per_power + SUM_ROUNDING

    def _cumulative_sums(self) -> list[Wide]:
        """Return cumulative sums over jumps of the rates into the target, and into the other end, from 0 on."""
        if len(self._cumulated[0]) <= len(self):
            tables = [np.array(values) for values in self._table[1:]]
            self._cumulated = [np.append(0.0, np.cumsum(values, dtype=np.longdouble)) for values in tables]
        return self._cumulated

    def _closed_form(self, mean: float) -> _Parts:
        """Return the probabilities after ``mean`` = q t jumps, where that is far more than the table has powers."""
        ended = [float(sums[len(self)]) / self.rate for sums in self._cumulative_sums()]
        rounding = self._rounding(len(self))
        if self.tail is not None:
            return self.tail.closed_form(mean, ended, rounding)
        remainder = self._table[0][-1] * (1.0 + rounding)
        end_sums = [_Sum(probability, probability * rounding + remainder) for probability in ended]
        return _Parts(_Sum(0.0, remainder), end_sums, [0.0, 0.0])

    def _weighted_sums(self, weights: PoissonWeights) -> _Parts:
        """Return the probabilities at the time of these Poisson weights, as weighted sums over the table and its tail.

        Their mean is q t to within one rounding: of that the sums make as much as of the same change of the time.
        """
        first_jump, stop_jump = weights.left, weights.right + 1
        stop = min(stop_jump, len(self))
        first = min(first_jump, stop)
        weights_of_table, survival = weights.weights[: stop - first], weights.survival()
        rounding = self._rounding(stop) + 2.0 * weights.error + WIDE_U * len(self)
        values = [np.array(column[first:stop]) for column in self._table]
        running = float((weights_of_table * values[0]).sum())
        end_sums = [
            (float(sums[first]) + float((survival[: len(column)] * column).sum())) / self.rate
            for sums, column in zip(self._cumulative_sums(), values[1:], strict=True)
        ]
        densities = [float((weights_of_table * column).sum()) for column in values[1:]]
        parts = _Parts(
            _Sum(running, running * rounding + weights.cut),
            [_Sum(sum_, sum_ * rounding + weights.cut) for sum_ in end_sums],
            densities,
        )
        if stop < stop_jump and self.tail is None:  # next to nothing is left
            remainder = _Sum(0.0, self._table[0][-1] * (1.0 + rounding))
            parts = parts.plus(_Parts(remainder, [remainder, remainder], [0.0, 0.0]))
        elif stop < stop_jump and self.tail is not None:
            parts = parts.plus(self.tail.weighted_sums(weights))
        time_rounding = [U * weights.mean / self.rate * density for density in parts.densities]
        return parts.plus(
            _Parts(_Sum(0.0, sum(time_rounding)), [_Sum(0.0, column) for column in time_rounding], [0.0, 0.0])
        )

    def _assemble_point(self, time: float, parts: _Parts) -> TimePoint:
        """Return the distribution at ``time`` from its parts and the probabilities at time 0."""
        reached, missed = (
            end.plus(_Sum(ended, ended * U)) for end, ended in zip(parts.end_sums, self._initial_ends, strict=True)
        )
        survival = parts.running.plus(missed)
        relative = max(
            end.error / end.value if end.value > 0.0 else (math.inf if end.error else 0.0)
            for end in (reached, survival)
        )
        error = max(reached.error, survival.error) + 2.0 * U
        bounds = error, (relative + 4.0 * U) * (1.0 + 16.0 * U)
        return TimePoint(time, reached.value, survival.value, parts.densities[0], *bounds)


def _ratio_spread(vector: Wide, eigenvector: Vector, rounding: float) -> float:
    """Return the largest entry of ``vector`` / ``eigenvector`` over the smallest, minus 1, rounded up."""
    with np.errstate(all="ignore"):
        ratios = vector / eigenvector
        smallest = float(ratios.min())
    return float(ratios.max()) / smallest * (1.0 + 2.0 * rounding) - 1.0 if smallest > 0.0 else math.inf


class _Tail(NamedTuple):
    """Tail of the table of powers: its entries from ``begin`` on are constants times (1 - a / q)^k.

    Attributes
    ----------
    factors
        The constants of survival and of the rates into both ends.
    decay, rate, begin
        Interval of a, q, and the first entry.
    spreads
        Of the vectors on both sides; 1 for a side that is not iterated.
    """

    factors: list[float]
    decay: SlowestDecay
    rate: float
    begin: int
    spreads: tuple[float, float]

    @staticmethod
    def of(
        decay: SlowestDecay,
        start: Vector,
        rights: list[Vector],
        rate: float,
        begin: int,
        spreads: tuple[float, float],
    ) -> _Tail:
        """Return the tail whose constants follow from the Perron vectors, the start and the vectors ``rights``."""
        overlap = math.fsum(decay.left * decay.right)
        initial = math.fsum(start * decay.right)
        factors = [initial * math.fsum(decay.left * right) / overlap for right in rights]
        return _Tail(factors, decay, rate, begin, spreads)

    def _entry_error(self, jumps: float) -> float:
        """Return a bound on the relative error of entries up to ``jumps``, given the exact power of 1 - a / q."""
        decay = self.decay
        grown = 1.1 * jumps * (decay.high - decay.low) / (self.rate - decay.high)
        if grown > 0.1:
            return 1.0
        spread, other_spread = self.spreads
        return (spread * (1.0 + grown) + grown) * other_spread + 32.0 * U

    def _decay_error(self, jumps: float) -> float:
        """Return a bound on the relative error of (1 - a / q)^jumps, by the interval of a and by rounding."""
        decay = self.decay
        half_width = 0.5 * (decay.high - decay.low) / (self.rate - decay.high) + 4.0 * U * decay.high / self.rate
        return 1.1 * jumps * half_width if jumps * half_width < 0.1 else 1.0

    def _end_error(self, jumps: float) -> float:
        """Return a bound on the relative error of an end's probability from the tail's entries up to ``jumps``.

        Entries after 50 q / a jumps are e^-50 of all.
        """
        decay = self.decay
        uncertain = (decay.high - decay.low) / decay.low + 8.0 * U
        return uncertain + self._decay_error(self.begin) + self._entry_error(min(jumps, 50.0 * self.rate / decay.low))

    def closed_form(self, mean: float, ended: list[float], rounding: float) -> _Parts:
        """Return the probabilities after ``mean`` = q t jumps, where q t is large; ``ended`` are the table's part."""
        a, q = self.decay.rate, self.rate
        jumps = 2.0 * mean + 1000.0  # more are rare
        exponent = a / q * mean
        decayed = math.exp(-exponent)
        # fewer jumps than begin are as rare, since q t is more than CLOSED times as many
        few_jumps = 4.0 * math.exp(min(exponent - RARE_JUMPS_DECAY * mean, 0.0)) / min(self.factors[0], 1.0)
        running = self.factors[0] * decayed
        error = few_jumps + self._decay_error(mean) + self._entry_error(jumps)
        log_at_begin = self.begin * math.log1p(-a / q)
        share = math.exp(log_at_begin) * -math.expm1(-(exponent + log_at_begin)) / a
        relative = few_jumps + self._end_error(jumps)
        remainders = [factor * share for factor in self.factors[1:]]
        end_sums = [
            _Sum(probability + remainder, probability * rounding + remainder * relative)
            for probability, remainder in zip(ended, remainders, strict=True)
        ]
        densities = [factor * decayed for factor in self.factors[1:]]
        return _Parts(_Sum(running, running * error), end_sums, densities)

    def weighted_sums(self, weights: PoissonWeights) -> _Parts:
        """Return the Poisson-weighted sums over the tail's entries, to be added to those over the table."""
        first = max(self.begin, weights.left)
        jumps = np.arange(first, weights.right + 1)
        tail_weights = weights.weights[first - weights.left :]
        a, q = self.decay.rate, self.rate
        slope, last_jump = math.log1p(-a / q), float(weights.right)
        rounding = 2.0 * weights.error
        decayed = float((tail_weights * np.exp(slope * jumps)).sum())
        error = rounding + self._decay_error(last_jump) + self._entry_error(last_jump)
        jumps_since = jumps - self.begin
        shares = math.exp(slope * self.begin) * -np.expm1(slope * jumps_since) / a
        share_sum, relative = float((tail_weights * shares).sum()), rounding + self._end_error(last_jump)
        running = self.factors[0] * decayed
        end_sums = [_Sum(factor * share_sum, factor * share_sum * relative) for factor in self.factors[1:]]
        return _Parts(_Sum(running, running * error), end_sums, [f * decayed for f in self.factors[1:]])


SQUARES_SPAN = 16.0
"""The same squares serve times that are shorter or longer by this factor than the requested times."""
MAX_STEPS = 100  # of a bisection; Newton's method needs some six


@dataclass(frozen=True)
class Distribution:
    """Distribution function, survival function and density of a passage time at several times, shape (times,).

    Attributes
    ----------
    times
        In s.
    cdf, survival
        P(T <= t) and P(T > t); each is computed by itself, so that a small one is accurate too.
    density
        Of T, in 1/s.
    error_bound
        Rigorous bound on the absolute error of ``cdf`` and ``survival``.
    relative_error
        Rigorous bound on the relative error of ``cdf`` and ``survival`` above 1e-280, however small they
        are. It is useless where only an upper bound of a tiny probability is proved.
    """

    times: Vector
    cdf: Vector
    survival: Vector
    density: Vector
    error_bound: Vector
    relative_error: Vector


class PassageTime:
    """Distribution of the time until a chain enters a set: its values at times, and its quantiles, with bounds.

    Parameters
    ----------
    chain
        Its generator, shape (n, n).
    target
        The set, shape (n,).
    start
        The distribution at time 0, shape (n,).
    """

    never = Bounded(math.inf, math.inf, math.inf)

    def __init__(self, chain: MarkovChain, target: NDArray[np.bool_], start: Vector) -> None:
        rates = off_diagonal(chain.Q)
        transient = leads_to(sp.csr_matrix(rates.T), target) & ~target
        self._running = transient & leads_to(rates, start > 0.0, transient)
        self._rates, self._target, self._start = rates, target, start
        self._initial_ends = math.fsum(start[target]), math.fsum(start[~(transient | target)])
        self._evolution: Evolution | None = None
        self._time_span = math.inf, 0.0  # requested times
        self._begin = TimePoint(0.0, self._initial_ends[0], math.fsum(start[~target]), 0.0, U, U)

    @cached_property
    def _powers(self) -> PowerSums | None:
        """Power sums of the running states; None if no mass starts in them."""
        if not self._running.any():
            return None
        system = Absorbing(self._rates, self._running)
        into = system.rates_into(self._target), system.rates_into(~(self._running | self._target))
        end_rates = into[0].astype(np.float64), into[1].astype(np.float64)
        return PowerSums(system, self._start[self._running], end_rates, self._initial_ends)

    def _point_at(self, time: float) -> TimePoint:
        """Return the distribution at ``time``, in s, by squaring if that is predicted to pay, otherwise by powers."""
        if time <= 0.0 or self._powers is None:
            return replace(self._begin, time=time)
        entries = self._powers.entries
        if squaring_pays(int(self._running.sum()) + 2, self._powers.rate * time, entries):
            squared = self._by_squaring(time)
            if squared is not None:
                return squared
        return self._powers.evaluate(time)

    def _by_squaring(self, time: float) -> TimePoint | None:
        """Return the distribution at ``time``, in s, by squaring; None if no relative error is proved."""
        evolution = self._evolution
        if evolution is None or not evolution.covers(time):
            low, high = min(self._time_span[0], time / SQUARES_SPAN), max(self._time_span[1], time * SQUARES_SPAN)
            evolution = squares_of(self._stopping, low, high, stored=True) or squares_of(
                self._stopping, time, time, stored=True
            )
            if evolution is None:
                return None
            self._evolution = evolution
        first = np.append(self._start[self._running], self._initial_ends)
        result = evolution.forward(first, [time])
        values, relative = result.values[0], float(result.relative[0])
        relative += U * (1.0 + relative)  # of the probabilities at time 0
        error = relative * math.fsum(values.tolist()) + float(result.absolute[0])
        survival = math.fsum(values[:-2].tolist()) + float(values[-1])
        density = float(values @ self._stopping[0, :, -2])
        relative = (relative + 2.0 * U) * (1.0 + 8.0 * U)
        return TimePoint(time, float(values[-2]), survival, density, error, relative)

    @cached_property
    def _stopping(self) -> Words:
        """Rates of the stopped chain by `stopping_rates`, two float64 per entry, shape (2, m + 2, m + 2)."""
        return stopping_rates(self._rates, self._running, self._target)

    def at(self, times: Vector) -> Distribution:
        """Return the distribution of the passage time at ascending times, in s."""
        later = times[times > 0.0]
        if len(later):
            low, high = self._time_span
            self._time_span = min(low, float(later[0])), max(high, float(later[-1]))
        points = [self._point_at(time) for time in times.tolist()]
        columns = ("cdf", "survival", "density", "error", "relative")
        return Distribution(times, *(np.array([getattr(p, name) for p in points]) for name in columns))

    def quantile(self, q: float, scale: float) -> Bounded:
        """Return the time with P(T <= t) = q, in s, as an interval; ``scale`` is a typical time, > 0."""
        low = self._begin
        if low.cdf >= q:
            return Bounded(0.0, 0.0, 0.0)
        high = self._point_at(scale if scale > 0.0 else 1.0)
        while high.cdf < q:
            if high.cdf == low.cdf and low.time > 0.0:
                return Bounded(math.inf, high.time, math.inf)  # q is within rounding of the limit
            low, high = high, self._point_at(2.0 * high.time)
        middle = low
        for _ in range(MAX_STEPS):
            middle = self._point_at(_guess(low, high, middle, q))
            if middle.cdf < q:
                low = middle
            else:
                high = middle
            gap = abs(middle.cdf - q)
            if gap <= 2.0 * U * q or high.time - low.time <= 4.0 * U * high.time:
                break
        return self._enclose(middle, q)

    def _enclose(self, point: TimePoint, q: float) -> Bounded:
        """Return an interval around ``point`` at whose ends the cdf is proved to be below and above q."""
        slope = max(point.density, 1e-300)
        first_width = 2.0 * (point.cdf_error + abs(point.cdf - q)) / slope
        min_width = 4.0 * U * point.time
        lower, width = 0.0, max(first_width, min_width)
        while point.time > width:
            lower_point = self._point_at(point.time - width)
            if lower_point.cdf + lower_point.cdf_error < q:
                lower = lower_point.time
                break
            width *= 2.0
        width = max(first_width, min_width)
        while width <= 1e3 * max(point.time, 1e-300):
            upper_point = self._point_at(point.time + width)
            if upper_point.cdf - upper_point.cdf_error > q:
                return Bounded(point.time, lower, upper_point.time)
            width *= 2.0
        return Bounded(point.time, lower, math.inf)


def _guess(low: TimePoint, high: TimePoint, point: TimePoint, q: float) -> float:
    """Return Newton's estimate of the time with cdf q from ``point``; outside of (low, high) their midpoint instead."""
    if point.density > 0.0:
        guess = point.time + (q - point.cdf) / point.density
        if low.time < guess < high.time:
            return guess
    return 0.5 * (low.time + high.time)


def stopping_rates(rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]) -> Words:
    """Return the rates of the chain that stops outside the m running states, shape (2, m + 2, m + 2).

    Rows and columns: the running states in order, the target (m), and all other states (m + 1); the last two rows are
    zero. Each rate is the sum of two float64.
    """
    rows = sp.csr_matrix(rates[running])
    m = rows.shape[0]
    stopped = np.zeros((2, m + 2, m + 2))
    stopped[0, :m, :m] = rows[:, running].toarray()
    for end, inside in ((m, target), (m + 1, ~(running | target))):
        part = sp.csr_matrix(rows[:, inside])
        for s in range(m):
            values = part.data[part.indptr[s] : part.indptr[s + 1]].tolist()
            stopped[:, s, end] = exact_sum(values)
    return stopped
