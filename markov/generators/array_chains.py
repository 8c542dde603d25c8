"""The states and the generator of a model whose rules run on arrays of states.

1. The rules run once for many states (`ArrayRules`), which gives their transitions as numbers of states and rates.
2. A small space is done completely. A large one is searched breadth first from the start, all states of a distance
   together. Where distances are many and their states few, the complete space is done as soon as that costs no more
   than the search so far.
3. The positions of the rates in the generator (`EdgePattern`) are the same for all chains with the same transitions,
   and are cached. They are a function of the transitions, so that a cached pattern changes no answer.

The generator is compared with plain Python in a sample of states (`markov.generators.building`).
"""

from __future__ import annotations

import numbers
from collections import OrderedDict
from copy import copy
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.array_functions import (
    Frame,
    States,
    TranslatedFunction,
    UpdatedStates,
    is_generator,
    items_of,
    narrow,
    receive_transition,
    translate,
)
from markov.computing.arrays import LIMIT, NotOnArraysError, as_uniform, holds_arrays
from markov.computing.matrices import MAX_INT32, reachable_from, with_diagonal
from markov.computing.resources import StateLimitError, check_room
from markov.generators.plain import Edges
from markov.models.spaces import sample_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from markov.generators.plain import Calls
    from markov.models.spaces import Space

__all__ = ["CHUNK", "COMPLETE_SPACE_STATES", "ArrayChain", "ArrayRules", "EdgePattern", "chain_on_arrays", "pattern_of"]

MAX_GROUPS = 32
"""Largest number of groups of states that differ in other values than whole numbers: each is a run of its own."""
COMPLETE_SPACE_STATES = 100_000
"""States of a space that is done completely, however few of them the start leads to."""
CHUNK = 1 << 15
"""States that run together: their arrays stay in the cache."""
STATES_PER_ROUND = 4_000
"""States of a complete space that take as long as a round of a search with few states."""
MAX_TABLE_STATES = 1 << 27
"""States of a space with a byte for each in a table of the visited states."""
BYTES_PER_EDGE = 64.0
"""Memory of a transition: twice while the parts are joined."""
MAX_PATTERNS, MAX_PATTERN_TRANSITIONS, MAX_CACHED_TRANSITIONS = 32, 400_000, 1_600_000
"""Patterns in the cache, transitions of a chain whose pattern is cached, and of all of them: about 100 MB."""
MIN_SAMPLE, STATES_PER_SAMPLE = 16, 128
"""Random states that are compared with plain Python: this many, and one for this many states."""


# Transitions


class ArrayRules:
    """The rules of a model, translated so that one run gives the transitions out of an array of states.

    Parameters
    ----------
    calls, space
        The rules and the states.

    Raises
    ------
    NotOnArraysError
        When they have no translation.
    """

    def __init__(self, calls: Calls, space: Space) -> None:
        make = calls.make
        if not space.has_codes or (make is not None and space.make is not calls.model.State):
            raise NotOnArraysError("states of another type")
        if make is not None and make._replace.__module__ != "collections" and "_same" not in make._replace.__globals__:
            raise NotOnArraysError("states with a _replace of their own")
        if any(abs(bound) >= LIMIT for low, n in zip(space.low, space.shape, strict=True) for bound in (low, low + n)):
            raise NotOnArraysError("large components")
        rules: Any = calls.model.rules
        self.arguments_before: tuple[Any, ...] = ()
        if isinstance(rules, MethodType):
            self.arguments_before, rules = (rules.__self__,), rules.__func__
        if type(rules) is not FunctionType or rules.__defaults__:
            raise NotOnArraysError("rules that are no function of states and parameters")
        count = rules.__code__.co_argcount - len(self.arguments_before)
        if count not in (1, 2):
            raise NotOnArraysError("rules with other arguments")
        self.function: TranslatedFunction = translate(rules)
        self.arguments_after = (as_uniform(calls.q),) if count == 2 else ()
        self.make, self.space = make, space
        self.first_components, component = [], 0
        for width in space.widths:
            self.first_components.append(component)
            component += 1 if width is None else width

    def edges(self, numbers: NDArray[np.int64]) -> Edges:
        """Return the transitions out of the states ``numbers``; NotOnArraysError if the rules cannot run on arrays.

        The transitions of each state stand in the order in which the rules yield them. A state with an invalid
        transition is deferred: plain Python reports the error.
        """
        codes = self.space.codes_of_numbers(numbers)
        listed = [k for k, c in enumerate(self.space.components) if not isinstance(c.values, range)]
        collector = _EdgeCollector(self, numbers)
        try:
            with np.errstate(all="ignore"):  # rates that are not finite are reported below
                if not listed:
                    self._run_group(collector, codes, None)
                else:
                    keys, group = np.unique(codes[listed], axis=1, return_inverse=True)
                    if keys.shape[1] > MAX_GROUPS:
                        raise NotOnArraysError("many values that are no whole numbers")
                    for k in range(keys.shape[1]):
                        self._run_group(collector, codes, np.flatnonzero(group.ravel() == k))
        except NotOnArraysError:
            raise
        except Exception as error:  # a rule may raise anything: plain Python reports it with the state
            raise NotOnArraysError(str(error)) from error
        return collector.edges()

    def _run_group(self, collector: _EdgeCollector, codes: NDArray[np.int64], group: NDArray[np.int64] | None) -> None:
        """Run the rules for the states ``group`` (None: all), equal except in integers, and collect transitions."""
        codes = codes if group is None else codes[:, group]
        values = [
            code if isinstance(c.values, range) else c.values[int(code[0])]
            for c, code in zip(self.space.components, codes, strict=True)
        ]
        state = self.space.assemble(values)
        collector.state, collector.group = state if self.make is None else States(self.make, tuple(state)), group
        frame = Frame.outermost(codes.shape[1], collector.add_transition)
        arguments = (*self.arguments_before, collector.state, *self.arguments_after)
        if is_generator(self.function.function):
            self.function.run(arguments, frame)
        else:
            for transition in items_of(self.function.value(arguments, {}, frame)):
                receive_transition(frame, transition)


class _EdgeCollector:
    """Collects the transitions that the rules yield when they run on an array of states."""

    def __init__(self, rules: ArrayRules, numbers: NDArray[np.int64]) -> None:
        self.rules, self.space, self.numbers = rules, rules.space, numbers
        self.make = rules.make
        self.sources: list[Any] = []
        self.targets: list[Any] = []
        self.rates: list[Any] = []
        self.invalid: list[Any] = []
        self.state: Any = None
        self.group: NDArray[np.int64] | None = None

    def add_transition(self, rows: Any, count: int, target: Any, rate: Any) -> None:
        """Add the (target, rate) that the rules yield for ``count`` states: ``rows`` of the group, None for all."""
        if not count:
            return
        sources = rows if self.group is None else self.group if rows is None else self.group[rows]
        sources = np.arange(count) if sources is None else sources
        happens: Any = None
        if type(rate) is np.ndarray:
            rate = rate if rate.dtype == np.float64 else rate.astype(np.float64)
            if not (rate.min() > 0.0 and rate.max() < np.inf):
                happens = (rate > 0.0) & (rate < np.inf)
                self.invalid.append(sources[~(happens | (rate == 0.0))])
        else:
            if type(rate) is not float:
                if not isinstance(rate, numbers.Real):
                    raise NotOnArraysError("a rate that is no number")
                rate = float(rate)
            if not 0.0 < rate < np.inf:
                if rate != 0.0:
                    self.invalid.append(sources)
                return
        step, inside = self._number_changes(rows, target)
        if inside is not True and not np.all(inside):
            outside = ~(inside | np.zeros(count, dtype=bool))
            self.invalid.append(sources[outside if happens is None else outside & happens])
            happens = ~outside if happens is None else happens & ~outside
        targets = self.numbers[sources] + step
        rates = rate if type(rate) is np.ndarray else np.full(count, rate)
        if happens is not None and not happens.all():
            sources, targets, rates = sources[happens], targets[happens], rates[happens]
        self.sources.append(sources)
        self.targets.append(targets)
        self.rates.append(rates)

    def _number_changes(self, rows: Any, target: Any) -> tuple[Any, Any]:
        """Return target number minus source number for the states ``rows``, and whether targets are in the space."""
        if type(target) is States:
            return 0, True
        if type(target) is UpdatedStates:
            items = [(k, target.base.field(k), value) for k, value in target.values.items()]
        else:
            source = self.state if rows is None else narrow(self.state, rows)
            if isinstance(target, dict) and self.make is not None and set(target) == set(self.make._fields):
                target = tuple(target[name] for name in self.make._fields)
            if self.space.is_single:
                source, target = (source,), (target,)
            elif not isinstance(target, tuple) or len(target) != len(self.rules.first_components):
                raise NotOnArraysError("a target of another type")
            fields = source.fields() if type(source) is States else source
            items = list(zip(range(len(fields)), fields, target, strict=True))
        step: Any = 0
        inside: Any = True
        for field, before, value in items:
            first, width = self.rules.first_components[field], self.space.widths[field]
            if value is before:
                continue
            if width is None:
                pairs = [(value, before)]
            elif isinstance(value, tuple) and len(value) == width:
                pairs = list(zip(value, before, strict=True))
            else:
                raise NotOnArraysError("a vector of another length")
            for index, (new, old) in enumerate(pairs, first):
                if new is not old:
                    change, fits = self._code_changes(index, new, old)
                    step = step + self.space.weights[index] * change
                    inside = fits if inside is True else inside & fits
        return step, inside

    def _code_changes(self, index: int, new: Any, old: Any) -> tuple[Any, Any]:
        """Return new code minus old code of component ``index``, and whether ``new`` is one of its values."""
        component = self.space.components[index]
        if not isinstance(component.values, range):
            if holds_arrays(new):
                raise NotOnArraysError("a number for a component that has none")
            try:
                return component.values.index(new) - component.values.index(old), True
            except ValueError:
                return 0, False
        low = self.space.low[index]
        high = low + self.space.shape[index]
        if type(new) is np.ndarray:
            if new.dtype.kind in "fu" or (self.space.exact and new.dtype.kind != "i"):
                return 0, np.zeros(len(new), dtype=bool)  # whole or not, plain Python decides
            new = new.astype(np.int64, copy=False)
            fits = (new >= low) & (new < high)
            return new - old, True if fits.all() else fits
        if type(new) is not int and (self.space.exact or type(new) is not bool):
            return 0, False
        return int(new) - old, bool(low <= new < high)

    def edges(self) -> Edges:
        """Return the collected transitions, as `Edges`; states with an invalid one are deferred."""
        none = np.zeros(0, dtype=np.int64)
        invalid = np.unique(np.concatenate([none, *self.invalid]))
        if not self.sources:
            return Edges(none, none, np.zeros(0), self.numbers[invalid])
        sources, targets, rates = map(np.concatenate, (self.sources, self.targets, self.rates))
        if len(invalid):
            valid = np.ones(len(self.numbers), dtype=bool)
            valid[invalid] = False
            listed = valid[sources]
            sources, targets, rates = sources[listed], targets[listed], rates[listed]
        return Edges(self.numbers[sources], targets, rates, self.numbers[invalid])


# States


class InvalidTransitionError(NotOnArraysError):
    """Raised by the search for reachable states: a state has an invalid transition, or one that leaves the space.

    Attributes
    ----------
    number
        Number of the state in the product space.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"an invalid transition out of state {number}")
        self.number = number


class ReachableStates(NamedTuple):
    """The states that can be reached from a start, and the transitions between them.

    Attributes
    ----------
    numbers
        Numbers of the states in the product space, ascending, shape (states,).
    edges
        Transitions between them; no state is deferred.
    """

    numbers: NDArray[np.int64]
    edges: Edges


def edges_of_space(rules: ArrayRules) -> Edges:
    """Return the transitions out of all states of the rules' space; NotOnArraysError if they cannot run on arrays."""
    size = rules.space.size
    parts = [rules.edges(np.arange(begin, min(begin + CHUNK, size))) for begin in range(0, size, CHUNK)]
    return parts[0] if len(parts) == 1 else Edges.concatenate(parts)


def search_states(
    rules: ArrayRules, start: int, max_states: int, name: str, *, only_reachable: bool = False
) -> ReachableStates | None:
    """Return the states reachable from ``start`` and their transitions; None if listing the space takes less time.

    Parameters
    ----------
    rules
        The rules and the states.
    start
        Number of the state to start in.
    max_states
        Largest number of states.
    name
        Name of the model, for messages.
    only_reachable
        Search even if the complete space takes less time: elsewhere the rules may fail.

    Raises
    ------
    NotOnArraysError
        When arrays cannot find them, or a transition is invalid.
    TooLargeError
        When there are more than ``max_states`` states, or more would not fit into memory.
    """
    size = rules.space.size
    if size > MAX_TABLE_STATES:
        raise NotOnArraysError("a space without room for a table")
    visited = np.zeros(size, dtype=bool)
    visited[start] = True
    front, count, rounds, entries = np.array([start]), 1, 0, 0
    parts, fronts = [], [front]
    while len(front):
        if rounds * STATES_PER_ROUND > size and not only_reachable:
            return None
        next_fronts = []
        for begin in range(0, len(front), CHUNK):
            part = rules.edges(front[begin : begin + CHUNK])
            if len(part.deferred):
                raise InvalidTransitionError(int(part.deferred[0]))
            parts.append(part)
            entries += len(part.rates)
            new = part.targets[~visited[part.targets]]
            if len(new):
                new = np.unique(new)
                visited[new] = True
                next_fronts.append(new)
                count += len(new)
        front = next_fronts[0] if len(next_fronts) == 1 else np.concatenate([front[:0], *next_fronts])
        fronts.append(front)
        rounds += 1
        if count > max_states:
            raise StateLimitError(name, max_states)
        check_room(f"{name}: more than {count} reachable states", BYTES_PER_EDGE * entries)
    return ReachableStates(np.sort(np.concatenate(fronts)), Edges.concatenate(parts))


# The generator


class EdgePattern:
    """Sparsity pattern of a generator: the position of each transition's rate in the matrix, for any rates.

    Parameters
    ----------
    edges
        The transitions, of each source in the order in which rules yield them.
    space
        The states.
    numbers
        The states of the chain, ascending; None: all that ``start`` leads to, or all of the space.
    start
        Number of the start, or None.

    Attributes
    ----------
    codes
        The states of the chain, ascending, shape (components, states).
    enters_deferred
        Whether the chain has a state whose transitions are not among the edges: then there is no pattern.
    first_deferred
        The number of the first such state, or None.
    """

    def __init__(self, edges: Edges, space: Space, numbers: NDArray[np.int64] | None, start: int | None) -> None:
        self.sources, self.targets, self.deferred = edges.sources, edges.targets, edges.deferred
        self._space = space
        self._sample: list[int] | None = None
        deferred = edges.deferred if start is None else edges.deferred[:0]
        moves = edges.sources != edges.targets
        if numbers is None and start is not None:
            ones = np.ones(len(edges.rates), dtype=np.int8)
            graph = sp.csr_matrix((ones, (edges.sources, edges.targets)), shape=(space.size, space.size))
            entered = reachable_from(graph, start)
            deferred = edges.deferred[entered[edges.deferred]]
            numbers = np.flatnonzero(entered)
            moves &= entered[edges.sources]
        self.enters_deferred = len(deferred) > 0
        self.first_deferred = int(deferred[0]) if len(deferred) else None
        if self.enters_deferred:
            return
        self.numbers = np.arange(space.size) if numbers is None else numbers
        self.codes = space.codes_of_numbers(self.numbers)
        self.n = n = len(self.numbers)
        self._moves = None if moves.all() else np.flatnonzero(moves)
        pair = [part if self._moves is None else part[self._moves] for part in (edges.sources, edges.targets)]
        rank = self._rank_function(space.size)
        sources, targets = rank(pair[0]), rank(pair[1])
        dtype: Any = np.int32 if max(len(sources) + n, n) < MAX_INT32 else np.int64
        key = sources * n + targets
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        self._order, self._starts = order, None if len(starts) == len(order) else starts
        entries = order[starts]
        indptr = np.searchsorted(sources[entries], np.arange(n + 1)).astype(dtype)
        parts: Any = (np.ones(len(entries)), targets[entries].astype(dtype), indptr)
        rates = sp.csr_matrix(parts, shape=(n, n))
        rates.has_canonical_format = True
        self._matrix = with_diagonal(rates)
        self._rows = np.repeat(np.arange(n), np.diff(indptr))
        on_diagonal = np.repeat(np.arange(n), np.diff(self._matrix.indptr)) == self._matrix.indices
        self._off_diagonal, self._diagonal = np.flatnonzero(~on_diagonal), np.flatnonzero(on_diagonal)
        self._rows_with_exit = self._matrix.indices[self._diagonal]

    def __len__(self) -> int:
        """Return the number of transitions."""
        return len(self.sources)

    def _rank_function(self, size: int) -> Any:
        """Return a function that converts numbers of states in the product space to rows of the generator."""
        if self.n == size:
            return lambda numbers: numbers
        if size <= 4 * self.n:
            rank = np.zeros(size, dtype=np.int64)
            rank[self.numbers] = np.arange(self.n)
            return lambda numbers: rank[numbers]
        return lambda numbers: np.searchsorted(self.numbers, numbers)

    def matches(self, edges: Edges) -> bool:
        """Return whether ``edges`` has the transitions of this pattern, in the same order, with any rates."""
        pairs = (self.sources, edges.sources), (self.targets, edges.targets), (self.deferred, edges.deferred)
        return all(np.array_equal(one, other) for one, other in pairs)

    def generator(self, rates: NDArray[np.float64]) -> sp.csr_matrix:
        """Return the generator matrix, shape (states, states), for the rates of all transitions in 1/s."""
        moving = rates if self._moves is None else rates[self._moves]
        off_diagonal = moving[self._order]
        if self._starts is not None:
            with np.errstate(over="ignore"):  # rates that are not finite are reported by the caller
                off_diagonal = np.add.reduceat(off_diagonal, self._starts)
        matrix = copy(self._matrix)  # shallow: chains with the same transitions share the pattern
        data = np.empty(len(matrix.indices))
        data[self._off_diagonal] = off_diagonal
        data[self._diagonal] = -np.bincount(self._rows, off_diagonal, self.n)[self._rows_with_exit]
        matrix.data = data
        return matrix

    @property
    def sample(self) -> list[int]:
        """Indices of the states whose rows are to be compared with plain Python; they depend on the states alone."""
        if self._sample is None:
            self._sample = sample_of(self._space, self.codes, MIN_SAMPLE + self.n // STATES_PER_SAMPLE)
        return self._sample


_patterns: OrderedDict[Hashable, EdgePattern] = OrderedDict()


def pattern_of(
    key: Hashable, edges: Edges, space: Space, numbers: NDArray[np.int64] | None, start: int | None
) -> EdgePattern:
    """Return the `EdgePattern` of transitions: the cached one under ``key`` if it matches, otherwise a new one."""
    pattern = _patterns.get(key)
    if pattern is not None and pattern.matches(edges):
        return pattern
    pattern = EdgePattern(edges, space, numbers, start)
    if len(pattern) <= MAX_PATTERN_TRANSITIONS and not pattern.enters_deferred:
        _patterns[key] = pattern
        _patterns.move_to_end(key)
        while len(_patterns) > MAX_PATTERNS or sum(map(len, _patterns.values())) > MAX_CACHED_TRANSITIONS:
            _patterns.popitem(last=False)
    return pattern


class ArrayChain(NamedTuple):
    """Result of rules that ran on arrays: the transitions of a chain, and their pattern in the generator.

    Attributes
    ----------
    edges
        Transitions of the chain; None if a search met an invalid transition.
    pattern
        Positions of the rates in the generator; None if plain Python has to run in a state of the chain.
    invalid
        Number of a state in which plain Python has to run, or None.
    """

    edges: Edges | None
    pattern: EdgePattern | None
    invalid: int | None = None


def chain_on_arrays(
    calls: Calls, space: Space, start: int | None, max_states: int, room: bool, *, only_reachable: bool = False
) -> ArrayChain | None:
    """Return the chain of a model from rules that run on arrays of states; None if the rules cannot.

    Parameters
    ----------
    calls, space
        The rules and the states.
    start
        Number of the start, or None: the complete space.
    max_states
        Largest number of states that the start leads to.
    room
        Whether the transitions of the complete space fit into memory.
    only_reachable
        Whether the rules run only in states that the start leads to.

    Raises
    ------
    TooLargeError
        When there are more states than ``max_states``, or more would not fit into memory.
    """
    try:
        rules = ArrayRules(calls, space)
        search = None
        if start is not None and space.size > COMPLETE_SPACE_STATES:
            search = search_states(rules, start, max_states, calls.name, only_reachable=only_reachable)
        if search is None and not room:
            return None
        edges = edges_of_space(rules) if search is None else search.edges
    except InvalidTransitionError as error:
        return ArrayChain(None, None, error.number)
    except NotOnArraysError:
        return None
    function = getattr(calls.model.rules, "__func__", calls.model.rules)
    key = function, calls.model.State, space.low, space.shape, start
    pattern = pattern_of(key, edges, space, None if search is None else search.numbers, start)
    if pattern.enters_deferred:
        return ArrayChain(edges, None, pattern.first_deferred)
    return ArrayChain(edges, pattern)
