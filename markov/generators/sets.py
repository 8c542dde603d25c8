"""The rules run once for a whole set of states, split where Python would decide differently."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.columns import Column, UnsupportedError
from markov.computing.selections import Selection
from markov.generators.edges import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["CHUNK", "edges_by_sets", "edges_of"]

CHUNK = 1 << 17  # states that are looked at together: their columns stay in the cache
PROBED, PROBED_RUNS = 2048, 128  # states at random, and the sets that they may fall apart into
STATES_PER_RUN = 40  # that plain Python does in the time of a run on columns
DEFERRED = 0.3  # of the states: more are not left to plain Python


def edges_by_sets(calls: Calls, space: Space, seconds: float = math.inf) -> Edges | None:
    """Return the transitions out of all states of a space by running the rules on sets of them.

    None where the sets would be too small, or leave too many states to plain Python, to be faster: a few
    random states are tried first.

    Raises
    ------
    TimeoutError
        After ``seconds``.
    """
    deadline = time.perf_counter() + seconds
    if space.size > PROBED:
        some = np.sort(np.random.default_rng(4).choice(space.size, PROBED, replace=False))
        if edges_of(calls, space, some, PROBED // PROBED_RUNS) is None:
            return None
    found = []
    for first in range(0, space.size, CHUNK):
        part = edges_of(calls, space, np.arange(first, min(first + CHUNK, space.size)))
        if part is None:
            return None
        if time.perf_counter() > deadline:
            raise TimeoutError
        found.append(part)
    return Edges.joined(found)


def edges_of(
    calls: Calls, space: Space, numbers: NDArray[np.int64], per_run: int = STATES_PER_RUN
) -> Edges | None:
    """Return the transitions out of some states of a space.

    None where sets have fewer than ``per_run`` states in the mean, or too many are left to Python.
    """
    if not calls.takes_stand_ins:
        return None
    codes = space.unnumbered(numbers)
    found: list[tuple[Any, ...]] = []
    deferred: list[NDArray[np.int64]] = []
    runs = late = 0
    left = _Largest(_alike(space, codes))
    while left:
        places = left.pop()
        run = _Run(calls, space, codes[:, places])
        moves = run.moves()
        run.selection.closed = True
        left.add(places[others] for others in run.selection.left)
        here = places[run.selection.states]
        runs += 1
        if moves is None:
            deferred.append(numbers[here])
            late += len(here)
        else:
            own = numbers[here]
            good = run.sound(moves)
            if not good.all():
                deferred.append(own[~good])
                late += int((~good).sum())
            found += run.edges(own, moves, good)
        too_small = runs > len(numbers) // per_run and bool(left)
        if too_small or late > max(DEFERRED * len(numbers), STATES_PER_RUN):
            return None
    none = np.zeros(0, dtype=np.int64)
    sources, targets, rates = (np.concatenate([[], *part]) for part in _columns(found))
    return Edges(
        sources.astype(np.int64),
        targets.astype(np.int64),
        rates,
        np.concatenate([none, *deferred]),
    )


class _Largest:
    """Sets of states, the largest first: if those fall apart, the others will."""

    def __init__(self, sets: Iterable[NDArray[np.int64]]) -> None:
        self._heap: list[tuple[int, int, NDArray[np.int64]]] = []
        self._count = 0
        self.add(sets)

    def add(self, sets: Iterable[NDArray[np.int64]]) -> None:
        for places in sets:
            heapq.heappush(self._heap, (-len(places), self._count, places))
            self._count += 1

    def pop(self) -> NDArray[np.int64]:
        return heapq.heappop(self._heap)[2]

    def __bool__(self) -> bool:
        return bool(self._heap)


def _columns(found: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [[part[k] for part in found] for k in range(3)]


def _alike(space: Space, codes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the places of states that agree in all components that are not whole numbers."""
    number = np.zeros(codes.shape[1], dtype=np.int64)
    for component, code, size in zip(space.components, codes, space.shape, strict=True):
        if not isinstance(component.values, range):
            number = number * size + code
    order = np.argsort(number, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


class _Move(NamedTuple):
    """One transition of the states of a run: change of the number, whether inside, and the rate."""

    step: NDArray[np.int64]
    inside: NDArray[np.bool_]
    rate: NDArray[np.float64]


class _Run:
    """One run of the rules on the states with some codes, shape (components, states)."""

    def __init__(self, calls: Calls, space: Space, codes: NDArray[np.int64]) -> None:
        self.calls, self.space = calls, space
        self.selection = Selection(codes.shape[1])
        self.values = [
            Column(self.selection, code, c.low, c.low + c.count - 1)
            if isinstance(c.values, range)
            else c.values[int(code[0])]
            for c, code in zip(space.components, codes, strict=True)
        ]

    def moves(self) -> list[_Move] | None:
        """Return the transitions of the states that are left in the end; None: Python is to say."""
        state = self.calls.with_names(self.space.joined(self.values))
        before = UnsupportedError.raised
        try:
            found = [(target, rate) for target, rate in self.calls.rules(state, self.calls.q)]
            moves = [self._move(target, rate) for target, rate in found]
        except (UnsupportedError, Exception):  # noqa: BLE001  # plain Python is to say
            return None
        return moves if UnsupportedError.raised == before else None  # a rule may have caught it

    def _move(self, target: Any, rate: Any) -> _Move:
        count = len(self.selection.states)
        step = np.zeros(count, dtype=np.int64)
        inside = np.ones(count, dtype=bool)
        if type(target) is not self.calls.make:
            target = self.space.checked(target)
        values = self.space.flat(target)
        rows = zip(self.space.components, self.space.weights, self.values, values, strict=True)
        for component, weight, own, value in rows:
            if value is own:
                continue
            if not isinstance(component.values, range):
                change = component.values.index(value) - component.values.index(own)
                step += weight * change
                continue
            new = _whole(value, count)
            inside &= (new >= component.low) & (new < component.low + component.count)
            step += weight * (new - own.values())
        return _Move(step, inside, _rates(rate, count))

    def sound(self, moves: list[_Move]) -> NDArray[np.bool_]:
        """Return for which states every rate is a rate, and every target in the space."""
        good = np.ones(len(self.selection.states), dtype=bool)
        for move in moves:
            good &= (move.rate >= 0.0) & (move.rate < np.inf)
            good &= move.inside | (move.rate == 0.0)
        return good

    def edges(
        self, own: NDArray[np.int64], moves: list[_Move], good: NDArray[np.bool_]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield sources, targets and rates of each transition that happens."""
        for move in moves:
            happens = good & (move.rate > 0.0)
            if happens.all():
                yield own, own + move.step, move.rate
            else:
                yield own[happens], (own + move.step)[happens], move.rate[happens]


def _whole(value: Any, count: int) -> NDArray[np.int64]:
    """Return the value of a component of a target as whole numbers.

    Raises
    ------
    ValueError
        For any others: plain Python is to look at them.
    """
    if type(value) is Column:
        found = value.values()
        if found.dtype.kind == "b":
            return found.astype(np.int64)
        if (
            found.dtype.kind == "f"
            and np.all(found == np.rint(found))
            and np.all(abs(found) < 2**53)
        ):
            return found.astype(np.int64)
        if found.dtype.kind != "i":
            raise ValueError("not whole")
        return found
    if not (isinstance(value, (int, float, np.integer)) and value == int(value)):
        raise ValueError("not whole")
    return np.full(count, int(value), dtype=np.int64)


def _rates(rate: Any, count: int) -> NDArray[np.float64]:
    if type(rate) is Column:
        found = rate.values()
        if found.dtype.kind == "O":
            return np.array([float(value) for value in found])
        return found.astype(np.float64)
    if isinstance(rate, (str, bytes)):
        raise TypeError("a rate is a number")
    return np.full(count, float(rate))
