"""States found one after the other by running the rules as they stand, and the rates between them.

Rules that give another answer when they are asked again (random numbers, the time, counters) are refused.
"""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.errors import RuleError, location_of, rule_error
from markov.computing.matrices import from_edges, row_numbers
from markov.computing.memory import StateLimitError, check_room
from markov.generators.calls import CHANGED, Calls, written

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["Enumeration", "Rows", "refuse_changed", "refuse_changing", "some_of"]

BURST = 4096  # states between two checks of the memory
BYTES_PER_STATE, BYTES_PER_TRANSITION = 200.0, 16.0
ASKED = 32  # states that are asked again
SHOWN = 3  # transitions of an answer in a message
HINT = (
    "random numbers, the time, counters and iterators cannot be part of a rule: "
    "make what changes a component of the state or a parameter"
)
Answer = list[tuple[Any, float]]


class Rows(NamedTuple):
    """Rates out of numbered states, not yet sorted.

    Attributes
    ----------
    indptr
        Where the transitions of each state begin, shape (states + 1,).
    targets, rates
        Numbers of the states that transitions lead to, and rates in 1/s, shape (transitions,).
    """

    indptr: NDArray[np.int64]
    targets: NDArray[np.integer[Any]]
    rates: NDArray[np.float64]

    def generator(self, rank: NDArray[np.int64] | None = None) -> sp.csr_matrix:
        """Return the generator matrix, shape (states, states).

        Rates to one target add up; those of a state to itself are dropped. ``rank`` has the number that each state
        gets, shape (states,); None: as it is.
        """
        n = len(self.indptr) - 1
        sources, targets = row_numbers(self.indptr), self.targets
        if rank is not None:
            sources, targets = rank[sources], rank[targets]
        return from_edges(sources, targets, self.rates, n)


class Enumeration:
    """Breadth-first search for the states of a model, which can be continued.

    Parameters
    ----------
    calls
        The rules.
    states
        Those to begin with: the start, or all states of a space.
    closed
        Whether no other states are allowed.
    most
        Largest number of states; with more, TooLargeError.

    Attributes
    ----------
    states
        Those found, in the order of their discovery.
    done
        For how many of them the rules have run.
    """

    def __init__(self, calls: Calls, states: Iterable[Any], *, closed: bool = False, most: int = 2**31 - 1) -> None:
        self.calls, self.most = calls, most
        self.states = list(states)
        self.done = self._weighed = 0
        self._index = {state: k for k, state in enumerate(self.states)}
        self._ends, self._targets, self._rates = array("q", [0]), array("q"), array("d")
        self._add = self._refuse if closed else self._adder(calls.space)

    def run(self, count: int) -> bool:
        """Run the rules for at most ``count`` more states; return whether all are done.

        Raises
        ------
        RuleError
            Naming the state, the file and the line.
        TooLargeError
            When more states would not fit, or are more than ``most``.
        """
        until = self.done + count
        with _no_collection():
            while self.done < min(until, len(self.states)):
                self._burst(min(until, self.done + BURST))
                self._check_size()
        return self.done == len(self.states)

    def _burst(self, stop: int) -> None:
        rules, q, known, add = self.calls.rules, self.calls.q, self._index.get, self._add
        push_target, push_rate = self._targets.append, self._rates.append
        state: Any = None
        try:
            for state in self.states[self.done : stop]:
                for target, rate in rules(state, q):
                    if rate > 0.0:
                        try:
                            number = known(target)
                        except TypeError:  # a mapping, or nothing that a state is made of
                            number = None
                        push_target(add(target) if number is None else number)
                        push_rate(rate)
                    elif rate != 0.0:
                        raise ValueError("a rate is negative or not a number")
                self._ends.append(len(self._rates))
                self.done += 1
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            found = self.calls.refused(state, error)
            raise found from found.__cause__

    def _adder(self, space: Space | None) -> Callable[[Any], int]:
        """Return a function that numbers target states, adding those not found before."""
        index, states, make = self._index, self.states, self.calls.make
        admit: Callable[[Any], bool] = lambda _state: False
        if space is not None:
            admit = space.admits()
        known, build = self.calls.known, None if make is None else make._make

        def add(target: Any) -> int:
            if not isinstance(target, tuple) or not admit(target):
                target = known(target)
                if (number := index.get(target)) is not None:
                    return number
            elif type(target) is not make and build is not None:
                target = build(target)
            number = index[target] = len(states)
            states.append(target)
            return number

        return add

    def _refuse(self, target: Any) -> int:
        number = self._index.get(self.calls.known(target))
        if number is None:
            raise ValueError("the target is outside the space")
        return number

    def _check_size(self) -> None:
        name, count = self.calls.name, len(self.states)
        if count > self.most:
            raise StateLimitError(name, self.most)
        if self.done >= self._weighed + BURST:
            self._weighed = self.done
            room = BYTES_PER_STATE * count + BYTES_PER_TRANSITION * len(self._rates)
            check_room(f"{name}: more than {count} reachable states", room)

    def answers(self, places: Iterable[int]) -> Iterator[tuple[Any, list[tuple[Any, float]]]]:
        """Yield some of the states that are done, with the transitions found."""
        for k in places:
            row = slice(self._ends[k], self._ends[k + 1])
            targets = [self.states[number] for number in self._targets[row]]
            yield self.states[k], list(zip(targets, self._rates[row], strict=True))

    def rows(self) -> Rows:
        """Return the rates out of the states that are done."""
        ends = np.frombuffer(self._ends, dtype=np.int64)
        rates = np.frombuffer(self._rates, dtype=np.float64)
        return Rows(ends, np.frombuffer(self._targets, dtype=np.int64), rates)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch the search for cyclic garbage off: there is none, and it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def some_of(count: int) -> list[int]:
    """Return the places of some of the states that were asked: the first, twice, the last, and others.

    Of a few states each several times: two of them give random answers again by chance otherwise.
    """
    if count <= ASKED:
        each = [0, *range(count)]
        return (each * -(-ASKED // len(each)))[: max(ASKED, len(each))]
    others = np.random.default_rng(6).integers(count, size=ASKED - 3).tolist()
    return [0, 0, count - 1, *others]


def refuse_changed(calls: Calls, asked: Iterable[tuple[Any, Answer]]) -> None:
    """Raise RuleError where rules do not give the answer again that they gave before.

    Parameters
    ----------
    calls
        The rules.
    asked
        States, and the transitions out of them: targets as states, and rates > 0.
    """
    for state, first in asked:
        try:
            found = [pair for pair in calls.rules(state, calls.q) if pair[1] != 0.0]
            if found == first:
                continue
            second = _as_answer(calls, found)
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            said = f"{calls.name}: {written(state)}: {CHANGED}: first {_shown(first)}"
            raised = rule_error(error, calls.rules, f"{said}, then it raises")
            raise raised from raised.__cause__
        if Counter(first) != Counter(second):
            answers = f"first {_shown(first)}, then {_shown(second)}"
            said = f"{calls.name}: {written(state)}: {CHANGED}: {answers}"
            raise RuleError.at(location_of(calls.rules), said, HINT)


def refuse_changing(calls: Calls, states: Iterable[Any]) -> None:
    """Raise RuleError where rules give two answers for one of some states in which they do not go wrong."""
    found = []
    for state in map(calls.known, states):
        with suppress(Exception):  # what is wrong with a state is said where it counts
            found.append((state, _as_answer(calls, calls.rules(state, calls.q))))
    refuse_changed(calls, found[:1] + found)


def _as_answer(calls: Calls, pairs: Iterable[tuple[Any, Any]]) -> Answer:
    return [(calls.known(target), float(rate)) for target, rate in pairs if rate != 0.0]


def _shown(answer: Answer) -> str:
    shown = [f"{written(target)} at rate {rate!r}" for target, rate in answer[:SHOWN]]
    if len(answer) > SHOWN:
        shown.append(f"{len(answer) - SHOWN} more")
    return f"[{', '.join(shown)}]"
