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
   Where it would be more than `ONE_SIDE_SPREAD`, K + L powers are made, with P^L 1 between z and (1 + e') z times u: then
   |r| <= e e', since the deviations of the ratios on both sides from their means are multiplied. So e = e' = 3e-8 proves 15
   digits, and rounding in the powers does not matter.
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
from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.progress import Counter
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

__all__ = ["Distribution", "PassageTime", "Place", "PowerSums", "stopping_rates"]

FASTER = 1.1  # q over the largest exit rate, so that no diagonal entry is lost by cancellation
LOOK = 64  # powers between two looks at how they spread
SPREAD = 3e-8  # of the ratios to a Perron vector, on each side of two
ONE_SIDE = 1e-13  # the same where only one side is iterated
LONGER = 4.0  # times the rounding of the powers until SPREAD: what it adds to the spread of ratios until ONE_SIDE
MAX_LONGER = 2.0  # times the powers until SPREAD: those until ONE_SIDE
MIN_POWERS = 2_000  # for which no Perron vector is looked for
MAX_POWERS = 10**7
SECONDS_PER_ENTRY = 3e-9  # of a product
EXHAUSTED = 1e-18  # probability of not having stopped that counts as none
TAIL = 1e-30  # of the Poisson number, that is cut off
RELATIVE_TAIL = 1e-18  # of a probability, when that is small
SMALLEST = 1e-280  # probability whose relative error is bounded
SUM = 80.0 * U  # of NumPy's pairwise sums, with the products in them
CLOSED = (
    4.0,
    4_000.0,
)  # times the powers that there are, and more: q t from which the sums are closed
RARE_JUMPS_DECAY = 0.38  # per expected jump, of the probability of twice as many, or of fewer than a fourth
SLOW = 0.1  # decay rate over q above which Perron vectors are not used


@dataclass(frozen=True)
class Place:
    """The distribution of a passage time at one time.

    Attributes
    ----------
    time
        In s.
    cdf, survival, density
        P(T <= t), P(T > t) and the density in 1/s.
    error
        Bound on the error of ``cdf`` and of ``survival``.
    relative
        Bound on their errors relative to themselves, above 1e-290; inf where none is known.
    """

    time: float
    cdf: float
    survival: float
    density: float
    error: float
    relative: float

    @property
    def cdf_error(self) -> float:
        """Bound on the error of the cdf, which that of the survival bounds as well."""
        apart = abs(self.cdf + self.survival - 1.0) + 2.0 * U
        return min(self.error, self.relative * self.cdf, self.relative * self.survival + apart)


class _Sum(NamedTuple):
    """A sum of positive terms with a bound on its error."""

    value: float
    error: float

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(self.value + other.value, self.error + other.error)


class _Parts(NamedTuple):
    """Where a chain is at one time.

    Attributes
    ----------
    running
        The probability that it has not ended.
    ends, densities
        The probability that it has, and the density of that in 1/s, in the target and elsewhere.
    """

    running: _Sum
    ends: list[_Sum]
    densities: list[float]

    def plus(self, other: _Parts) -> _Parts:
        ends = [a.plus(b) for a, b in zip(self.ends, other.ends, strict=True)]
        densities = [a + b for a, b in zip(self.densities, other.densities, strict=True)]
        return _Parts(self.running.plus(other.running), ends, densities)


class PowerSums:
    """The powers of one chain and one start, as far as times need them.

    Parameters
    ----------
    system
        The transient states: those that lead to the target and are reached from the start.
    start
        Probabilities in them at time 0, shape (m,).
    ends
        Rates from each to the target and to states that never lead there, shape (m,) each.
    ended
        Probabilities at time 0 of the target, and of those states, to one rounding.
    """

    def __init__(
        self,
        system: Absorbing,
        start: Vector,
        ends: tuple[Vector, Vector],
        ended: tuple[float, float],
    ) -> None:
        self._system, self._ended = system, ended
        self._rights = [np.ones(len(start)), *ends]
        self._leading = [np.flatnonzero(rates) for rates in ends]
        self._rates = [rates[states] for rates, states in zip(ends, self._leading, strict=True)]
        exits = system.wide_exit_rates
        self.rate = FASTER * float(exits.max())
        stays = (self.rate - exits) / self.rate
        F = system.F.astype(np.longdouble)
        F.data /= self.rate  # SciPy would multiply by a quotient in double precision
        P = sp.csr_matrix(F + sp.diags(stays))
        self.entries = P.nnz
        self._P, self._transposed = P, sp.csr_matrix(P.T)
        terms = max(int(np.diff(M.indptr).max()) for M in (P, self._transposed))
        lost = system.most_transitions / (FASTER - 1.0)  # rounding of exit rates, in 1 - exit rate / q
        self._step = (terms + 3 + lost) * WIDE_U
        self._vector, self._start = start.astype(np.longdouble), start
        self._backward: list[Wide] | None = None
        self._table = [array("d") for _ in self._rights]
        self._decay: SlowestDecay | None = None
        self._asked = False
        self._spread, self._near = math.inf, 0
        self.tail: _Tail | None = None
        self._exhausted = False
        self._cumulated = [np.zeros(0, dtype=np.longdouble)]
        self._record()

    def __len__(self) -> int:
        return len(self._table[0])

    def at(self, time: float) -> Place:
        """Return the distribution at a time in s.

        Raises
        ------
        ValueError
            Where that takes more than 1e7 powers, and no slowest decay is proved, or jumps are more than a float.
        """
        mean = self.rate * time
        if math.isinf(mean):
            raise ValueError(f"time = {time:g}: more than 1e308 jumps")
        self._extend(time, math.ceil(mean + 12.0 * math.sqrt(mean) + 100.0))
        if mean >= CLOSED[0] * len(self) + CLOSED[1]:  # all jumps of the table have been made
            return self._place(time, self._late(mean))
        cut = TAIL
        while True:
            weights = poisson_weights(mean, cut)
            self._extend(time, weights.right + 1)
            place = self._place(time, self._summed(weights))
            least = min(place.cdf, place.survival)
            if least <= SMALLEST or cut <= RELATIVE_TAIL * least:
                return place
            cut = 0.1 * RELATIVE_TAIL * least

    # ----------------------------------------------------------------- powers

    def _record(self) -> None:
        self._table[0].append(float(self._vector.sum()))
        for values, states, rates in zip(self._table[1:], self._leading, self._rates, strict=True):
            values.append(float((self._vector[states] * rates).sum()))

    def _extend(self, time: float, count: int) -> None:
        """Find so many powers, unless those that there are say what the others are."""
        if self._goes_on(count):
            self._find_decay(count)
        with Counter("powers of the jump matrix") as bar:
            while self._goes_on(count):
                if len(self) >= MAX_POWERS:
                    said = f"must be at most {MAX_POWERS:.0e} where no slowest decay is proved"
                    raise ValueError(f"time = {time:g}: about {self.rate * time:.1e} jumps: {said}")
                for _ in range(LOOK):
                    self._advance()
                self._look()
                bar.show(len(self))

    def _goes_on(self, count: int) -> bool:
        return self.tail is None and not self._exhausted and len(self) < count

    def _find_decay(self, count: int) -> None:
        """Find the Perron vectors where they are predicted to be cheaper than so many powers."""
        work = SECONDS_PER_ENTRY * self._P.nnz * (count - len(self))
        if not self._asked and count > MIN_POWERS and self._decay_seconds < work:
            self._asked = True
            found = slowest_decay(self._system)
            if found is not None and found.high <= SLOW * self.rate:
                self._decay = found

    @cached_property
    def _decay_seconds(self) -> float:
        return decay_seconds(self._system)

    def _advance(self) -> None:
        if self._backward is None:
            self._vector = self._transposed @ self._vector
            self._record()
            return
        for n, (values, right) in enumerate(zip(self._table, self._backward, strict=True)):
            if n == 0 or len(self._leading[n - 1]):
                self._backward[n] = self._P @ right
                values.append(float((self._vector * self._backward[n]).sum()))
            else:
                values.append(0.0)

    def _look(self) -> None:
        """See whether the powers have come near to multiples of the Perron vectors."""
        self._exhausted = self._table[0][-1] <= EXHAUSTED
        decay = self._decay
        if decay is None:
            return
        rounding = 2.0 * (len(self) * self._step + 4.0 * U)
        if self._backward is None:
            spread = _spread(self._vector, decay.left, rounding)
            if spread <= ONE_SIDE:
                self._close(decay, (spread, 1.0))
            elif spread <= SPREAD:
                self._near = self._near or len(self)
                if LONGER * rounding <= ONE_SIDE and len(self) <= MAX_LONGER * self._near:
                    return
                self._spread = spread
                self._backward = [right.astype(np.longdouble) for right in self._rights]
        else:
            spread = max(_spread(each, decay.right, rounding) for each in self._backward if each.any())
            if spread <= SPREAD:
                self._close(decay, (self._spread, spread))

    def _close(self, decay: SlowestDecay, spreads: tuple[float, float]) -> None:
        """Say what the further powers are, to the product of the spreads."""
        self.tail = _Tail.of(decay, self._start, self._rights, self.rate, len(self), spreads)

    # ------------------------------------------------------------------- sums

    def _rounding(self, count: int) -> float:
        """Return the relative error of the first so many entries of the table."""
        return count * self._step + SUM

    def _sums(self) -> list[Wide]:
        """Return the sums of the first 0, 1, ... entries into each end."""
        if len(self._cumulated[0]) <= len(self):
            tables = [np.array(values) for values in self._table[1:]]
            self._cumulated = [np.append(0.0, np.cumsum(values, dtype=np.longdouble)) for values in tables]
        return self._cumulated

    def _before(self, count: int) -> list[float]:
        """Return the probabilities to have ended in either way within so many jumps."""
        return [float(sums[count]) / self.rate for sums in self._sums()]

    def _late(self, mean: float) -> _Parts:
        """Return what `_summed` does once all jumps of the table have been made."""
        before, rounding = self._before(len(self)), self._rounding(len(self))
        if self.tail is not None:
            return self.tail.after(mean, before, rounding)
        rest = self._table[0][-1] * (1.0 + rounding)
        ends = [_Sum(done, done * rounding + rest) for done in before]
        return _Parts(_Sum(0.0, rest), ends, [0.0, 0.0])

    def _summed(self, weights: PoissonWeights) -> _Parts:
        """Return the parts of the distribution by Poisson weights.

        Their mean is q t to within one rounding: of that the sums make as much as of the same change of the time.
        """
        left, right = weights.left, weights.right + 1
        stop = min(right, len(self))
        first = min(left, stop)
        kept, later = weights.weights[: stop - first], weights.survival()
        rounding = self._rounding(stop) + 2.0 * weights.error + WIDE_U * len(self)
        values = [np.array(each[first:stop]) for each in self._table]
        running = float((kept * values[0]).sum())
        ends = [
            (float(sums[first]) + float((later[: len(part)] * part).sum())) / self.rate
            for sums, part in zip(self._sums(), values[1:], strict=True)
        ]
        densities = [float((kept * part).sum()) for part in values[1:]]
        found = _Parts(
            _Sum(running, running * rounding + weights.cut),
            [_Sum(ended, ended * rounding + weights.cut) for ended in ends],
            densities,
        )
        if stop < right and self.tail is None:  # next to nothing is left
            rest = _Sum(0.0, self._table[0][-1] * (1.0 + rounding))
            found = found.plus(_Parts(rest, [rest, rest], [0.0, 0.0]))
        elif stop < right and self.tail is not None:
            found = found.plus(self.tail.beyond(weights))
        moved = [U * weights.mean / self.rate * density for density in found.densities]
        return found.plus(_Parts(_Sum(0.0, sum(moved)), [_Sum(0.0, each) for each in moved], [0.0, 0.0]))

    def _place(self, time: float, parts: _Parts) -> Place:
        cdf, never = (each.plus(_Sum(ended, ended * U)) for each, ended in zip(parts.ends, self._ended, strict=True))
        survival = parts.running.plus(never)
        relative = max(
            each.error / each.value if each.value > 0.0 else (math.inf if each.error else 0.0)
            for each in (cdf, survival)
        )
        error = max(cdf.error, survival.error) + 2.0 * U
        bounds = error, (relative + 4.0 * U) * (1.0 + 16.0 * U)
        return Place(time, cdf.value, survival.value, parts.densities[0], *bounds)


def _spread(vector: Wide, eigenvector: Vector, rounding: float) -> float:
    """Return the largest ratio of two vectors over the smallest, less 1, rounded up."""
    with np.errstate(all="ignore"):
        ratios = vector / eigenvector
        least = float(ratios.min())
    return float(ratios.max()) / least * (1.0 + 2.0 * rounding) - 1.0 if least > 0.0 else math.inf


class _Tail(NamedTuple):
    """The entries from a place on: constants times (1 - a / q)^k.

    Attributes
    ----------
    factors
        The constants of those who have not ended, and of the rates of both ends.
    decay, rate, begin
        Interval of a, q, and the place.
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
        both = math.fsum(decay.left * decay.right)
        first = math.fsum(start * decay.right)
        factors = [first * math.fsum(decay.left * right) / both for right in rights]
        return _Tail(factors, decay, rate, begin, spreads)

    def _crossed(self, jumps: float) -> float:
        """Return the relative error of entries up to a number of jumps, with the right power of 1 - a / q."""
        decay = self.decay
        grown = 1.1 * jumps * (decay.high - decay.low) / (self.rate - decay.high)
        if grown > 0.1:
            return 1.0
        spread, other = self.spreads
        return (spread * (1.0 + grown) + grown) * other + 32.0 * U

    def _decayed(self, jumps: float) -> float:
        """Return the relative error of (1 - a / q)^jumps, by the interval of a and by rounding."""
        decay = self.decay
        wide = 0.5 * (decay.high - decay.low) / (self.rate - decay.high) + 4.0 * U * decay.high / self.rate
        return 1.1 * jumps * wide if jumps * wide < 0.1 else 1.0

    def _ended(self, jumps: float) -> float:
        """Return the relative error of what entries up to a number of jumps add to an end.

        Those after 50 q / a jumps are e^-50 of all.
        """
        decay = self.decay
        uncertain = (decay.high - decay.low) / decay.low + 8.0 * U
        return uncertain + self._decayed(self.begin) + self._crossed(min(jumps, 50.0 * self.rate / decay.low))

    def after(self, mean: float, before: list[float], rounding: float) -> _Parts:
        """Return what `PowerSums._summed` does, for q t that is large enough."""
        a, q = self.decay.rate, self.rate
        jumps = 2.0 * mean + 1000.0  # more are rare
        exponent = a / q * mean
        decayed = math.exp(-exponent)
        # fewer jumps than begin are as rare, since q t is more than CLOSED times as many
        few = 4.0 * math.exp(min(exponent - RARE_JUMPS_DECAY * mean, 0.0)) / min(self.factors[0], 1.0)
        running = self.factors[0] * decayed
        error = few + self._decayed(mean) + self._crossed(jumps)
        shift = self.begin * math.log1p(-a / q)
        share = math.exp(shift) * -math.expm1(-(exponent + shift)) / a
        relative = few + self._ended(jumps)
        rests = [factor * share for factor in self.factors[1:]]
        ends = [_Sum(done + rest, done * rounding + rest * relative) for done, rest in zip(before, rests, strict=True)]
        densities = [factor * decayed for factor in self.factors[1:]]
        return _Parts(_Sum(running, running * error), ends, densities)

    def beyond(self, weights: PoissonWeights) -> _Parts:
        """Return what entries from ``begin`` on add to `PowerSums._summed`."""
        first = max(self.begin, weights.left)
        jumps = np.arange(first, weights.right + 1)
        kept = weights.weights[first - weights.left :]
        a, q = self.decay.rate, self.rate
        slope, most = math.log1p(-a / q), float(weights.right)
        rounding = 2.0 * weights.error
        decayed = float((kept * np.exp(slope * jumps)).sum())
        error = rounding + self._decayed(most) + self._crossed(most)
        steps = jumps - self.begin
        shares = math.exp(slope * self.begin) * -np.expm1(slope * steps) / a
        ended, relative = float((kept * shares).sum()), rounding + self._ended(most)
        running = self.factors[0] * decayed
        ends = [_Sum(factor * ended, factor * ended * relative) for factor in self.factors[1:]]
        return _Parts(_Sum(running, running * error), ends, [f * decayed for f in self.factors[1:]])


SPAN = 16.0
"""Times shorter or longer by this factor than those that were asked for are served by the same squares."""
MAX_STEPS = 100  # of a bisection; Newton's method needs some six


@dataclass(frozen=True)
class Distribution:
    """The distribution of a passage time T at some times, all of shape (times,).

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
        are. It is useless where one of them is known to be tiny only.
    """

    times: Vector
    cdf: Vector
    survival: Vector
    density: Vector
    error_bound: Vector
    relative_error: Vector


class PassageTime:
    """The time until a chain enters a set.

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
        self._ended = math.fsum(start[target]), math.fsum(start[~(transient | target)])
        self._evolution: Evolution | None = None
        self._span = math.inf, 0.0  # times that were asked for
        self._begin = Place(0.0, self._ended[0], math.fsum(start[~target]), 0.0, U, U)

    @cached_property
    def _powers(self) -> PowerSums | None:
        """Powers of the jump chain; None where nothing ever happens."""
        if not self._running.any():
            return None
        system = Absorbing(self._rates, self._running)
        into = system.rates_into(self._target), system.rates_into(~(self._running | self._target))
        ends = into[0].astype(np.float64), into[1].astype(np.float64)
        return PowerSums(system, self._start[self._running], ends, self._ended)

    def _after(self, time: float) -> Place:
        if time <= 0.0 or self._powers is None:
            return replace(self._begin, time=time)
        entries = self._powers.entries
        if squaring_pays(int(self._running.sum()) + 2, self._powers.rate * time, entries):
            found = self._squared(time)
            if found is not None:
                return found
        return self._powers.at(time)

    def _squared(self, time: float) -> Place | None:
        """Return a place by squaring; None where that proves nothing, or too little."""
        evolution = self._evolution
        if evolution is None or not evolution.covers(time):
            low, high = min(self._span[0], time / SPAN), max(self._span[1], time * SPAN)
            evolution = squares_of(self._stopping, low, high, stored=True) or squares_of(
                self._stopping, time, time, stored=True
            )
            if evolution is None:
                return None
            self._evolution = evolution
        first = np.append(self._start[self._running], self._ended)
        found = evolution.forward(first, [time])
        values, relative = found.values[0], float(found.relative[0])
        relative += U * (1.0 + relative)  # of the probabilities at time 0
        error = relative * math.fsum(values.tolist()) + float(found.absolute[0])
        survival = math.fsum(values[:-2].tolist()) + float(values[-1])
        density = float(values @ self._stopping[0, :, -2])
        relative = (relative + 2.0 * U) * (1.0 + 8.0 * U)
        return Place(time, float(values[-2]), survival, density, error, relative)

    @cached_property
    def _stopping(self) -> Words:
        return stopping_rates(self._rates, self._running, self._target)

    def at(self, times: Vector) -> Distribution:
        """Return the distribution at ascending times."""
        later = times[times > 0.0]
        if len(later):
            low, high = self._span
            self._span = min(low, float(later[0])), max(high, float(later[-1]))
        found = [self._after(time) for time in times.tolist()]
        columns = ("cdf", "survival", "density", "error", "relative")
        return Distribution(times, *(np.array([getattr(p, name) for p in found]) for name in columns))

    def quantile(self, q: float, scale: float) -> Bounded:
        """Return the time at which the probability is q, which it gets above; scale in s, > 0."""
        low = self._begin
        if low.cdf >= q:
            return Bounded(0.0, 0.0, 0.0)
        high = self._after(scale if scale > 0.0 else 1.0)
        while high.cdf < q:
            if high.cdf == low.cdf and low.time > 0.0:
                return Bounded(math.inf, high.time, math.inf)  # q is within rounding of the limit
            low, high = high, self._after(2.0 * high.time)
        middle = low
        for _ in range(MAX_STEPS):
            middle = self._after(_guess(low, high, middle, q))
            if middle.cdf < q:
                low = middle
            else:
                high = middle
            gap = abs(middle.cdf - q)
            if gap <= 2.0 * U * q or high.time - low.time <= 4.0 * U * high.time:
                break
        return self._verified(middle, q)

    def _verified(self, found: Place, q: float) -> Bounded:
        """Return an interval at whose ends the probability is less and more than q for sure."""
        slope = max(found.density, 1e-300)
        first = 2.0 * (found.cdf_error + abs(found.cdf - q)) / slope
        least = 4.0 * U * found.time
        lower, width = 0.0, max(first, least)
        while found.time > width:
            before = self._after(found.time - width)
            if before.cdf + before.cdf_error < q:
                lower = before.time
                break
            width *= 2.0
        width = max(first, least)
        while width <= 1e3 * max(found.time, 1e-300):
            after = self._after(found.time + width)
            if after.cdf - after.cdf_error > q:
                return Bounded(found.time, lower, after.time)
            width *= 2.0
        return Bounded(found.time, lower, math.inf)


def _guess(low: Place, high: Place, last: Place, q: float) -> float:
    """Return the time of Newton's step where it stays between, else the middle."""
    if last.density > 0.0:
        guess = last.time + (q - last.cdf) / last.density
        if low.time < guess < high.time:
            return guess
    return 0.5 * (low.time + high.time)


def stopping_rates(rates: sp.csr_matrix, running: NDArray[np.bool_], target: NDArray[np.bool_]) -> Words:
    """Return the rates of the stopped chain, shape (2, m + 2, m + 2), those into its two ends as exact sums."""
    rows = sp.csr_matrix(rates[running])
    m = rows.shape[0]
    found = np.zeros((2, m + 2, m + 2))
    found[0, :m, :m] = rows[:, running].toarray()
    for end, inside in ((m, target), (m + 1, ~(running | target))):
        part = sp.csr_matrix(rows[:, inside])
        for s in range(m):
            values = part.data[part.indptr[s] : part.indptr[s + 1]].tolist()
            found[:, s, end] = exact_sum(values)
    return found
