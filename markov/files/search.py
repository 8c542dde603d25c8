"""Searches for the reachable states of a program: by rows, by tables, and one by one by rules.

1. `explore` starts by rows: NumPy evaluates the commands over batches of states (`markov.files.transitions`).
2. After `MIN_TABLE_STATES` states a compiled search by tables takes over, if the commands can be tabulated.
3. States whose numbers exceed 62 bits, or whose variables have no bounds, are searched one by one by rules. Such states
   are rows of values in a hash table, compared exactly: the cost depends on the reached states alone.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from hopflow.kernels import make_kernel
from markov.computing.compilation import bound_kernel
from markov.computing.matrices import MAX_INT32, from_edges, rank_of, with_diagonal
from markov.computing.resources import Counter, StateLimitError, check_room
from markov.files import kernels
from markov.files.language import Batch, FileError, check_boolean
from markov.files.program import Instance
from markov.files.rules import FileRules
from markov.files.tables import table_arrays, tabulate
from markov.files.transitions import (
    NEGATIVE,
    NO_ONE_VALUE,
    NO_VALUE,
    WRONG_RATE,
    Moves,
    Rows,
    StepRewards,
    merge_rows,
    moves_of,
)
from markov.generators.building import MAX_STATES, STATES_BEFORE_BOX, ChainBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.files.tables import TransitionTables

__all__ = [
    "OutsideError",
    "SearchResult",
    "StateSet",
    "StateSpace",
    "TableSearch",
    "WrittenRows",
    "batch_transitions",
    "explore",
    "explore_by_rules",
    "with_reached_windows",
]

# ---------------------------------------------------------------------------------------------- result


@dataclass(frozen=True)
class StateSpace:
    """The reachable states of a program with generator, loops, initial states and transition rewards.

    Attributes
    ----------
    instance
        The program with its ranges.
    batch
        The states, ascending.
    Q
        Generator, shape (n, n); for a discrete-time chain P - I, scaled so that rows of P sum to 1.
    loops
        Total rate from each state to itself, shape (n,), which is not part of Q.
    initial
        Indices of the initial states.
    action_rates
        Total rate of the transitions with each action, loops included, shape (n,) each.
    gains
        Rewards per second earned on transitions (JANI), shape (rewards, n).
    is_start_assumed
        Whether the file gives no initial state, and the first state is taken.
    """

    instance: Instance
    batch: Batch
    Q: sp.csr_matrix
    loops: NDArray[np.float64]
    initial: NDArray[np.int64]
    action_rates: dict[str, NDArray[np.float64]]
    gains: NDArray[np.float64]
    is_start_assumed: bool = False

    def indices_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of reachable states from the values of their variables, shape (variables, ...).

        KeyError for a state that cannot be reached.
        """
        assert self.batch.states is not None
        if self.instance.is_numbered:
            numbers = self.instance.numbers(codes)
            indices: NDArray[np.int64] = np.searchsorted(self.batch.states, numbers)
            indices = np.minimum(indices, len(self.batch.states) - 1)
            ranges = zip(codes, self.instance.ranges, strict=True)
            inside = all(np.all((v >= r.low) & (v <= r.high) & ((v - r.low) % r.step == 0)) for v, r in ranges)
            if not (inside and np.array_equal(self.batch.states[indices], numbers)):
                raise KeyError(codes)  # outside of the ranges two states may have the same number
            return indices
        shape = codes.shape[1:]
        rows = codes.reshape(len(codes), -1).T.tolist()
        return np.array([self._index_by_values[tuple(row)] for row in rows]).reshape(shape)

    @cached_property
    def _index_by_values(self) -> dict[tuple[int, ...], int]:
        """Indices of states by the tuple of values of their variables."""
        return {tuple(row): k for k, row in enumerate(self.batch.codes.T.tolist())}


# ------------------------------------------------------------------------------------------- by tables


MAX_BITMAP_STATES = 1 << 28  # maximum product space with a bit for each state; beyond it, words of bits are hashed
INITIAL_CAPACITY = 1 << 16  # states
STATES_PER_CALL = 1 << 16  # states expanded between two checks of the size
MAX_INSERTION_ROW = 256  # transitions of a state whose row is sorted by insertion
BITS_PER_WORD = 64  # in a word

GATHER = kernels.look_up, kernels.gather, kernels.read_keys


class SearchResult(NamedTuple):
    """Result of a search by tables: states, generator, loops, rates with rewarded actions.

    Attributes
    ----------
    numbers
        Numbers of the states in the product space, ascending.
    Q
        Generator, shape (n, n).
    loops
        Total rate from each state to itself, shape (n,).
    rewarded_rates
        Total rate of the transitions with each rewarded action, shape (actions, n).
    """

    numbers: NDArray[np.int64]
    Q: sp.csr_matrix
    loops: NDArray[np.float64]
    rewarded_rates: NDArray[np.float64]


class StateSet(NamedTuple):
    """A set of states by number, as bits of 64-bit words in an array or a hash table, with ranks by number."""

    bits: NDArray[np.int64]
    keys: NDArray[np.int64]
    ranks: NDArray[np.int64]
    mask: int

    @classmethod
    def bitmap(cls, span: int) -> StateSet:
        """Return an empty set with one bit for each number below ``span``."""
        size = -(-span // BITS_PER_WORD)
        return cls(np.zeros(size, np.int64), np.zeros(0, np.int64), np.zeros(size, np.int64), -1)

    @classmethod
    def table(cls, size: int) -> StateSet:
        """Return an empty set of hashed words, with ``size`` slots, a power of two."""
        bits, keys, ranks = np.zeros((3, size), np.int64)
        return cls(bits, keys, ranks, size - 1)

    def enter(self, words: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
        """Add states in place: the bits ``bits`` of the words numbered ``words``."""
        if self.mask < 0:
            np.bitwise_or.at(self.bits, words, bits)
            return
        arguments = words, bits, self
        make_kernel(kernels.enter_words, helpers=(kernels.locate_word,))(*arguments)

    def enlarge(self) -> StateSet:
        """Return a copy of the set with room for twice as many words."""
        larger, used = self.table(2 * len(self.bits)), self.bits != 0
        larger.enter(self.keys[used], self.bits[used])
        return larger

    def compute_ranks(self) -> NDArray[np.int64]:
        """Compute the ranks of the states in place; return the slots of the words in ascending order."""
        slots = np.flatnonzero(self.bits)
        if self.mask >= 0:
            slots = slots[np.argsort(self.keys[slots])]
        counts = np.bitwise_count(self.bits[slots].view(np.uint64))
        self.ranks[slots] = np.cumsum(counts, dtype=np.int64) - counts
        return slots


class WrittenRows(NamedTuple):
    """Arrays into which the kernel writes the generator's rows, the states' numbers, loops and rewarded rates."""

    slots: NDArray[np.int64]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]
    loops: NDArray[np.float64]
    rewarded_rates: NDArray[np.float64]
    ordered: bool


class TableSearch:
    """Compiled breadth-first search for reachable states by tables of transitions, which then writes the generator.

    Parameters
    ----------
    transitions
        The transitions.
    initial
        Distinct numbers of the initial states.
    actions
        Number of rewarded actions.
    """

    def __init__(self, transitions: TransitionTables, initial: NDArray[np.int64], actions: int) -> None:
        self.tables, self.actions = table_arrays(transitions), actions
        self.numbers = np.zeros(max(INITIAL_CAPACITY, 2 * len(initial)) + transitions.max_transitions, dtype=np.int64)
        self.numbers[: len(initial)] = initial
        words, bits = initial // BITS_PER_WORD, np.left_shift(1, initial % BITS_PER_WORD)
        if transitions.layout.span <= MAX_BITMAP_STATES:
            self.reached = StateSet.bitmap(transitions.layout.span)
        else:
            self.reached = StateSet.table(1 << (2 * (len(initial) + transitions.max_transitions)).bit_length())
        self.reached.enter(words, bits)
        self.progress = np.array([0, len(initial), 0, len(words), 0, 0, 0])

    @property
    def count(self) -> int:
        """Number of states discovered so far."""
        return int(self.progress[1])

    @property
    def transitions(self) -> int:
        """Number of transitions out of the states expanded so far."""
        return int(self.progress[2])

    @property
    def longest_row(self) -> int:
        """Maximum number of transitions out of a state expanded so far."""
        return int(self.progress[6])

    def run(self, watch: Callable[[int, int], None]) -> int:
        """Discover all reachable states; return -1, or the number of a state with a faulty transition.

        Parameters
        ----------
        watch
            Called regularly with the numbers of states and transitions; may raise.
        """
        helpers = (*GATHER, kernels.locate_word)
        while self.progress[0] < self.progress[1]:
            self._make_room()
            self.progress[4] = self.progress[0] + STATES_PER_CALL
            arguments = self.progress, self.tables, self.reached, self.numbers
            bound_kernel(kernels.reach, *arguments, helpers=helpers)()
            if self.progress[5]:
                return int(self.numbers[self.progress[0]])
            watch(self.count, self.transitions)
        return -1

    def _make_room(self) -> None:
        """Enlarge the arrays that the next state might exceed, to twice their size."""
        max_transitions, words = self.tables.max_transitions, int(self.progress[3])
        if self.count + max_transitions >= len(self.numbers):
            growth = len(self.numbers) + max_transitions
            self.numbers = np.append(self.numbers, np.zeros(growth, dtype=np.int64))
        while self.reached.mask >= 0 and 2 * (words + max_transitions) > self.reached.mask + 1:
            self.reached = self.reached.enlarge()

    def assemble(self) -> SearchResult:
        """Return the states and the generator of the completed search."""
        n, max_entries = self.count, self.transitions + self.count
        kind: Any = np.int32 if max_entries < MAX_INT32 else np.int64
        rows = WrittenRows(
            self.reached.compute_ranks(),
            np.zeros(n + 1, dtype=kind),
            np.empty(max_entries, dtype=kind),
            np.empty(max_entries),
            self.numbers,
            np.zeros(n),
            np.zeros((self.actions, n)),
            self.longest_row <= MAX_INSERTION_ROW,
        )
        progress = np.array([0, 0, 0, 0])
        arguments = progress, self.tables, self.reached, rows
        helpers = (
            *GATHER,
            kernels.locate_word,
            kernels.count_bits,
            kernels.index_of,
            kernels.insert_sorted,
        )
        write = bound_kernel(kernels.write_rows, *arguments, helpers=helpers)
        for last in range(STATES_PER_CALL, len(rows.slots) + STATES_PER_CALL, STATES_PER_CALL):
            progress[3] = min(last, len(rows.slots))
            write()
        return SearchResult(self.numbers[:n], _generator(rows, int(progress[2])), rows.loops, rows.rewarded_rates)


def _generator(rows: WrittenRows, entries: int) -> sp.csr_matrix:
    """Return the generator, shape (n, n), from written rows with this number of entries."""
    n = len(rows.loops)
    csr: Any = rows.values[:entries], rows.indices[:entries], rows.indptr
    matrix = sp.csr_matrix(csr, shape=(n, n))
    if not rows.ordered:
        matrix.sum_duplicates()
        return with_diagonal(matrix)
    matrix.has_canonical_format = True
    return matrix


# -------------------------------------------------------------------------------------------- by rules


BYTES_PER_STATE, BYTES_PER_TRANSITION = 400.0, 40.0
STATES_PER_CHECK = 4096  # states between two checks of the memory


class _FileBuilder(ChainBuilder):
    """Builder of a chain from the rules of a file, which take longer per state than the rules of a user."""

    growth_states = (10_000, 100_000)


def with_reached_windows(instance: Instance, max_states: int) -> Instance:
    """Return the instance with reached values as windows of open variables; unchanged for many states.

    Raises
    ------
    InfiniteStatesError
        If a proof shows that the start leads to infinitely many states.
    RuleError
        If a rate is so small that rates that tend to zero would underflow.
    """
    builder = _FileBuilder(FileRules(instance.program, instance.constants), True, max_states)
    search = builder.new_search()
    if not search.run(STATES_BEFORE_BOX):
        builder.find_closed_set(search)
        return instance
    builder.refuse_underflow(search)
    return instance.with_windows(_value_ranges(search.states))


def _value_ranges(states: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (minimum, maximum) of each component over the states."""
    return [(int(min(values)), int(max(values))) for values in zip(*states, strict=True)]


def explore_by_rules(instance: Instance, max_states: int) -> StateSpace:
    """Return the state space found state by state, for programs whose states have no numbers below 2^62.

    Raises
    ------
    FileError
        If a reachable state has an invalid rate, or a transition out of the ranges.
    TooLargeError
        If there are more than ``max_states`` states, or more would not fit into memory.
    """
    rules, program = FileRules(instance.program, instance.constants), instance.program
    states: list[Any] = [rules.start()]
    index = {states[0]: 0}
    reward_items = (item for rewards in program.rewards.values() for item in rewards)
    rewarded = sorted({item.action for item in reward_items if item.action is not None})
    actions = {action: array("d") for action in rewarded}
    gains = [array("d") for _ in program.steps]
    counts, targets, rates = array("q"), array("q"), array("d")
    with Counter(f"states of {program.file}") as counter:
        for index_of_state, state in enumerate(states):  # the list grows during the loop
            first_target = len(targets)
            for row in (*actions.values(), *gains):
                row.append(0.0)
            for action, target, rate, step_rewards in rules.moves(state):
                rules.check_rate(state, rate)
                if not rate:
                    continue
                target_index = index.setdefault(target, len(states))
                if target_index == len(states):
                    states.append(target)
                targets.append(target_index)
                rates.append(rate)
                if action in actions:
                    actions[action][-1] += rate
                for k, gain in step_rewards.items():
                    gains[k][-1] += rate * gain
            counts.append(len(targets) - first_target)
            if index_of_state % STATES_PER_CHECK == 0:
                counter.show(index_of_state)
                _check_size(program.file, len(states), len(targets), max_states)
    _check_size(program.file, len(states), len(targets), max_states)
    codes = np.array(states, dtype=np.int64).T.reshape(len(instance.ranges), len(states))
    order = np.lexsort(codes[::-1]) if len(codes) else np.arange(len(states))
    rank, n = rank_of(order), len(states)
    sources = np.repeat(rank, counts)
    target_numbers, amounts = rank[np.array(targets, dtype=np.int64)], np.array(rates)
    is_loop = sources == target_numbers
    return StateSpace(
        instance.with_windows(_value_ranges(states)),
        Batch(codes[:, order], np.arange(n)),
        from_edges(sources, target_numbers, amounts, n),
        np.bincount(sources[is_loop], amounts[is_loop], minlength=n).astype(np.float64),
        rank[:1],
        {action: _reorder(row, order) for action, row in actions.items()},
        np.array([_reorder(row, order) for row in gains]).reshape(len(gains), n),
    )


def _reorder(row: array[float], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``row[order]`` as an array of float64."""
    return np.array(row, dtype=np.float64)[order]


def _check_size(file: str, states: int, transitions: int, max_states: int) -> None:
    """Raise TooLargeError for more states than allowed, or more than fit into memory."""
    memory = BYTES_PER_STATE * states + BYTES_PER_TRANSITION * transitions
    if states > max_states:
        raise StateLimitError(file, max_states)
    check_room(f"{file}: more than {states} states", memory)


# --------------------------------------------------------------------------------------------- by rows


STATES_PER_CHUNK = 1 << 15  # states whose transitions are computed at once
MAX_BYTE_MAP_STATES = 1 << 27  # maximum product space with a byte for each state
MIN_TABLE_STATES = 1 << 10  # states searched by NumPy before tables are built
MIN_RUN_LENGTH = 1 << 15  # numbers in the shortest sorted run
BYTES_PER_EDGE = 40.0
BYTES_PER_ENTRY = 16.0  # of the generator, which a search by tables writes in place


def explore(instance: Instance, max_states: int = MAX_STATES, extra: NDArray[np.int64] | None = None) -> StateSpace:
    """Return the state space of a program: its reachable states and the rates between them.

    Parameters
    ----------
    instance
        The program.
    max_states
        Largest number of states; with more, TooLargeError.
    extra
        Numbers of further states to start from.

    Raises
    ------
    FileError
        If a reachable state has an invalid rate, or a transition out of the ranges.
    TooLargeError
        If there are more than ``max_states`` states, or more would not fit into memory.
    """
    if has_open_variables(instance) and extra is None:
        instance = with_reached_windows(instance, max_states)
    if not instance.is_numbered and instance.program.start is None:
        return explore_by_rules(instance, max_states)
    while True:
        try:
            return _Search(instance, max_states).run(extra)
        except OutsideError:
            widened = instance.widen()
        if widened is None:
            assert extra is None  # there are no windows with events at given times
            return explore_by_rules(instance, max_states)
        instance = widened


class OutsideError(Exception):
    """A variable left its window; `Instance.escaped` has its index."""


def has_open_variables(instance: Instance) -> bool:
    """Return whether a variable lacks a bound and there is a single initial state."""
    return instance.program.start is None and any(r.open for r in instance.ranges)


class _VisitedStates:
    """Set of numbers of visited states: a map with a byte for each number, or sorted runs of growing length."""

    def __init__(self, size: int) -> None:
        self.table = np.zeros(size, dtype=bool) if size <= MAX_BYTE_MAP_STATES else None
        self.runs: list[NDArray[np.int64]] = []

    def add_new(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add numbers to the set; return those not in it before, distinct and ascending."""
        if self.table is not None:
            new: NDArray[np.int64] = np.unique(numbers[~self.table[numbers]])
            self.table[new] = True
            return new
        new = np.unique(numbers)
        for run in self.runs:
            indices = np.minimum(np.searchsorted(run, new), len(run) - 1)
            new = new[run[indices] != new]
            if not len(new):
                return new
        self.runs.append(new)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]) + MIN_RUN_LENGTH:
            merged = np.concatenate([self.runs.pop(), self.runs.pop()])
            merged.sort(kind="stable")
            self.runs.append(merged)
        return new


class _Search:
    """Breadth-first search for reachable states, which evaluates the commands over chunks of states by NumPy."""

    def __init__(self, instance: Instance, max_states: int) -> None:
        self.instance, self.max_states = instance, max_states
        self.moves: Moves = moves_of(instance)
        items = (i for rewards in instance.program.rewards.values() for i in rewards)
        self.steps = StepRewards(instance)
        self.actions = sorted({item.action for item in items if item.action is not None})
        self.numbers: list[NDArray[np.int64]] = []  # of states, in the order of their discovery
        self.edges: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self.rewarded_rates: list[tuple[str | int, NDArray[np.int64], NDArray[np.float64]]] = []
        self.count = self.transitions = 0

    def run(self, extra: NDArray[np.int64] | None) -> StateSpace:
        """Return the state space reachable from the initial states and from the states of the numbers ``extra``."""
        initial = self._initial_numbers()
        first = initial if extra is None else np.union1d(initial, extra)
        visited = _VisitedStates(self.instance.span)
        frontier = visited.add_new(first)
        tables_untried = True
        with Counter(f"states of {self.instance.program.file}") as counter:
            while len(frontier):
                chunks = []
                for low in range(0, len(frontier), STATES_PER_CHUNK):
                    targets = self._expand(frontier[low : low + STATES_PER_CHUNK])
                    chunks.append(visited.add_new(targets))
                    self._check_size(counter, self.count, self.transitions)
                frontier = np.concatenate(chunks)
                if tables_untried and self.count > MIN_TABLE_STATES:
                    tables_untried = False
                    if (by_tables := self._by_tables(initial, first, counter)) is not None:
                        return by_tables
        return self._assemble(initial)

    def _check_size(
        self, counter: Counter, states: int, transitions: int, bytes_per_transition: float = BYTES_PER_EDGE
    ) -> None:
        """Show progress; raise TooLargeError for too many states, or more than fit into memory."""
        counter.show(states)
        if states > self.max_states:
            raise StateLimitError(self.instance.program.file, self.max_states)
        memory = bytes_per_transition * transitions + 32.0 * states
        check_room(f"{self.instance.program.file}: more than {states} states", memory)

    def _by_tables(self, initial: NDArray[np.int64], first: NDArray[np.int64], counter: Counter) -> StateSpace | None:
        """Return the state space by a compiled search; None if the transitions cannot be tabulated."""
        tables = tabulate(self.moves, self.instance, self.actions)
        if tables is None:
            return None
        search = TableSearch(tables, np.unique(first), len(self.actions))
        failed = search.run(lambda n, m: self._check_size(counter, n, m, BYTES_PER_ENTRY))
        if failed >= 0:
            search_of_one = _Search(self.instance, self.max_states)
            search_of_one._expand(np.array([failed]))  # raises, except for faults of transitions with rate 0
            return None
        result = search.assemble()
        return StateSpace(
            self.instance,
            self._batch(result.numbers),
            result.Q,
            result.loops,
            np.searchsorted(result.numbers, np.unique(initial)),
            dict(zip(self.actions, result.rewarded_rates, strict=True)),
            np.zeros((0, len(result.numbers))),
        )

    def _initial_numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the initial states."""
        instance = self.instance
        if instance.program.start is None:
            return instance.numbers(np.array([[r.start] for r in instance.ranges]).reshape(-1, 1))
        location = instance.location(instance.program.start.line)
        if any(r.open for r in instance.ranges):
            raise FileError(location, "init with variables without bounds: give them a range")
        if instance.span > MAX_BYTE_MAP_STATES or any(r.is_window for r in instance.ranges):
            raise FileError(location, f"init over {instance.size:.3g} combinations: too many to look at")
        condition = check_boolean(instance.scope.value(instance.program.start), location, "init")
        chunks = []
        for low in range(0, instance.span, STATES_PER_CHUNK):
            numbers = instance.valid(np.arange(low, min(low + STATES_PER_CHUNK, instance.span)))
            holds = np.broadcast_to(condition.run(self._batch(numbers)), len(numbers))
            chunks.append(numbers[holds])
        numbers = np.concatenate(chunks)
        if not len(numbers):
            raise FileError(location, "init: no state is an initial state")
        return numbers

    def _batch(self, numbers: NDArray[np.int64]) -> Batch:
        """Return the states of these numbers as a batch."""
        return Batch(None, numbers, self.instance)

    def _expand(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Store the transitions out of the states of these numbers; return the numbers of their targets."""
        c = self._batch(numbers)
        with np.errstate(all="ignore"):  # infinite and undefined values show in the rates
            by_action = self.moves.rows(c)
        chunks = [numbers[:0]]
        for action, rows in by_action.items():
            _check_rows(self.instance, self.moves, rows, c)
            sources = rows.source + self.count
            if action in self.actions:
                self.rewarded_rates.append((action, sources, rows.rate))
            targets = numbers[rows.source] + rows.change
            is_positive = rows.rate > 0.0
            if not is_positive.all():
                sources, targets, rates = sources[is_positive], targets[is_positive], rows.rate[is_positive]
            else:
                rates = rows.rate
            if len(self.steps) and len(targets):
                self._store_rewards(
                    sources,
                    targets,
                    rates,
                    rows.transient if is_positive.all() else rows.take(np.flatnonzero(is_positive)).transient,
                )
            self.edges.append((sources, targets, rates))
            self.transitions += len(targets)
            chunks.append(targets)
        self.numbers.append(numbers)
        self.count += len(numbers)
        return np.concatenate(chunks)

    def _store_rewards(
        self,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        rates: NDArray[np.float64],
        assigned: NDArray[np.float64] | None,
    ) -> None:
        """Store the rewards per second that transitions earn in their source states."""
        rewards = self.steps.rewards(assigned, lambda values: Batch(None, targets, self.instance, values))
        if not np.isfinite(rewards).all():
            raise FileError((self.instance.program.file, None), "a reward of a transition that is no finite number")
        for k, amounts in enumerate(rewards):
            if amounts.any():
                self.rewarded_rates.append((k, sources, rates * amounts))

    def _assemble(self, initial: NDArray[np.int64]) -> StateSpace:
        """Return the state space from the stored states and transitions."""
        numbers = np.concatenate(self.numbers)
        n = len(numbers)
        check_room(f"{self.instance.program.file}: {n} states", 60.0 * self.transitions)
        order = np.argsort(numbers)
        ascending = numbers[order]
        rank = rank_of(order)
        none: Any = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        sources, target_numbers, rates = map(np.concatenate, zip(none, *self.edges, strict=True))
        self.edges.clear()
        sources = rank[sources]
        targets = np.searchsorted(ascending, target_numbers)
        is_loop = sources == targets
        loops = np.bincount(sources[is_loop], rates[is_loop], minlength=n).astype(np.float64)
        action_rates: dict[str, NDArray[np.float64]] = {a: np.zeros(n) for a in self.actions}
        gains = np.zeros((len(self.steps), n))
        for key, rewarded_sources, amounts in self.rewarded_rates:
            row = gains[key] if isinstance(key, int) else action_rates[key]
            row += np.bincount(rank[rewarded_sources], amounts, minlength=n)
        return StateSpace(
            self.instance,
            self._batch(ascending),
            from_edges(sources, targets, rates, n),
            loops,
            np.searchsorted(ascending, np.unique(initial)),
            action_rates,
            gains,
        )


def batch_transitions(
    instance: Instance, moves: Moves, c: Batch
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the transitions out of a batch of states: positions of sources, numbers of targets, rates in 1/s.

    Loops and transitions with rate 0 are omitted.

    Raises
    ------
    FileError
        For an invalid rate, or a transition out of the ranges.
    OutsideError
        If a variable leaves its window.
    """
    with np.errstate(all="ignore"):  # infinite and undefined values show in the rates
        by_action = moves.rows(c)
    for rows in by_action.values():
        _check_rows(instance, moves, rows, c)
    if not by_action:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows = merge_rows(list(by_action.values()))
    rows = rows.take(np.flatnonzero((rows.rate > 0.0) & (rows.change != 0)))
    assert c.states is not None
    return rows.source, c.states[rows.source] + rows.change, rows.rate


def _check_rows(instance: Instance, moves: Moves, rows: Rows, c: Batch) -> None:
    """Raise an error for transitions with an invalid rate or out of a variable's range."""
    finite = np.isfinite(rows.rate) & (rows.rate >= 0.0)
    if rows.fault is None and finite.all():
        return
    faults = np.where(finite, 0, WRONG_RATE) if rows.fault is None else rows.fault
    wrong = np.flatnonzero((faults != 0) & ~((faults % 4 != WRONG_RATE) & (rows.rate == 0.0)))
    if not len(wrong):
        return
    k = int(wrong[0])
    line, kind = divmod(int(faults[k]), 4)
    state = format_state(instance, c.codes[:, rows.source[k]])
    if kind == WRONG_RATE:
        message = f"rate {rows.rate[k]:g} in state {state}: must be finite, >= 0"
        raise instance.program.command_error(line, message, NEGATIVE if rows.rate[k] < 0.0 else "")
    if kind == NO_VALUE:
        raise instance.program.command_error(
            line, f"a transient variable in a transition from state {state}: {NO_ONE_VALUE}"
        )
    instance.escaped.clear()
    moves.rows(c.take(rows.source[[k]]))  # records the variables that leave their windows
    if any(instance.ranges[k].is_window for k in instance.escaped):
        raise OutsideError
    raise instance.program.range_error(line, f"a variable leaves its range from state {state}")


def format_state(instance: Instance, codes: NDArray[np.int64]) -> str:
    """Return a state as text from the values of its variables: ``(s=1, up=true)``."""
    shown = (
        f"{r.name}={str(bool(code)).lower() if r.kind == 'bool' else int(code)}"
        for r, code in zip(instance.ranges, codes, strict=True)
    )
    return f"({', '.join(shown)})"
