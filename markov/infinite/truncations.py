"""Finite sets of states that grow, and the rates between and out of them."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.matrices import from_edges, rank_of
from markov.computing.memory import StateLimitError, check_room
from markov.generators.built_chains import Built
from markov.generators.enumeration import BYTES_PER_STATE, BYTES_PER_TRANSITION, Rows
from markov.infinite.bounds import FiniteSet, most_merged
from markov.models.spaces import Space

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.generators.calls import Calls

    Vector = NDArray[np.float64]

__all__ = ["Projection", "Truncation", "Truncations"]


class Projection(NamedTuple):
    """A finite set of states, and the chain until it leaves the set or stops.

    Attributes
    ----------
    built
        The n states, those in which the chain stops included, and the rates between them.
    inside
        Whether the chain goes on in each state, shape (n,).
    Q
        Generator on these states and, after them, all others that are entered; shape (n + k, n + k). What
        leaves the set, or stops, stays where it is.
    numbers
        Of all n + k states in `Truncations.states`.
    """

    built: Built
    inside: NDArray[np.bool_]
    Q: sp.csr_matrix
    numbers: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of states in the set, n."""
        return len(self.inside)


class Truncation(NamedTuple):
    """A finite set of states, and the generator on it with what leaves it led back to one state.

    Attributes
    ----------
    built
        States and generator, as `MarkovChain.of_built` takes them.
    leaving
        Rate out of the set from each state, shape (n,), 1/s.
    numbers
        Numbers of the states in `Truncations.states`, shape (n,).
    anchor
        Place of the state to which what leaves the set is led.
    edge
        Numbers of the states that are entered from the set.
    merged
        Largest number of rates from one state that were added up, as they leave the set or lead to the anchor.
    """

    built: Built
    leaving: Vector
    numbers: NDArray[np.int64]
    anchor: int
    edge: NDArray[np.int64]
    merged: int

    @property
    def rates(self) -> FiniteSet:
        """The rates in it."""
        return FiniteSet(self.built.Q, self.leaving, self.anchor, self.merged)


class Truncations:
    """States found by running rules, each once, those with small components first.

    Parameters
    ----------
    calls
        The rules.
    seeds
        States to begin with.
    heights
        How large some states are: sets have those below a level.
    most
        Largest number of states; with more, TooLargeError.
    stops
        Whether the chain stops in a state: there the rules never run. None: it stops nowhere.
    """

    def __init__(
        self,
        calls: Calls,
        seeds: Iterable[Any],
        heights: Callable[[Sequence[Any]], Vector],
        most: int,
        stops: Callable[[Any], bool] | None = None,
    ) -> None:
        self.calls, self.most, self.stops = calls, most, stops
        self.heights_of = heights
        self.states: list[Any] = []
        self._index: dict[Any, int] = {}
        self._heights = array("d")
        self._expanded: list[int] = []
        self._waiting: list[int] = []
        self._ends, self._targets, self._rates = array("q", [0]), array("q"), array("d")
        self.add(seeds)

    def add(self, states: Iterable[Any]) -> None:
        """Add states to those that are seen."""
        first = len(self.states)
        for state in states:
            if state not in self._index:
                self._index[state] = len(self.states)
                self.states.append(state)
        self._measure(first)

    def include(self, states: Sequence[Any]) -> None:
        """Run the rules in some states, whatever their height."""
        self.add(states)
        waiting = set(self._waiting)
        first = len(self.states)
        chosen = [number for state in states if (number := self._index[state]) in waiting]
        for number in chosen:
            self._expand(number)
        done = set(chosen)
        self._waiting = [number for number in self._waiting if number not in done]
        self._measure(first)

    def __contains__(self, state: Any) -> bool:
        return state in self._index

    def _measure(self, first: int) -> None:
        fresh = self.states[first:]
        if fresh:
            self._heights.extend(self.heights_of(fresh).tolist())
            self._waiting.extend(filter(self._goes_on, range(first, len(self.states))))

    def _goes_on(self, number: int) -> bool:
        """Whether the chain does not stop in a state."""
        return self.stops is None or not self.stops(self.states[number])

    def number_of(self, state: Any) -> int:
        """Return the number of a state that was seen; KeyError for others."""
        return self._index[state]

    @property
    def is_closed(self) -> bool:
        """Whether no state is left in which the rules did not run, though the chain goes on there."""
        return not self._waiting

    def reshape(self, heights: Callable[[Sequence[Any]], Vector]) -> None:
        """Take other heights from now on; the sets only grow."""
        self.heights_of = heights
        self._heights = array("d", heights(self.states).tolist())

    def reach(self, level: float) -> int:
        """Run the rules in all states found whose height is at most ``level``; return how many states that are."""
        while True:
            heights = self._heights
            wave = [number for number in self._waiting if heights[number] <= level]
            if not wave:
                return len(self._expanded)
            self._waiting = [number for number in self._waiting if heights[number] > level]
            first = len(self.states)
            for number in wave:
                self._expand(number)
            self._measure(first)
            self._check_size()

    def _expand(self, number: int) -> None:
        state, calls, index = self.states[number], self.calls, self._index
        try:
            for target, rate in calls.rules(state, calls.q):
                if rate > 0.0:
                    place = index.get(target)
                    if place is None:
                        target = calls.known(target)
                        place = index.setdefault(target, len(self.states))
                        if place == len(self.states):
                            self.states.append(target)
                    self._targets.append(place)
                    self._rates.append(rate)
                elif rate != 0.0:
                    raise ValueError("a rate is negative or not a number")
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            found = calls.refused(state, error)
            raise found from found.__cause__
        self._ends.append(len(self._rates))
        self._expanded.append(number)

    def _check_size(self) -> None:
        name, count = self.calls.name, len(self.states)
        room = BYTES_PER_STATE * count + BYTES_PER_TRANSITION * len(self._rates)
        if len(self._expanded) > self.most:
            raise StateLimitError(name, self.most)
        check_room(f"{name}: {count} states", room)

    def follow(self, inflow: Mapping[int, float], count: int) -> None:
        """Run the rules in up to ``count`` more states, those first into which most is estimated to flow.

        Parameters
        ----------
        inflow
            How much flows into states that wait for the rules, by number; from there on it is estimated by the
            jump chain.
        count
            > 0.
        """
        first, waiting = len(self.states), set(self._waiting)
        seen = first
        estimate, done = dict(inflow), set[int]()
        heap = [(-mass, number) for number, mass in inflow.items() if number in waiting]
        heapq.heapify(heap)
        while heap and len(done) < count:
            mass, number = heapq.heappop(heap)
            if number in done or -mass < estimate[number]:
                continue
            self._expand(number)
            done.add(number)
            waiting.update(n for n in range(seen, len(self.states)) if self._goes_on(n))
            seen = len(self.states)
            part = slice(self._ends[-2], self._ends[-1])
            whole = math.fsum(self._rates[part])
            for target, rate in zip(self._targets[part], self._rates[part], strict=True):
                if target in waiting and target not in done:
                    estimate[target] = estimate.get(target, 0.0) - mass * rate / whole
                    heapq.heappush(heap, (-estimate[target], target))
        self._measure(first)
        self._waiting = [number for number in self._waiting if number not in done]
        self._check_size()

    def truncation(self, anchor: Any = None) -> Truncation:
        """Return the states that the rules have run in, what leaves them led back to ``anchor``.

        None: to the lowest state.
        """
        numbers = np.array(self._expanded, dtype=np.int64)
        heights = np.array(self._heights)
        place = np.full(len(self.states), -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        to = int(np.argmin(heights[numbers])) if anchor is None else int(place[self._index[anchor]])
        ends = np.array(self._ends)
        seen = np.array(self._targets, dtype=np.int64)
        targets, rates = place[seen], np.array(self._rates)
        out = targets < 0
        sources = np.repeat(np.arange(len(numbers)), np.diff(ends))
        leaving = np.bincount(sources[out], rates[out], len(numbers)).astype(np.float64)
        edge = np.unique(seen[out])
        targets[out] = to
        merged = most_merged(sources, targets == to, out)
        states = [self.states[number] for number in self._expanded]
        space = Space.found(self.calls.model.State, states)
        codes = space.codes(states)
        order = space.order_of(codes)
        Q = Rows(ends, targets, rates).generator(None if order is None else rank_of(order))
        if order is not None:
            to = int(rank_of(order)[to])
            codes, leaving, numbers = codes[:, order], leaving[order], numbers[order]
        how = f"{len(numbers)} of infinitely many states"
        return Truncation(Built(space, codes, Q, how), leaving, numbers, to, edge, merged)

    def projection(self) -> Projection:
        """Return the states that the rules have run in, and those in which the chain stops, as a set."""
        waiting = np.zeros(len(self.states), dtype=bool)
        waiting[self._waiting] = True
        expanded = np.array(self._expanded, dtype=np.int64)
        seen = np.array(self._targets, dtype=np.int64)
        entered = np.unique(seen[waiting[seen]])
        stopped = ~waiting
        stopped[expanded] = False
        numbers = np.concatenate([expanded, np.flatnonzero(stopped)])
        states, size = [self.states[number] for number in numbers], len(numbers)
        space = Space.found(self.calls.model.State, states)
        codes = space.codes(states)
        order = space.order_of(codes)
        if order is not None:
            codes, numbers = codes[:, order], numbers[order]
        numbers = np.concatenate([numbers, entered])
        place = np.full(len(self.states), -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        sources = np.repeat(place[expanded], np.diff(np.array(self._ends)))
        targets, rates = place[seen], np.array(self._rates)
        Q = from_edges(sources, targets, rates, len(numbers))
        kept = targets < size
        between = from_edges(sources[kept], targets[kept], rates[kept], size)
        inside = np.zeros(size, dtype=bool)
        inside[place[expanded]] = True
        how = f"{size} of infinitely many states"
        return Projection(Built(space, codes, between, how), inside, Q, numbers)
