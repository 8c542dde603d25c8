"""Finite sets of states of a chain, chosen by where mass flows, and the jump matrix on them.

The rows of the chain are found where they are asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hopflow.kernels import make_kernel
from markov.time.transients import moving_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    States = NDArray[np.int64]

__all__ = ["Columns", "GrowingChain", "Sets", "Slice", "empty_columns"]

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
