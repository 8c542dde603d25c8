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

Rows of the chain are computed when a set needs them. Rounding enters in products, weights, sums and times
(`_Sweep._propagate`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing.resources import Counter
from markov.computing.rounding import U
from markov.time.chebyshev import chebyshev_weights
from markov.time.kernels import moving as kernels
from markov.time.kernels.moving import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    States = NDArray[np.int64]

__all__ = ["Columns", "GrowingChain", "MovingSet", "StateSets", "TimeSlice", "empty_columns", "follow_distribution"]

FIRST_THRESHOLD = 5e-13
THRESHOLD_LOWERING, THRESHOLD_GROWTH = 0.25, 1.5  # ratio of successive thresholds
STAYING_RATIO = 0.2  # threshold to stay over threshold to enter


class GrowingChain(Protocol):
    """Interface of a chain whose rows are computed on request; its states have the numbers 2, 3, ..., the first is 2.

    In place of states where the chain ends, rows have 0 where it has reached its target, and 1 where it has not.
    """

    count: int
    numbers: States
    rows: Any

    @property
    def capacity(self) -> int:
        """Number of states that fit into the arrays indexed by state number."""

    @property
    def largest_sum(self) -> int:
        """The largest number of rates in one row or one column computed so far."""

    def expand(self, states: NDArray[Any]) -> None:
        """Compute the rows of ``states``: their transitions and rates."""

    def keep(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Discard all other states and all rows, renumber ``states`` from 2 on, and return their order as indices."""


class TimeSlice(NamedTuple):
    """Time slice: the states that confine the chain, their masses at its start, duration in s, tolerated mass loss."""

    states: States
    values: Vector
    duration: float
    allowed_loss: float


class Columns(NamedTuple):
    """Jump matrix on a set of states by columns, and the parts of its rows that stay, reach the target or miss it."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    sources: NDArray[np.int32]
    parts: Vector
    stay: Vector
    reach: Vector
    miss: Vector


def empty_columns(states: int, entries: int) -> Columns:
    """Return `Columns` of zeros with room for ``states`` states and ``entries`` transitions."""
    bounds, sources = np.zeros((2, states + 1), dtype=np.int64), np.zeros(entries, dtype=np.int32)
    stay, reach, miss = np.zeros((3, states))
    return Columns(bounds[0], bounds[1, :states], sources, np.zeros(entries), stay, reach, miss)


class StateSets:
    """Chooses the finite set of states that holds a chain's distribution in a time slice, by the flow of mass."""

    def __init__(self, chain: GrowingChain) -> None:
        self.chain = chain
        self.threshold = FIRST_THRESHOLD
        self.max_size, self.full = 1, False
        self.compiled: dict[Any, Callable[..., Any]] = {}
        self.clear()

    def clear(self) -> None:
        """Reset the arrays indexed by state number, after the chain has renumbered its states."""
        self.positions = np.zeros(0, dtype=np.int32)
        self.flux = np.zeros(0)
        self.entered = np.zeros(1, dtype=np.int64)
        self._enlarge()

    def _enlarge(self) -> None:
        """Enlarge the arrays indexed by state number to the capacity of the chain."""
        n_new = self.chain.capacity - len(self.positions)
        if n_new > 0:
            self.positions = np.append(self.positions, np.full(n_new, -1, dtype=np.int32))
            self.flux = np.append(self.flux, np.zeros(n_new))
            self.entered = np.append(self.entered, np.zeros(n_new, dtype=np.int64))

    def max_exit_rate(self, states: States) -> float:
        """Return the largest exit rate of ``states``, in 1/s."""
        return float(self.chain.rows.exits[states].max(initial=0.0))

    def choose(self, slice_: TimeSlice, mass: Vector, caution: float, limit: float) -> TimeSlice:
        """Return the time slice with its set of states enlarged or reduced to what the flow of mass in it needs.

        A state enters where at least a threshold flows into it in the slice, and stays where a fifth of that
        passes through it. The threshold is such that the flow elsewhere is within the allowed loss, or, where ``limit``
        states do not suffice for that, such that as many states are held (``full``).

        Parameters
        ----------
        slice_
            States of the set, possibly too few.
        mass
            Estimate of the mass of each during the slice, shape (n,).
        caution
            Estimated flow elsewhere over twice the allowed loss: <= 1.
        limit
            Largest number of states.
        """
        self._enlarge()
        duration, may_be_lost = slice_.duration, slice_.allowed_loss
        flow = mass * np.maximum(self.chain.rows.exits[slice_.states] * duration, 1.0)
        self.threshold *= THRESHOLD_GROWTH
        minimum = STAYING_RATIO * self.threshold
        while slice_.values[flow < minimum].sum() > 0.1 * may_be_lost:
            minimum *= 0.5
        stays = flow >= minimum
        states, values, flow = slice_.states[stays], slice_.values[stays], flow[stays]
        ring, occupied = states, mass[stays] * duration
        self.full, rings = False, 0
        self._assign_positions(states, 0)
        while self.threshold > 0.0:
            ring, inflow, elsewhere = self._ring(ring, occupied)
            if len(ring):
                self._assign_positions(ring, len(states))
                states, values = np.append(states, ring), np.append(values, np.zeros(len(ring)))
                flow = np.append(flow, inflow)
                rings += 1  # in a jumps few paths come to rings further than a
                occupied = inflow * duration / (self.chain.rows.exits[ring] * duration + 0.5 * rings)
                if len(states) > limit:
                    stays = self._select_largest(flow, max(int(limit), 1))
                    self.positions[states[~stays]] = -1
                    occupied = occupied[stays[len(states) - len(ring) :]]
                    ring = ring[stays[len(states) - len(ring) :]]
                    states, values, flow = states[stays], values[stays], flow[stays]
            elif self.full or elsewhere <= 0.5 * caution * may_be_lost:
                break
            else:
                self.threshold *= THRESHOLD_LOWERING
                occupied = occupied[:0]
        self.flux[self.entered[1 : 1 + self.entered[0]]] = 0.0
        self.entered[0] = 0
        self.positions[states] = -1
        order = np.argsort(self.chain.numbers[states])  # neighbours are near in memory
        states, values = states[order], values[order]
        self.max_size = max(self.max_size, len(states))
        return TimeSlice(states, values, duration, may_be_lost)

    def _select_largest(self, flow: Vector, count: int) -> NDArray[np.bool_]:
        """Return a mask of the ``count`` states with the largest flow; the smallest of these is the new threshold."""
        chosen = np.argpartition(flow, -count)[-count:]
        largest = np.zeros(len(flow), dtype=bool)
        largest[chosen] = True
        self.full, self.threshold = True, math.nextafter(float(flow[chosen].min()), math.inf)
        return largest

    def _assign_positions(self, states: States, first: int) -> None:
        """Set the positions of ``states`` in the current set to first, first + 1, ..."""
        self.positions[states] = np.arange(first, first + len(states))

    def _ring(self, states: States, occupied: Vector) -> tuple[States, Vector, float]:
        """Return outside states with inflow from ``states`` above the threshold, their inflows, and the others' sum."""
        rows = self.chain.rows
        arguments = states, occupied, self.positions, rows, self.flux, self.entered
        self._call(kernels.flow_out, arguments)
        outside = self.entered[1 : 1 + self.entered[0]]
        outside = outside[self.positions[outside] < 0]
        inflow = self.flux[outside]
        high = inflow >= self.threshold
        ring, ring_inflow = outside[high], inflow[high]
        self.chain.expand(ring)
        self._enlarge()
        finite = np.isfinite(self.chain.rows.exits[ring])  # rows that have no room stay outside
        return ring[finite], ring_inflow[finite], float(inflow[~high].sum())

    def columns(self, states: States, per_rate: float) -> Columns:
        """Return the jump matrix I + Q / q on ``states`` by columns, for ``per_rate`` = 1 / q."""
        n, rows = len(states), self.chain.rows
        columns = empty_columns(n, int(rows.degrees[states].sum()))
        self._assign_positions(states, 0)
        self._call(kernels.count_arrivals, (states, self.positions, rows, columns))
        self._call(kernels.gather, (states, self.positions, rows, columns, per_rate))
        self.positions[states] = -1
        return columns

    def multiply(self, settings: tuple[float, float], *arrays: Any) -> None:
        """Compute the next term of the Chebyshev series in place, by `kernels.multiply`."""
        self._call(kernels.multiply, (settings, *arrays))

    def _call(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Run a kernel on ``arguments``; it is compiled at its first call."""
        if kernel not in self.compiled:
            self.compiled[kernel] = make_kernel(kernel)
        self.compiled[kernel](*arguments)

    def dense(self, states: States, values: Vector) -> Vector:
        """Return an array indexed by state number with ``values`` at ``states`` and 0 elsewhere."""
        dense = np.zeros(self.chain.capacity)
        dense[states] = values
        return dense

    def distance(self, first: tuple[States, Vector], second: tuple[States, Vector]) -> float:
        """Return the 1-norm of the difference of two distributions, each a pair of states and values."""
        difference = self.dense(*first)
        difference[second[0]] -= second[1]
        return float(np.abs(difference).sum())


FIRST_STATE = 2
"""The first number of a state."""
FIRST_JUMPS, MAX_SLICE_JUMPS = 8.0, 2.0**16
TIGHT_BUDGET, LOOSE_BUDGET = 5e-10, 4e-7  # mass that may be lost: of few states, of more
FEW_STATES = 30_000
MIN_WORK, WORK_PER_STATE = 1e8, 4e3
"""Products of a state: minimum, and per state that may be held."""
STATES_PER_PRODUCT = 500  # states whose cost is that of the overhead of a product
PRODUCTS_PER_CHOICE = 10  # products that cost as much as choosing a set and its columns
MIN_SLICE_JUMPS = 1.0  # jumps
MAX_GROWTH = 1.6  # of the set in a slice, above which the next slice is shorter
MAX_CHANGE = 0.4  # of the distribution in a slice, relative, where its set is as large as it may be
MAX_STATES_PER_HELD_STATE = 8.0  # of rows in memory: with more, states without mass are discarded
SERIES_SHARE = 0.02  # error of a series over the mass that may be lost in a slice
MAX_AMPLIFICATION = 30.0  # of rounding errors by a series
CAUTION_LOWERING = 0.25  # ratio of cautions after a slice that has lost too much
SLICE_GROWTH_AFTER_FAILURE = 1.1  # of slices after one that was too long; 2 otherwise
CAUTION_GROWTH, MIN_CAUTION = 1.2, 1e-9


class MovingSet(NamedTuple):
    """Result of `follow_distribution`: masses that reached the target, missed it, and are still in states, at one time.

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
    max_size: int
    products: int
    time: float

    @property
    def lost(self) -> float:
        """Mass that left the sets of states on the way, so that nothing is proved about it."""
        return max(1.0 - self.reached - self.missed - math.fsum(self.values), 0.0)

    def between(self, counted: NDArray[np.bool_]) -> tuple[float, float]:
        """Return bounds on the probability of the target together with the held states marked in ``counted``."""
        inside = self.reached + math.fsum(self.values[counted])
        others = self.missed + math.fsum(self.values[~counted])
        error = self.error + 8.0 * U
        return max(inside - error, 0.0), min(1.0 - (others - error), 1.0)


class _SliceEnd(NamedTuple):
    """Masses at the end of a time slice: of each state, and newly in the target and elsewhere, with an error bound."""

    values: Vector
    reached: float
    missed: float
    error: float


def follow_distribution(chain: GrowingChain, horizon: float, max_states: int) -> MovingSet:
    """Return the masses of a chain at time ``horizon``, in s, from its first state, on about ``max_states`` states.

    The work is limited, too: with many jumps on fewer states, and where those are few, not until that time.
    """
    return _Sweep(chain, horizon, max_states).run()


class _Sweep:
    """Progress of `follow_distribution`: the distribution at the current time, and the control of time slices."""

    def __init__(self, chain: GrowingChain, horizon: float, max_states: int) -> None:
        self.chain, self.horizon, self.max_states = chain, horizon, max_states
        self.states, self.values = np.array([FIRST_STATE]), np.ones(1)
        self.reached = self.missed = self.error = self.time = 0.0
        self.jumps, self.growth, self.caution = FIRST_JUMPS, 2.0, 1.0
        self.budget = TIGHT_BUDGET
        self.work = max(MIN_WORK, WORK_PER_STATE * max_states)
        self.products, self.previous_loss = 0, 0.0
        self.sets = StateSets(chain)

    def run(self) -> MovingSet:
        """Advance the distribution to the horizon, and return its masses there."""
        self.chain.expand(self.states)
        with Counter("products") as bar:
            while self.time < self.horizon and len(self.states) and self.work > 0.0:
                bar.show(self.products)
                self._advance()
                self._discard_states()
        if self.work > 0.0:  # where no states are left, too
            self.time = self.horizon
        if self.time < self.horizon:
            self.states, self.values = self.states[:0], self.values[:0]  # unknown at the horizon
        return MovingSet(
            self.reached,
            self.missed,
            self.states,
            self.values,
            self.error,
            self.sets.max_size,
            self.products,
            self.time,
        )

    def _advance(self) -> None:
        """Advance by one time slice, after retries with a shorter one or a larger set where too much mass is lost."""
        remaining = self.horizon - self.time
        begin, mass, before = (self.states, self.values), self.values, float(self.values.sum())
        while True:
            rate = self.sets.max_exit_rate(self.states)
            duration = remaining
            if rate * remaining > 1.25 * self.jumps:  # the difference of two times that are numbers
                duration = (self.time + self.jumps / rate) - self.time
            slice_ = TimeSlice(*begin, duration, self._loss_budget(duration))
            slice_ = self.sets.choose(slice_, mass, self.caution, self._max_set_size(duration))
            self.work -= PRODUCTS_PER_CHOICE * (len(slice_.states) + STATES_PER_PRODUCT)
            end = self._propagate(slice_)
            if self.work <= 0.0:
                return
            if end is not None:
                loss = before - float(end.values.sum()) - end.reached - end.missed
                minimal = self.sets.max_exit_rate(slice_.states) * duration <= MIN_SLICE_JUMPS
                if loss - end.error <= slice_.allowed_loss or self.sets.full or minimal:
                    break
            if end is not None and mass is self.values:
                begin = slice_.states, slice_.values
                mass = np.maximum(slice_.values, end.values)
                self.caution = max(CAUTION_LOWERING * self.caution, MIN_CAUTION)
            else:
                self.jumps, self.growth = 0.5 * rate * duration, SLICE_GROWTH_AFTER_FAILURE
                begin, mass = (self.states, self.values), self.values
        self.time = self.horizon if duration == remaining else self.time + duration
        self._adopt(slice_, end, max(loss, 0.0))

    def _adopt(self, slice_: TimeSlice, end: _SliceEnd, loss: float) -> None:
        """Make the end of a slice the current distribution, and set the number of jumps of the next slice."""
        self.caution = min(CAUTION_GROWTH * self.caution, 1.0)
        change = self.sets.distance((self.states, self.values), (slice_.states, end.values))
        if self.sets.full:
            self.budget = LOOSE_BUDGET
            factor = math.sqrt(MAX_CHANGE * float(self.values.sum()) / max(change, U))
            factor = min(max(factor, 0.5), 2.0)
        else:
            factor = 0.5 if len(slice_.states) > MAX_GROWTH * len(self.states) + STATES_PER_PRODUCT else self.growth
        self.growth = min(2.0, 1.1 * self.growth)
        self.jumps = min(max(factor * self.jumps, FIRST_JUMPS), MAX_SLICE_JUMPS)
        self.reached += end.reached
        self.missed += end.missed
        self.error += end.error
        self.previous_loss = loss
        self.states, self.values = slice_.states, end.values
        if not end.reached and not end.missed:
            self._stop_if_still(change + 3.0 * loss, end.error, slice_.duration)

    def _stop_if_still(self, change: float, error: float, duration: float) -> None:
        """Set the time to the horizon if the distribution provably changes little until then.

        Let p be the distribution at the begin of a slice, E the exponential, and r = p E - m - e the mass held at its
        end, where m >= 0 has been lost and e is the error. Then r E - r = (p E - p) E - (m + e) E + (m + e), and the
        norm of p E - p is at most that of r - p, of m and of e together. A further slice changes no more than that.
        """
        slices = math.ceil((self.horizon - self.time) / duration)
        if slices > 0 and slices * change <= TIGHT_BUDGET:
            self.error += slices * (change + 6.0 * error)
            self.time = self.horizon

    def _loss_budget(self, duration: float) -> float:
        """Return the mass that may leave the set of states in a slice of ``duration`` s."""
        if len(self.states) > FEW_STATES:
            self.budget = LOOSE_BUDGET
        loss = 1.0 - float(self.values.sum()) - self.reached - self.missed
        remaining = self.horizon - self.time
        allowance = max(self.budget - loss, 0.1 * self.budget * remaining / self.horizon)
        return allowance * duration / remaining

    def _max_set_size(self, duration: float) -> float:
        """Return the largest number of states for a slice of ``duration`` s, by the maximum and the remaining work."""
        jumps = max(self.sets.max_exit_rate(self.states) * duration, 1.0)
        slices = (self.horizon - self.time) / duration
        merged = min(slices, MAX_SLICE_JUMPS / jumps)
        products = slices / merged * (math.sqrt(50.0 * jumps * merged) + PRODUCTS_PER_CHOICE)
        return min(self.max_states, max(self.work / products, 1.0))

    def _propagate(self, slice_: TimeSlice) -> _SliceEnd | None:
        """Return the masses at the end of a slice; None if rounding errors grow too much or the work is used up.

        The error is that of the series, of rounding in each product (a sum of as many terms as there are transitions
        into a state, with factors 1 - x that are sums over those out of it), of the weights, of sums, and of time.
        """
        states, values = slice_.states, slice_.values
        rate = self.sets.max_exit_rate(states)
        jumps = rate * slice_.duration
        if jumps == 0.0:
            return _SliceEnd(values, 0.0, 0.0, 0.0)
        weights = chebyshev_weights(jumps)
        columns = self.sets.columns(states, 1.0 / rate)
        current, previous, total = values.copy(), np.zeros(len(values)), weights.weights[0] * values
        sums, integrals = np.zeros(3), weights.integrals
        end_masses = integrals[0] * np.array([(columns.reach * current).sum(), (columns.miss * current).sum()])
        allowed_loss = max(slice_.allowed_loss, 0.1 * self.previous_loss if self.sets.full else 0.0)
        tolerance = max(SERIES_SHARE * allowed_loss, U)
        per_product = U * (2.0 * self.chain.largest_sum + 16.0)
        norms, rounding = [0.0, float(values.sum())], 0.0
        largest = max(columns.reach.max(), columns.miss.max())
        magnitude = (weights.weights[0] + integrals[0] * largest) * norms[1]
        for k in range(1, len(integrals) - 1):
            factor = 1.0 if k == 1 else 2.0
            self.sets.multiply((factor, weights.weights[k]), columns, current, previous, total, sums)
            current, previous = previous, current
            self.products += 1
            self.work -= len(values) + STATES_PER_PRODUCT
            rounding += integrals[k - 1] * per_product * (factor * norms[-1] + norms[-2])
            norms.append(float(sums[0]))
            end_masses += 2.0 * integrals[k] * sums[1:]
            magnitude += (weights.weights[k] + 2.0 * integrals[k] * largest) * norms[-1]
            series = integrals[k + 1] * norms[-1] + integrals[k] * (2.0 * norms[-1] + norms[-2])
            if rounding > MAX_AMPLIFICATION * per_product * jumps or self.work <= 0.0:
                return None
            if series <= tolerance:
                break
        else:
            return None
        negative = -float(total[total < 0.0].sum())
        terms = weights.error / U + BLOCK + len(values) / BLOCK + 2.0 * k
        error = series + rounding + U * (terms * magnitude + 8.0 * jumps)
        return _SliceEnd(
            np.maximum(total, 0.0),
            max(float(end_masses[0]), 0.0),
            max(float(end_masses[1]), 0.0),
            (error + negative) * (1.0 + (len(values) + k + 24) * U),
        )

    def _discard_states(self) -> None:
        """Discard the states of the chain without mass, and all rows, if they are many."""
        if self.chain.count <= MAX_STATES_PER_HELD_STATE * max(len(self.states), 1) + FIRST_STATE:
            return
        order = self.chain.keep(self.states)
        self.states = np.arange(FIRST_STATE, FIRST_STATE + len(order))
        self.values = self.values[order]
        self.chain.expand(self.states)
        self.sets.clear()
