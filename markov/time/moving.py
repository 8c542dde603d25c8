"""The probability that a chain reaches its target until a time, on a set of states that moves with the distribution.

Time is cut into slices. In each of them the chain is confined to a finite set, chosen by the flow of mass
(B. Munsky, M. Khammash, The finite state projection algorithm for the solution of the chemical master equation,
J. Chem. Phys. 124, 2006; F. Didier, T. A. Henzinger, M. Mateescu, V. Wolf, Fast adaptive uniformization of the chemical
master equation, IET Syst. Biol. 4, 2010). The differences:

1. The exponential is a sum of Chebyshev polynomials of the jump matrix. For a jumps it takes about sqrt(50 a) products,
   and a bound on its error is summed up on the way (`markov.time.chebyshev`).
2. Where too much mass has left the set in a slice, the set is enlarged, or the slice shortened, and the slice repeated.
3. No bound depends on an estimate of the dropped mass: the mass computed to reach the target is a lower bound on
   its probability, and all mass that is neither there, nor has missed it, nor is still held, may have reached it.

Rows of the chain are computed when a set needs them. Rounding enters in products, weights, sums and times (`_Sweep._propagate`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing.progress import Counter
from markov.computing.rounding import U
from markov.time.chebyshev import chebyshev_weights
from markov.time.kernels import moving as kernels
from markov.time.kernels.moving import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    States = NDArray[np.int64]

__all__ = ["Columns", "GrowingChain", "Moved", "Sets", "Slice", "empty_columns", "moved"]

FIRST_THRESHOLD = 5e-13
LOWERED, RAISED = 0.25, 1.5  # threshold over the one before
STAYING = 0.2  # threshold for a state to stay over the one to enter


class GrowingChain(Protocol):
    """A chain whose rows are found when they are asked for. States have the numbers from 2 on, the first one is 2.

    In place of states where the chain ends, rows have 0 where it has reached its target, and 1 where it has not.
    """

    count: int
    numbers: States
    rows: Any

    @property
    def capacity(self) -> int:
        """Number of states that there is room for."""

    @property
    def largest_sum(self) -> int:
        """The largest number of rates in a row or a column so far."""

    def expand(self, states: NDArray[Any]) -> None:
        """Find the rows of states."""

    def keep(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget all other states and all rows; return the order in which the states are numbered from now on."""


class Slice(NamedTuple):
    """States in which the chain is confined for some time, in s, the mass of each at its begin, and how much may leave them."""

    states: States
    values: Vector
    duration: float
    may_be_lost: float


class Columns(NamedTuple):
    """The jump matrix on a set by columns, and the parts of each state that stay, reach the target, and miss it."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sources: NDArray[np.int32]
    parts: Vector
    stay: Vector
    reach: Vector
    miss: Vector


def empty_columns(states: int, entries: int) -> Columns:
    """Return columns with room for some states and transitions."""
    whole, places = np.zeros((2, states + 1), dtype=np.int64), np.zeros(entries, dtype=np.int32)
    stay, reach, miss = np.zeros((3, states))
    return Columns(whole[0], whole[1, :states], places, np.zeros(entries), stay, reach, miss)


class Sets:
    """Finite sets of states of a chain, chosen by where mass flows."""

    def __init__(self, chain: GrowingChain) -> None:
        self.chain = chain
        self.threshold = FIRST_THRESHOLD
        self.widest, self.full = 1, False
        self.calls: dict[Any, Callable[..., Any]] = {}
        self.clear()

    def clear(self) -> None:
        """Start with new numbers of states."""
        self.places = np.zeros(0, dtype=np.int32)
        self.flux = np.zeros(0)
        self.found = np.zeros(1, dtype=np.int64)
        self._enlarge()

    def _enlarge(self) -> None:
        more = self.chain.capacity - len(self.places)
        if more > 0:
            self.places = np.append(self.places, np.full(more, -1, dtype=np.int32))
            self.flux = np.append(self.flux, np.zeros(more))
            self.found = np.append(self.found, np.zeros(more, dtype=np.int64))

    def rate(self, states: States) -> float:
        """Return the largest exit rate of states."""
        return float(self.chain.rows.exits[states].max(initial=0.0))

    def choose(self, slice_: Slice, mass: Vector, caution: float, limit: float) -> Slice:
        """Return a slice with the states it is to have.

        A state is entered where at least a threshold flows into it in the slice, and stays where some part of that
        passes through it. The threshold is such that what flows elsewhere may be lost, or, where ``limit`` states do
        not suffice for that, such that there are as many. ``full`` says so.

        Parameters
        ----------
        slice_
            States that are held or not known to be too few.
        mass
            Estimate of the mass of each during the slice, shape (n,).
        caution
            What may flow elsewhere by that estimate, over twice what may be lost: <= 1.
        limit
            Largest number of states.
        """
        self._enlarge()
        duration, may_be_lost = slice_.duration, slice_.may_be_lost
        through = mass * np.maximum(self.chain.rows.exits[slice_.states] * duration, 1.0)
        self.threshold *= RAISED
        low = STAYING * self.threshold
        while slice_.values[through < low].sum() > 0.1 * may_be_lost:
            low *= 0.5
        kept = through >= low
        states, values, through = slice_.states[kept], slice_.values[kept], through[kept]
        ring, occupied = states, mass[kept] * duration
        self.full, rings = False, 0
        self._put(states, 0)
        while self.threshold > 0.0:
            ring, into, rest = self._ring(ring, occupied)
            if len(ring):
                self._put(ring, len(states))
                states, values = np.append(states, ring), np.append(values, np.zeros(len(ring)))
                through = np.append(through, into)
                rings += 1  # in a jumps few paths come to rings further than a
                occupied = into * duration / (self.chain.rows.exits[ring] * duration + 0.5 * rings)
                if len(states) > limit:
                    kept = self._largest(through, max(int(limit), 1))
                    self.places[states[~kept]] = -1
                    occupied = occupied[kept[len(states) - len(ring) :]]
                    ring = ring[kept[len(states) - len(ring) :]]
                    states, values, through = states[kept], values[kept], through[kept]
            elif self.full or rest <= 0.5 * caution * may_be_lost:
                break
            else:
                self.threshold *= LOWERED
                occupied = occupied[:0]
        self.flux[self.found[1 : 1 + self.found[0]]] = 0.0
        self.found[0] = 0
        self.places[states] = -1
        order = np.argsort(self.chain.numbers[states])  # neighbours are near in memory
        states, values = states[order], values[order]
        self.widest = max(self.widest, len(states))
        return Slice(states, values, duration, may_be_lost)

    def _largest(self, through: Vector, most: int) -> NDArray[np.bool_]:
        """Mark those states through which most mass passes, and raise the threshold to what passes through each."""
        chosen = np.argpartition(through, -most)[-most:]
        kept = np.zeros(len(through), dtype=bool)
        kept[chosen] = True
        self.full, self.threshold = True, math.nextafter(float(through[chosen].min()), math.inf)
        return kept

    def _put(self, states: States, first: int) -> None:
        self.places[states] = np.arange(first, first + len(states))

    def _ring(self, states: States, occupied: Vector) -> tuple[States, Vector, float]:
        """Return the states outside into which at least the threshold flows, the flux into each, and into all others."""
        rows = self.chain.rows
        arguments = states, occupied, self.places, rows, self.flux, self.found
        self._call(kernels.flow_out, arguments)
        outside = self.found[1 : 1 + self.found[0]]
        outside = outside[self.places[outside] < 0]
        into = self.flux[outside]
        high = into >= self.threshold
        ring, into_ring = outside[high], into[high]
        self.chain.expand(ring)
        self._enlarge()
        finite = np.isfinite(self.chain.rows.exits[ring])  # rows that have no room stay outside
        return ring[finite], into_ring[finite], float(into[~high].sum())

    def columns(self, states: States, per_rate: float) -> Columns:
        """Return the jump matrix on states."""
        n, rows = len(states), self.chain.rows
        columns = empty_columns(n, int(rows.degrees[states].sum()))
        self._put(states, 0)
        self._call(kernels.count_arrivals, (states, self.places, rows, columns))
        self._call(kernels.gather, (states, self.places, rows, columns, per_rate))
        self.places[states] = -1
        return columns

    def multiply(self, settings: tuple[float, float], *rest: Any) -> None:
        """Compute a term of the series (`moving_kernels.multiply`)."""
        self._call(kernels.multiply, (settings, *rest))

    def _call(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if kernel not in self.calls:
            self.calls[kernel] = make_kernel(kernel)
        self.calls[kernel](*arguments)

    def dense(self, states: States, values: Vector) -> Vector:
        """Return values by the numbers of states, 0 for all others."""
        found = np.zeros(self.chain.capacity)
        found[states] = values
        return found

    def distance(self, one: tuple[States, Vector], other: tuple[States, Vector]) -> float:
        """Return the 1-norm of the difference of two distributions."""
        difference = self.dense(*one)
        difference[other[0]] -= other[1]
        return float(np.abs(difference).sum())


STATES = 2
"""The first number of a state."""
FIRST_JUMPS, MAX_SLICE_JUMPS = 8.0, 2.0**16
TIGHT_BUDGET, LOOSE_BUDGET = 5e-10, 4e-7  # mass that may be lost: of few states, of more
FEW_STATES = 30_000
MIN_WORK, WORK_PER_STATE = 1e8, 4e3
"""Products of a state that are computed: at least, and for each state that may be held."""
COST_OF_PRODUCT = 500  # as many states cost as much as the rest of a product
COST_OF_CHOICE = 10  # products that cost as much as choosing a set and its columns
NARROWEST_SLICE = 1.0  # jumps
MAX_GROWTH = 1.6  # of the set in a slice, above which the next slice is shorter
MAX_CHANGE = 0.4  # of the distribution in a slice, relative, where its set is as large as it may be
SPARE = 8.0  # known states over states with mass, beyond which the others are forgotten
SERIES_SHARE = 0.02  # error of a series over the mass that may be lost in a slice
MAX_AMPLIFICATION = 30.0  # of rounding errors by a series
LOWERED = 0.25  # caution after a slice that has lost too much, over the one before
SLOW_GROWTH = 1.1  # of slices after one that was too long; 2 otherwise
MORE_DARING, MOST_CAUTIOUS = 1.2, 1e-9


class Moved(NamedTuple):
    """What has become of a chain at a time.

    Attributes
    ----------
    reached, missed
        Mass that has reached the target, and that has ended elsewhere: lower bounds, except for errors.
    states, values
        Numbers of the states that are held, and the mass of each, shape (n,): lower bounds in the same way.
    error
        Absolute error of all these together.
    widest
        The largest number of states that were held at once.
    products
        How many products of a distribution and the jump matrix were computed.
    time
        Until when the chain was followed, in s.
    """

    reached: float
    missed: float
    states: States
    values: Vector
    error: float
    widest: int
    products: int
    time: float

    @property
    def lost(self) -> float:
        """Mass that has left the sets."""
        return max(1.0 - self.reached - self.missed - math.fsum(self.values), 0.0)

    def between(self, counted: NDArray[np.bool_]) -> tuple[float, float]:
        """Return bounds on the probability of the target and some of the states that are held, marked in shape (n,)."""
        inside = self.reached + math.fsum(self.values[counted])
        others = self.missed + math.fsum(self.values[~counted])
        error = self.error + 8.0 * U
        return max(inside - error, 0.0), min(1.0 - (others - error), 1.0)


class _End(NamedTuple):
    """The mass of the states of a set at the end of a slice, and what has reached and missed the target in it."""

    values: Vector
    reached: float
    missed: float
    error: float


def moved(chain: GrowingChain, horizon: float, most: int) -> Moved:
    """Return where a chain is at a time in s, from its first state on, on at most about ``most`` states at once.

    The work is limited, too: with many jumps on fewer states, and where those are few, not until that time.
    """
    return _Sweep(chain, horizon, most).run()


class _Sweep:
    """The distribution on its way."""

    def __init__(self, chain: GrowingChain, horizon: float, most: int) -> None:
        self.chain, self.horizon, self.most = chain, horizon, most
        self.states, self.values = np.array([STATES]), np.ones(1)
        self.reached = self.missed = self.error = self.time = 0.0
        self.jumps, self.growth, self.caution = FIRST_JUMPS, 2.0, 1.0
        self.budget = TIGHT_BUDGET
        self.work = max(MIN_WORK, WORK_PER_STATE * most)
        self.products, self.lately_lost = 0, 0.0
        self.sets = Sets(chain)

    def run(self) -> Moved:
        """Return what has become of the chain at the horizon."""
        self.chain.expand(self.states)
        with Counter("products") as bar:
            while self.time < self.horizon and len(self.states) and self.work > 0.0:
                bar.show(self.products)
                self._advance()
                self._tidy()
        if self.work > 0.0:  # where no states are left, too
            self.time = self.horizon
        if self.time < self.horizon:
            self.states, self.values = self.states[:0], self.values[:0]  # not known any more
        return Moved(
            self.reached,
            self.missed,
            self.states,
            self.values,
            self.error,
            self.sets.widest,
            self.products,
            self.time,
        )

    def _advance(self) -> None:
        """Let a slice of time pass: a shorter one, or on a larger set, where too much mass has left the set."""
        rest = self.horizon - self.time
        begin, mass, held = (self.states, self.values), self.values, float(self.values.sum())
        while True:
            rate = self.sets.rate(self.states)
            duration = rest
            if rate * rest > 1.25 * self.jumps:  # the difference of two times that are numbers
                duration = (self.time + self.jumps / rate) - self.time
            slice_ = Slice(*begin, duration, self._may_be_lost(duration))
            slice_ = self.sets.choose(slice_, mass, self.caution, self._limit(duration))
            self.work -= COST_OF_CHOICE * (len(slice_.states) + COST_OF_PRODUCT)
            end = self._propagate(slice_)
            if self.work <= 0.0:
                return
            if end is not None:
                lost = held - float(end.values.sum()) - end.reached - end.missed
                short = self.sets.rate(slice_.states) * duration <= NARROWEST_SLICE
                if lost - end.error <= slice_.may_be_lost or self.sets.full or short:
                    break
            if end is not None and mass is self.values:
                begin = slice_.states, slice_.values
                mass = np.maximum(slice_.values, end.values)
                self.caution = max(LOWERED * self.caution, MOST_CAUTIOUS)
            else:
                self.jumps, self.growth = 0.5 * rate * duration, SLOW_GROWTH
                begin, mass = (self.states, self.values), self.values
        self.time = self.horizon if duration == rest else self.time + duration
        self._follow(slice_, end, max(lost, 0.0))

    def _follow(self, done: Slice, end: _End, lost: float) -> None:
        """Hold what a slice has ended with, and choose the length of the next one."""
        self.caution = min(MORE_DARING * self.caution, 1.0)
        change = self.sets.distance((self.states, self.values), (done.states, end.values))
        if self.sets.full:
            self.budget = LOOSE_BUDGET
            factor = math.sqrt(MAX_CHANGE * float(self.values.sum()) / max(change, U))
            factor = min(max(factor, 0.5), 2.0)
        else:
            factor = 0.5 if len(done.states) > MAX_GROWTH * len(self.states) + COST_OF_PRODUCT else self.growth
        self.growth = min(2.0, 1.1 * self.growth)
        self.jumps = min(max(factor * self.jumps, FIRST_JUMPS), MAX_SLICE_JUMPS)
        self.reached += end.reached
        self.missed += end.missed
        self.error += end.error
        self.lately_lost = lost
        self.states, self.values = done.states, end.values
        if not end.reached and not end.missed:
            self._stop_if_still(change + 3.0 * lost, end.error, done.duration)

    def _stop_if_still(self, change: float, error: float, duration: float) -> None:
        """Stop where the rest of the time changes little.

        Let p be the distribution at the begin of a slice, E the exponential, and r = p E - m - e what is held at its
        end, where m >= 0 has been lost and e is the error. Then r E - r = (p E - p) E - (m + e) E + (m + e), and the
        norm of p E - p is at most that of r - p, of m and of e together. A further slice changes no more than that.
        """
        rest = math.ceil((self.horizon - self.time) / duration)
        if rest > 0 and rest * change <= TIGHT_BUDGET:
            self.error += rest * (change + 6.0 * error)
            self.time = self.horizon

    def _may_be_lost(self, duration: float) -> float:
        """Return how much mass may leave the set in a slice, of the budget that is left."""
        if len(self.states) > FEW_STATES:
            self.budget = LOOSE_BUDGET
        lost = 1.0 - float(self.values.sum()) - self.reached - self.missed
        rest = self.horizon - self.time
        left = max(self.budget - lost, 0.1 * self.budget * rest / self.horizon)
        return left * duration / rest

    def _limit(self, duration: float) -> float:
        """Return how many states may be held, by their number and by the work that is left."""
        jumps = max(self.sets.rate(self.states) * duration, 1.0)
        slices = (self.horizon - self.time) / duration
        longer = min(slices, MAX_SLICE_JUMPS / jumps)
        products = slices / longer * (math.sqrt(50.0 * jumps * longer) + COST_OF_CHOICE)
        return min(self.most, max(self.work / products, 1.0))

    def _propagate(self, slice_: Slice) -> _End | None:
        """Return the end of a slice; None where rounding errors are amplified, or the work is too much.

        The error is that of the series, of rounding in each product (a sum of as many terms as there are transitions
        into a state, with factors 1 - x that are sums over those out of it), of the weights, of sums, and of time.
        """
        states, values = slice_.states, slice_.values
        rate = self.sets.rate(states)
        jumps = rate * slice_.duration
        if jumps == 0.0:
            return _End(values, 0.0, 0.0, 0.0)
        weights = chebyshev_weights(jumps)
        columns = self.sets.columns(states, 1.0 / rate)
        now, before, total = values.copy(), np.zeros(len(values)), weights.weights[0] * values
        sums, integrals = np.zeros(3), weights.integrals
        ends = integrals[0] * np.array([(columns.reach * now).sum(), (columns.miss * now).sum()])
        lost = max(slice_.may_be_lost, 0.1 * self.lately_lost if self.sets.full else 0.0)
        tolerance = max(SERIES_SHARE * lost, U)
        per_product = U * (2.0 * self.chain.largest_sum + 16.0)
        norms, rounding = [0.0, float(values.sum())], 0.0
        largest = max(columns.reach.max(), columns.miss.max())
        size = (weights.weights[0] + integrals[0] * largest) * norms[1]
        for k in range(1, len(integrals) - 1):
            factor = 1.0 if k == 1 else 2.0
            self.sets.multiply((factor, weights.weights[k]), columns, now, before, total, sums)
            now, before = before, now
            self.products += 1
            self.work -= len(values) + COST_OF_PRODUCT
            rounding += integrals[k - 1] * per_product * (factor * norms[-1] + norms[-2])
            norms.append(float(sums[0]))
            ends += 2.0 * integrals[k] * sums[1:]
            size += (weights.weights[k] + 2.0 * integrals[k] * largest) * norms[-1]
            series = integrals[k + 1] * norms[-1] + integrals[k] * (2.0 * norms[-1] + norms[-2])
            if rounding > MAX_AMPLIFICATION * per_product * jumps or self.work <= 0.0:
                return None
            if series <= tolerance:
                break
        else:
            return None
        negative = -float(total[total < 0.0].sum())
        terms = weights.error / U + BLOCK + len(values) / BLOCK + 2.0 * k
        error = series + rounding + U * (terms * size + 8.0 * jumps)
        return _End(
            np.maximum(total, 0.0),
            max(float(ends[0]), 0.0),
            max(float(ends[1]), 0.0),
            (error + negative) * (1.0 + (len(values) + k + 24) * U),
        )

    def _tidy(self) -> None:
        """Forget states that are not held where they are many."""
        if self.chain.count <= SPARE * max(len(self.states), 1) + STATES:
            return
        order = self.chain.keep(self.states)
        self.states = np.arange(STATES, STATES + len(order))
        self.values = self.values[order]
        self.chain.expand(self.states)
        self.sets.clear()
