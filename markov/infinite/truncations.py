"""Growing finite sets of states of an infinite chain, and the rates between and out of them."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.matrices import from_edges, rank_of
from markov.computing.resources import StateLimitError, check_room
from markov.generators.building import Built
from markov.generators.plain import BYTES_PER_STATE, BYTES_PER_TRANSITION, Rows
from markov.infinite.bounds import FiniteSet, max_merged_rates
from markov.models.spaces import Space

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.generators.plain import Calls
    from markov.infinite.lyapunov import Lyapunov

    Vector = NDArray[np.float64]

__all__ = [
    "FIRST_STATES",
    "LEVEL_GROWTH",
    "MIN_SET_GROWTH",
    "Projection",
    "Truncation",
    "Truncations",
    "include_inner",
    "next_level",
]

FIRST_STATES = 60
LEVEL_GROWTH = 1.4  # factor of the level without a prediction
MAX_LEVEL_GROWTH = 2.0
TARGET_BOUND_RATIO = 0.2  # predicted bound over the tolerance
MIN_SET_GROWTH = 1.3  # factor of the number of states


class Projection(NamedTuple):
    """A finite set of states, and the chain until it leaves the set or stops, with absorbing states outside.

    Attributes
    ----------
    built
        The n states, including states in which the chain stops, and the rates between them.
    inside
        Whether the chain goes on in a state, shape (n,).
    Q
        Generator on these states and, after them, all k other states that are entered; shape (n + k, n + k). States
        outside of the set, and states in which the chain stops, are absorbing.
    numbers
        Numbers of all n + k states in `Truncations.states`.
    """

    built: Built
    inside: NDArray[np.bool_]
    Q: sp.csr_matrix
    numbers: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of states in the set, n, without those outside."""
        return len(self.inside)


class Truncation(NamedTuple):
    """A finite set of states, and the generator on it with transitions out of it led back to one state.

    Attributes
    ----------
    built
        States and generator, as `MarkovChain.of_built` takes them.
    leaving
        Rate out of the set from each state, shape (n,), 1/s.
    numbers
        Numbers of the states in `Truncations.states`, shape (n,).
    anchor
        Index of the state to which transitions out of the set lead.
    edge
        Numbers of the states that are entered from the set.
    merged
        Largest number of rates from one state that were added up, since they leave the set or lead to the anchor.
    """

    built: Built
    leaving: Vector
    numbers: NDArray[np.int64]
    anchor: int
    edge: NDArray[np.int64]
    merged: int

    @property
    def rates(self) -> FiniteSet:
        """The rates in the set and out of it, as `FiniteSet`."""
        return FiniteSet(self.built.Q, self.leaving, self.anchor, self.merged)


class Truncations:
    """A growing finite set of states of an infinite chain, by running the rules once per state, in order of height.

    Parameters
    ----------
    calls
        The rules.
    seeds
        States to begin with.
    heights
        Returns the heights of states. A set has the states up to a level.
    max_states
        Largest number of states; above it TooLargeError.
    stops
        Whether the chain stops in a state, where the rules are not run. None: it never stops.
    """

    def __init__(
        self,
        calls: Calls,
        seeds: Iterable[Any],
        heights: Callable[[Sequence[Any]], Vector],
        max_states: int,
        stops: Callable[[Any], bool] | None = None,
    ) -> None:
        self.calls, self.max_states, self.stops = calls, max_states, stops
        self.heights_of = heights
        self.states: list[Any] = []
        self._index: dict[Any, int] = {}
        self._heights = array("d")
        self._expanded: list[int] = []
        self._waiting: list[int] = []
        self._row_stops, self._targets, self._rates = array("q", [0]), array("q"), array("d")
        self.add(seeds)

    def add(self, states: Iterable[Any]) -> None:
        """Add states to the list of states, in which the rules have not run yet."""
        first = len(self.states)
        for state in states:
            if state not in self._index:
                self._index[state] = len(self.states)
                self.states.append(state)
        self._enqueue(first)

    def include(self, states: Sequence[Any]) -> None:
        """Run the rules in these states, of any height, so that they belong to the set."""
        self.add(states)
        waiting = set(self._waiting)
        first = len(self.states)
        chosen = [number for state in states if (number := self._index[state]) in waiting]
        for number in chosen:
            self._expand(number)
        done = set(chosen)
        self._waiting = [number for number in self._waiting if number not in done]
        self._enqueue(first)

    def __contains__(self, state: Any) -> bool:
        return state in self._index

    def _enqueue(self, first: int) -> None:
        """Compute the heights of states number ``first`` and up, and queue those that the rules are to run in."""
        new_states = self.states[first:]
        if new_states:
            self._heights.extend(self.heights_of(new_states).tolist())
            self._waiting.extend(filter(self._goes_on, range(first, len(self.states))))

    def _goes_on(self, number: int) -> bool:
        """Return whether the chain does not stop in the state with this number."""
        return self.stops is None or not self.stops(self.states[number])

    def number_of(self, state: Any) -> int:
        """Return the number of a state in ``states``; KeyError if it has none yet."""
        return self._index[state]

    @property
    def is_closed(self) -> bool:
        """Whether the rules have run in all states reached, except where the chain stops."""
        return not self._waiting

    def reshape(self, heights: Callable[[Sequence[Any]], Vector]) -> None:
        """Replace the height function; the set keeps all its states."""
        self.heights_of = heights
        self._heights = array("d", heights(self.states).tolist())

    def reach(self, level: float) -> int:
        """Run the rules in all states of height <= ``level``, new ones too; return in how many states they have run."""
        while True:
            heights = self._heights
            wave = [number for number in self._waiting if heights[number] <= level]
            if not wave:
                return len(self._expanded)
            self._waiting = [number for number in self._waiting if heights[number] > level]
            first = len(self.states)
            for number in wave:
                self._expand(number)
            self._enqueue(first)
            self._check_size()

    def _expand(self, number: int) -> None:
        """Run the rules in the state with this number, and store its transitions."""
        state, calls, index = self.states[number], self.calls, self._index
        try:
            for target, rate in calls.rules(state, calls.q):
                if rate > 0.0:
                    target_number = index.get(target)
                    if target_number is None:
                        target = calls.as_state(target)
                        target_number = index.setdefault(target, len(self.states))
                        if target_number == len(self.states):
                            self.states.append(target)
                    self._targets.append(target_number)
                    self._rates.append(rate)
                elif rate != 0.0:
                    raise ValueError("a rate is negative or not a number")
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            refusal = calls.error_in_state(state, error)
            raise refusal from refusal.__cause__
        self._row_stops.append(len(self._rates))
        self._expanded.append(number)

    def _check_size(self) -> None:
        """Raise StateLimitError for more states than allowed, TooLargeError if they do not fit into memory."""
        name, count = self.calls.name, len(self.states)
        room = BYTES_PER_STATE * count + BYTES_PER_TRANSITION * len(self._rates)
        if len(self._expanded) > self.max_states:
            raise StateLimitError(name, self.max_states)
        check_room(f"{name}: {count} states", room)

    def follow(self, inflow: Mapping[int, float], count: int) -> None:
        """Run the rules in up to ``count`` more states, those with the largest estimated inflow first.

        Parameters
        ----------
        inflow
            Inflow of states that wait for the rules, by number. The inflow of later states is estimated by the
            jump chain.
        count
            Number of states, > 0.
        """
        first, waiting = len(self.states), set(self._waiting)
        n_states = first
        estimate, done = dict(inflow), set[int]()
        heap = [(-mass, number) for number, mass in inflow.items() if number in waiting]
        heapq.heapify(heap)
        while heap and len(done) < count:
            mass, number = heapq.heappop(heap)
            if number in done or -mass < estimate[number]:
                continue
            self._expand(number)
            done.add(number)
            waiting.update(n for n in range(n_states, len(self.states)) if self._goes_on(n))
            n_states = len(self.states)
            part = slice(self._row_stops[-2], self._row_stops[-1])
            exit_rate = math.fsum(self._rates[part])
            for target, rate in zip(self._targets[part], self._rates[part], strict=True):
                if target in waiting and target not in done:
                    estimate[target] = estimate.get(target, 0.0) - mass * rate / exit_rate
                    heapq.heappush(heap, (-estimate[target], target))
        self._enqueue(first)
        self._waiting = [number for number in self._waiting if number not in done]
        self._check_size()

    def truncation(self, anchor: Any = None) -> Truncation:
        """Return the current set as a closed chain, with transitions out of it led back to ``anchor``.

        None: to the lowest state.
        """
        numbers = np.array(self._expanded, dtype=np.int64)
        heights = np.array(self._heights)
        index = np.full(len(self.states), -1, dtype=np.int64)
        index[numbers] = np.arange(len(numbers))
        to = int(np.argmin(heights[numbers])) if anchor is None else int(index[self._index[anchor]])
        row_stops = np.array(self._row_stops)
        target_numbers = np.array(self._targets, dtype=np.int64)
        targets, rates = index[target_numbers], np.array(self._rates)
        out = targets < 0
        sources = np.repeat(np.arange(len(numbers)), np.diff(row_stops))
        leaving = np.bincount(sources[out], rates[out], len(numbers)).astype(np.float64)
        edge = np.unique(target_numbers[out])
        targets[out] = to
        merged = max_merged_rates(sources, targets == to, out)
        states = [self.states[number] for number in self._expanded]
        space = Space.of_states(self.calls.model.State, states)
        codes = space.codes(states)
        order = space.sort_order(codes)
        Q = Rows(row_stops, targets, rates).generator(None if order is None else rank_of(order))
        if order is not None:
            to = int(rank_of(order)[to])
            codes, leaving, numbers = codes[:, order], leaving[order], numbers[order]
        how = f"{len(numbers)} of infinitely many states"
        return Truncation(Built(space, codes, Q, how), leaving, numbers, to, edge, merged)

    def projection(self) -> Projection:
        """Return the current set as a chain that is absorbed outside of it or where it stops."""
        waiting = np.zeros(len(self.states), dtype=bool)
        waiting[self._waiting] = True
        expanded = np.array(self._expanded, dtype=np.int64)
        target_numbers = np.array(self._targets, dtype=np.int64)
        entered = np.unique(target_numbers[waiting[target_numbers]])
        stopped = ~waiting
        stopped[expanded] = False
        numbers = np.concatenate([expanded, np.flatnonzero(stopped)])
        states, size = [self.states[number] for number in numbers], len(numbers)
        space = Space.of_states(self.calls.model.State, states)
        codes = space.codes(states)
        order = space.sort_order(codes)
        if order is not None:
            codes, numbers = codes[:, order], numbers[order]
        numbers = np.concatenate([numbers, entered])
        index = np.full(len(self.states), -1, dtype=np.int64)
        index[numbers] = np.arange(len(numbers))
        sources = np.repeat(index[expanded], np.diff(np.array(self._row_stops)))
        targets, rates = index[target_numbers], np.array(self._rates)
        Q = from_edges(sources, targets, rates, len(numbers))
        in_set = targets < size
        between = from_edges(sources[in_set], targets[in_set], rates[in_set], size)
        inside = np.zeros(size, dtype=bool)
        inside[index[expanded]] = True
        how = f"{size} of infinitely many states"
        return Projection(Built(space, codes, between, how), inside, Q, numbers)


def include_inner(sets: Truncations, lyapunov: Lyapunov) -> None:
    """Run the rules in all states where the drift of V was not verified, so that ``sets`` includes them.

    Changes of a component may have a common divisor. States that the start cannot lead to for that reason are left out.
    """
    hull, layout = lyapunov.hull, lyapunov.hull.layout
    divisors = [0] * len(layout.free)
    for parts in hull.parts.values():
        for part in parts:
            for move in part.result:
                for k, change in enumerate(hull.component_changes(move, part)):
                    divisors[k] = math.gcd(divisors[k], change)
    start = layout.split(sets.states[0])[1]
    inner = []
    for mode, ranges in lyapunov.inner():
        for components in product(*ranges):
            state = layout.calls.as_state(layout.state(mode, components))
            triples = zip(layout.split(state)[1], start, divisors, strict=True)
            if all((a - b) % (divisor or 1) == 0 for a, b, divisor in triples):
                inner.append(state)
    sets.reach(float(sets.heights_of([sets.states[0]])[0]))
    sets.include(inner)


def next_level(
    history: list[tuple[float, float]],
    tolerance: float,
    *,
    useful: float = 1.0,
    largest: float = MAX_LEVEL_GROWTH,
) -> float:
    """Return the level of the next set, extrapolated from the logarithms of previous bounds.

    Parameters
    ----------
    history
        Levels and bounds of the previous sets.
    tolerance
        The requested bound.
    useful
        Bounds below this count. Without two falling bounds below it, the level grows by a fixed factor.
    largest
        Maximum factor of the level.
    """
    level, bound = history[-1]
    if len(history) > 1 and 0.0 < bound < history[-2][1] < useful and level > history[-2][0]:
        previous_level, previous_bound = history[-2]
        slope = (math.log(bound) - math.log(previous_bound)) / (level - previous_level)
        predicted = level + math.log(TARGET_BOUND_RATIO * tolerance / bound) / slope
        return min(max(predicted, 1.05 * level), largest * level)
    return LEVEL_GROWTH * level
