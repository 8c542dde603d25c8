"""The rules of a model as plain Python, which defines their meaning: calls, a search for states, comparisons.

Rules that give another answer when they are called again (random numbers, the time, counters) are refused.
"""

from __future__ import annotations

import functools
import gc
import math
import operator
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import count_of
from hopflow.errors import RuleError, location_of, rule_error
from hopflow.fork_safety import cached_property
from markov.computing.matrices import from_edges, row_numbers
from markov.computing.resources import StateLimitError, check_room
from markov.generators.standins import asks_for_identity
from markov.models.rules import ChainModel
from markov.models.spaces import fields_of, format_state, refuse_unhashable

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = [
    "BYTES_PER_STATE",
    "BYTES_PER_TRANSITION",
    "Calls",
    "Edges",
    "Enumeration",
    "Rows",
    "describe_difference",
    "edges_by_python",
    "first_disagreement",
    "indices_to_repeat",
    "rates_by_source",
    "refuse_changed_answers",
    "refuse_changing_rules",
]

PAIRS = "yield (target, rate) pairs"
CHANGED = "rules give another answer when asked again"
RATE = "a rate must be a finite number >= 0"
HINT = (
    "random numbers, the time, counters and iterators cannot be part of a rule: "
    "make what changes a component of the state or a parameter"
)
BURST = 4096
"""States between two checks of the memory."""
BYTES_PER_STATE, BYTES_PER_TRANSITION = 200.0, 16.0
REPEATED_STATES = 32
"""States in which the rules are called again."""
SHOWN_TRANSITIONS = 3
"""Transitions in the message about an answer."""
ROUNDING = 1e-13
"""Relative difference of rates that count as equal: sums in another order."""


# Calls


class Calls:
    """The rules of a model, ready to be called with a state, and the validation of what they yield.

    Parameters
    ----------
    model
        Its rules may be a static method, a method with ``self``, or take the state alone.
    space
        The allowed states, or None if every state is.

    Attributes
    ----------
    name
        Name of the model, for messages.
    rules, q
        ``rules(s, q)`` returns the transitions out of a state ``s``.
    make
        Class of the states that rules are called with: the user's ``State``, with a faster ``_replace``. None if a
        state is no NamedTuple.
    """

    def __init__(self, model: ChainModel, space: Space | None) -> None:
        self.model, self.space = model, space
        self.name = model.name
        state: Any = model.State
        if state is not None:
            fields_of(state, self.name)
        if model.rules is ChainModel.rules:
            raise RuleError(f"{self.name} declares no rules: write rules(s, q) below @staticmethod: {PAIRS}")
        self.q = model.symbols()
        self.rules = model.function_of_state("rules", self.q)
        self.make = None if state is None else install_fast_replace(state)

    @cached_property
    def takes_stand_ins(self) -> bool:
        """Whether the rules may run on stand-ins for integers: they use neither ``is`` on numbers nor ``type``.

        `isinstance` is allowed: stand-ins answer it.
        """
        return not asks_for_identity(self.model.rules, self.q)

    def transitions(self, state: Any) -> list[tuple[Any, float]]:
        """Return a list of (target state, rate) for the transitions out of ``state``, with validation.

        Raises
        ------
        RuleError
            Naming the state, the transition, the error, the file and the line.
        """
        return list(self._validate_transitions(state))

    def error_in_state(self, state: Any, error: Exception) -> RuleError:
        """Return the RuleError that says why the rules fail in ``state``; ``error`` is the error of the first run.

        The rules run again with checks of each transition.
        """
        try:
            total = math.fsum(rate for _, rate in self._validate_transitions(state))
        except RuleError as refusal:
            return refusal
        except OverflowError:
            total = math.inf
        where = f"{self.name}: {format_state(state)}"
        if not math.isfinite(total):
            return RuleError.at(location_of(self.rules), f"{where}: the sum of the rates overflows")
        return rule_error(error, self.rules, f"{where}: {CHANGED}")

    def _validate_transitions(self, state: Any) -> Iterator[tuple[Any, float]]:
        """Yield (target state, rate) for the transitions out of ``state``; RuleError at the first invalid one."""
        where = f"{self.name}: {format_state(state)}"
        try:
            answer = self.rules(state, self.q)
            if answer is None:
                raise RuleError.at(location_of(self.rules), f"{where}: the rules return None", PAIRS)
            items = iter(answer)
        except RuleError:
            raise
        except Exception as error:  # a rule may raise anything
            raise rule_error(error, self.rules, where) from error
        while True:
            try:
                item = next(items)
            except StopIteration:
                return
            except Exception as error:  # a rule may raise anything
                raise rule_error(error, self.rules, where) from error
            location = _yield_location(items) or location_of(self.rules)
            if not isinstance(item, (tuple, list)) or len(item) != 2:
                raise RuleError.at(location, f"{where} yields {item!r}", PAIRS)
            yield self._validate_transition(state, item[0], item[1], location)

    def _validate_transition(
        self, state: Any, target: Any, rate: Any, location: tuple[str, int] | None
    ) -> tuple[Any, float]:
        """Return the target as a state and the rate as a float; RuleError if one of them is invalid."""
        shown_rate = repr(rate) if isinstance(rate, str) else rate
        message = f"{self.name}: {format_state(state)} -> {format_state(target)} at rate {shown_rate}"
        value = _as_float(rate)
        if value is None or not 0.0 <= value < math.inf:
            raise RuleError.at(location, f"{message}: {RATE}")
        if value > 0.0:
            try:
                target = self.as_state(target)
            except (TypeError, ValueError) as error:
                hint = ""
                if self.space is not None and "outside the space" in str(error):
                    hint = "guard the transition with an if, or widen space()"
                    if self.model.start() is None:
                        hint += "; with a start() only the states that it leads to count"
                raise RuleError.at(location, f"{message}: {error}", hint) from None
        return target, value

    def as_state(self, target: Any) -> Any:
        """Return a target that the rules yielded (a tuple, mapping or value) as a state to call the rules with.

        Raises
        ------
        ValueError, TypeError
            When the target is no state.
        """
        if self.space is not None:
            target = self.space.canonical_state(target)
        elif self.make is not None:
            fields = self.make._fields
            if isinstance(target, dict) and set(target) == set(fields):
                target = tuple(target[name] for name in fields)
            if not isinstance(target, tuple) or len(target) != len(fields):
                raise ValueError(f"a state has {count_of(len(fields), 'value')} ({', '.join(fields)})")
        refuse_unhashable(target)
        parts = target if isinstance(target, tuple) else (target,)
        if any(map(operator.ne, parts, parts)):
            raise ValueError("NaN equals no state, not even itself")
        return self.name_fields(target)

    def name_fields(self, values: Any) -> Any:
        """Return a tuple of field values as an instance of the model's ``State``; unchanged if it declares none."""
        return values if self.make is None else self.make._make(values)


@functools.cache
def install_fast_replace(state: Any) -> Any:
    """Replace the generated ``_replace`` of a NamedTuple class by a faster one, and return the class.

    The result of ``_replace`` is the same, and no dict is built. A ``_replace`` that the user wrote stays.
    """
    if state.__mro__[1] is not tuple or state._replace.__module__ != "collections":
        return state
    fields = state._fields
    arguments = "".join(f", {field}=_same" for field in fields)
    values = "".join(f"_self[{k}] if {f} is _same else {f}, " for k, f in enumerate(fields))
    text = (
        f"def _replace(_self, /, *{arguments or ', _none=_same'}, **_unknown):\n"
        f" if _unknown: raise ValueError(f'Got unexpected field names: {{list(_unknown)!r}}')\n"
        f" return _new(_class(_self), ({values}))\n"
    )
    scope: dict[str, Any] = {"_same": object(), "_new": tuple.__new__, "_class": type}
    exec(text, scope)  # noqa: S102  # of the names of fields only
    scope["_replace"].__doc__ = state._replace.__doc__
    state._replace = scope["_replace"]
    return state


def _yield_location(items: Any) -> tuple[str, int] | None:
    """Return (file, line) of the ``yield`` at which a generator is suspended; None for another iterator."""
    while (inner := getattr(items, "gi_yieldfrom", None)) is not None:
        items = inner
    frame = getattr(items, "gi_frame", None)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _as_float(rate: Any) -> float | None:
    """Return a rate as a float; None if it is not a real number."""
    if isinstance(rate, (str, bytes, complex)):
        return None
    try:
        return float(rate)
    except (TypeError, ValueError, OverflowError):
        return None


# Transitions between numbered states


class Edges(NamedTuple):
    """Transitions as arrays: the numbers of the source and the target in the product space, and the rate.

    Attributes
    ----------
    sources, targets
        Numbers of states, shape (transitions,).
    rates
        In 1/s, > 0, shape (transitions,).
    deferred
        States whose transitions are not listed: plain Python computes them, or reports their error. Shape (states,).
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: NDArray[np.float64]
    deferred: NDArray[np.int64]

    @classmethod
    def concatenate(cls, parts: list[Edges]) -> Edges:
        """Return the transitions of all ``parts``, in their order, as one `Edges`."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def edges_by_python(
    calls: Calls, space: Space, numbers: NDArray[np.int64], read: Callable[[Any], float] = float
) -> Edges:
    """Return the transitions out of the states ``numbers``, by a call of the rules in plain Python for each state.

    Parameters
    ----------
    calls, space
        The rules and the states.
    numbers
        Shape (states,).
    read
        Converts a rate to a float.

    Raises
    ------
    RuleError
        When the rules fail in one of the states.
    """
    sources: list[int] = []
    targets: list[object] = []
    rates: list[float] = []
    rules, q, admit = calls.rules, calls.q, space.membership_test()
    for number, code in zip(numbers.tolist(), space.codes_of_numbers(numbers).T.tolist(), strict=True):
        state = calls.name_fields(space.state(code))
        try:
            for target, rate in rules(state, q):
                if rate > 0.0:
                    fits = isinstance(target, tuple) and admit(target)
                    targets.append(target if fits else calls.as_state(target))
                    sources.append(number)
                    rates.append(read(rate))
                elif rate != 0.0:
                    raise ValueError("a rate is negative or not a number")
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            refusal = calls.error_in_state(state, error)
            raise refusal from refusal.__cause__
    none = np.zeros(0, dtype=np.int64)
    target_numbers = space.numbers(space.codes(targets)) if targets else none
    return Edges(np.array(sources, dtype=np.int64), target_numbers, np.array(rates), none)


# The search for states


class Rows(NamedTuple):
    """Transitions out of states 0 .. n - 1, row by row as in a CSR matrix, not yet sorted within a row.

    Attributes
    ----------
    indptr
        Index of the first transition of each state, shape (states + 1,).
    targets, rates
        Numbers of the target states, and rates in 1/s, shape (transitions,).
    """

    indptr: NDArray[np.int64]
    targets: NDArray[np.integer[Any]]
    rates: NDArray[np.float64]

    def generator(self, rank: NDArray[np.int64] | None = None) -> sp.csr_matrix:
        """Return the generator matrix of these rows, shape (states, states).

        Rates to one target add up; self-loops are dropped. ``rank`` has the new number of each state,
        shape (states,); None: unchanged.
        """
        n = len(self.indptr) - 1
        sources, targets = row_numbers(self.indptr), self.targets
        if rank is not None:
            sources, targets = rank[sources], rank[targets]
        return from_edges(sources, targets, self.rates, n)


class Enumeration:
    """Breadth-first search by plain Python for the states of a model, which can be paused and continued.

    Parameters
    ----------
    calls
        The rules.
    states
        The start, or all states of a space.
    closed
        Whether no other states are allowed.
    max_states
        Largest number of states; with more, TooLargeError.

    Attributes
    ----------
    states
        All discovered states, in the order of their discovery.
    done
        Number of states in which the rules have run.
    """

    def __init__(
        self, calls: Calls, states: Iterable[Any], *, closed: bool = False, max_states: int = 2**31 - 1
    ) -> None:
        self.calls, self.max_states = calls, max_states
        self.states = list(states)
        self.done = self._checked_at = 0
        self._number_of = {state: k for k, state in enumerate(self.states)}
        self._indptr, self._targets, self._rates = array("q", [0]), array("q"), array("d")
        self._add = self._number_of_listed if closed else self._make_add(calls.space)

    def run(self, count: int) -> bool:
        """Continue the search by at most ``count`` states; return whether it is complete.

        Raises
        ------
        RuleError
            Naming the state, the file and the line.
        TooLargeError
            When more states would not fit into memory, or are more than ``max_states``.
        """
        until = self.done + count
        with _pause_garbage_collection():
            while self.done < min(until, len(self.states)):
                self._run_rules(min(until, self.done + BURST))
                self._check_size()
        return self.done == len(self.states)

    def _run_rules(self, stop: int) -> None:
        """Run the rules in the states from index ``done`` to ``stop``; append their transitions and new states."""
        rules, q, number_of, add = self.calls.rules, self.calls.q, self._number_of.get, self._add
        push_target, push_rate = self._targets.append, self._rates.append
        state: Any = None
        try:
            for state in self.states[self.done : stop]:
                for target, rate in rules(state, q):
                    if rate > 0.0:
                        try:
                            number = number_of(target)
                        except TypeError:  # a mapping, or an object that is no state
                            number = None
                        push_target(add(target) if number is None else number)
                        push_rate(rate)
                    elif rate != 0.0:
                        raise ValueError("a rate is negative or not a number")
                self._indptr.append(len(self._rates))
                self.done += 1
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            refusal = self.calls.error_in_state(state, error)
            raise refusal from refusal.__cause__

    def _make_add(self, space: Space | None) -> Callable[[Any], int]:
        """Return a function that appends a new target state to ``states`` and returns its number."""
        numbers, states, make = self._number_of, self.states, self.calls.make
        admit: Callable[[Any], bool] = lambda _state: False
        if space is not None:
            admit = space.membership_test()
        convert, build = self.calls.as_state, None if make is None else make._make

        def add(target: Any) -> int:
            """Return the number of a target state, which is appended to the list unless it is there."""
            if not isinstance(target, tuple) or not admit(target):
                target = convert(target)
                if (number := numbers.get(target)) is not None:
                    return number
            elif type(target) is not make and build is not None:
                target = build(target)
            number = numbers[target] = len(states)
            states.append(target)
            return number

        return add

    def _number_of_listed(self, target: Any) -> int:
        """Return the number of a target among the listed states; ValueError if it is not one of them."""
        number = self._number_of.get(self.calls.as_state(target))
        if number is None:
            raise ValueError("the target is outside the space")
        return number

    def _check_size(self) -> None:
        """Raise an error if there are more than ``max_states`` states, or their rows would not fit into memory."""
        name, count = self.calls.name, len(self.states)
        if count > self.max_states:
            first = self.states[0] if isinstance(self.states[0], tuple) else (self.states[0],)
            floats = [value for value in first if isinstance(value, float)]
            hint = (
                f"; whether there is an end is searched in whole numbers only, not from {floats[0]!r}" if floats else ""
            )
            raise StateLimitError(name, self.max_states, hint)
        if self.done >= self._checked_at + BURST:
            self._checked_at = self.done
            room = BYTES_PER_STATE * count + BYTES_PER_TRANSITION * len(self._rates)
            check_room(f"{name}: more than {count} reachable states", room)

    def answers(self, indices: Iterable[int]) -> Iterator[tuple[Any, list[tuple[Any, float]]]]:
        """Yield (state, [(target, rate), ...]) for the states at ``indices``, as their rules have answered."""
        for k in indices:
            row = slice(self._indptr[k], self._indptr[k + 1])
            targets = [self.states[number] for number in self._targets[row]]
            yield self.states[k], list(zip(targets, self._rates[row], strict=True))

    def rows(self) -> Rows:
        """Return the transitions out of all states in which the rules have run, as `Rows`."""
        indptr = np.frombuffer(self._indptr, dtype=np.int64)
        rates = np.frombuffer(self._rates, dtype=np.float64)
        return Rows(indptr, np.frombuffer(self._targets, dtype=np.int64), rates)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Disable Python's garbage collector in a ``with`` block: it takes a third of the time and has nothing to free."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# Rules that change their answer


def indices_to_repeat(count: int) -> list[int]:
    """Return at least 32 indices below ``count``: states in which rules are called again to detect random answers.

    The first state is listed twice, the last one and random others once. Few states are listed several times each:
    a random rule may repeat its answer in a state by chance.
    """
    if count <= REPEATED_STATES:
        indices = [0, *range(count)]
        return (indices * -(-REPEATED_STATES // len(indices)))[: max(REPEATED_STATES, len(indices))]
    others = np.random.default_rng(6).integers(count, size=REPEATED_STATES - 3).tolist()
    return [0, 0, count - 1, *others]


Answer = list[tuple[Any, float]]


def refuse_changed_answers(calls: Calls, answers: Iterable[tuple[Any, Answer]]) -> None:
    """Call the rules again in the states of ``answers``; RuleError if they yield other transitions.

    Parameters
    ----------
    calls
        The rules.
    answers
        States, and the transitions out of them: targets as states, and rates > 0.
    """
    for state, first in answers:
        try:
            pairs = [pair for pair in calls.rules(state, calls.q) if pair[1] != 0.0]
            if pairs == first:
                continue
            second = _as_answer(calls, pairs)
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            message = f"{calls.name}: {format_state(state)}: {CHANGED}: first {_format_answer(first)}"
            refusal = rule_error(error, calls.rules, f"{message}, then it raises")
            raise refusal from refusal.__cause__
        if Counter(first) != Counter(second):
            both = f"first {_format_answer(first)}, then {_format_answer(second)}"
            message = f"{calls.name}: {format_state(state)}: {CHANGED}: {both}"
            raise RuleError.at(location_of(calls.rules), message, HINT)


def refuse_changing_rules(calls: Calls, states: Iterable[Any]) -> None:
    """Call the rules twice in each of ``states``; RuleError if they yield other transitions the second time."""
    answers = []
    for state in map(calls.as_state, states):
        with suppress(Exception):  # an error is reported by the search
            answers.append((state, _as_answer(calls, calls.rules(state, calls.q))))
    refuse_changed_answers(calls, answers[:1] + answers)


def _as_answer(calls: Calls, pairs: Iterable[tuple[Any, Any]]) -> Answer:
    """Return the pairs that rules yield as a list of (target state, float rate), without rates of zero."""
    return [(calls.as_state(target), float(rate)) for target, rate in pairs if rate != 0.0]


def _format_answer(answer: Answer) -> str:
    """Return the first three transitions of an answer, and the number of others, as a string for messages."""
    texts = [f"{format_state(target)} at rate {rate!r}" for target, rate in answer[:SHOWN_TRANSITIONS]]
    if len(answer) > SHOWN_TRANSITIONS:
        texts.append(f"{len(answer) - SHOWN_TRANSITIONS} more")
    return f"[{', '.join(texts)}]"


# Comparison of a generator with plain Python


def first_disagreement(
    calls: Calls, space: Space, codes: NDArray[np.int64], Q: sp.csr_matrix, indices: list[int]
) -> tuple[int, str] | None:
    """Return (index, description) of the first state whose row of Q differs from plain Python; None if none does.

    Parameters
    ----------
    calls
        The rules.
    space, codes
        The states, shape (components, states).
    Q
        The generator on these states.
    indices
        Indices of the states to compare.
    """
    numbers = space.numbers(codes[:, indices])
    expected = rates_by_source(edges_by_python(calls, space, numbers), numbers)
    counts = np.diff(Q.indptr)[indices]
    first = Q.indptr[indices] - np.cumsum(counts) + counts
    entries = np.arange(counts.sum()) + np.repeat(first, counts)
    targets = space.numbers(codes[:, Q.indices[entries]])
    rows = rates_by_source((np.repeat(numbers, counts), targets, Q.data[entries]), numbers)
    for x, number in zip(indices, numbers.tolist(), strict=True):
        if (text := describe_difference(rows[number], expected[number])) is not None:
            return x, text
    return None


def rates_by_source(edges: Any, sources: NDArray[np.int64]) -> dict[int, dict[int, float]]:
    """Return {source: {target: rate}} for the states ``sources``, sums of parallel transitions, without self-loops."""
    rows: dict[int, dict[int, float]] = {number: {} for number in sources.tolist()}
    for source, target, rate in zip(*(part.tolist() for part in edges[:3]), strict=True):
        if source != target:
            rows[source][target] = rows[source].get(target, 0.0) + rate
    return rows


def describe_difference(row: dict[int, float], expected: dict[int, float]) -> str | None:
    """Return how a row {target: rate} differs from that of plain Python, as a string; None if rates agree to 1e-13."""
    if row.keys() != expected.keys():
        return "other targets than plain Python"
    for number, rate in expected.items():
        if not (row[number] == rate or abs(row[number] - rate) <= ROUNDING * rate):
            return f"the rate {row[number]!r} where plain Python gives {rate!r}"
    return None
