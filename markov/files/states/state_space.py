"""Search for the reachable states of a program, for many states at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.matrices import from_edges
from markov.computing.memory import StateLimitError, check_room
from markov.computing.progress import Counter
from markov.files.binding import Instance
from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.states.commands import (
    NEGATIVE,
    NO_ONE_VALUE,
    NO_VALUE,
    TOO_FEW_MOLECULES,
    WRONG_RATE,
    Rows,
    merge_rows,
)
from markov.files.states.explored import StateSpace
from markov.files.states.moves import Moves, moves_of
from markov.files.states.rule_search import explore_by_rules, with_reached_windows
from markov.files.states.steps import StepRewards
from markov.files.states.table_search import TableSearch
from markov.files.states.tables import tabulate
from markov.files.values import boolean
from markov.generators.building import MAX_STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OutsideError", "StateSpace", "explore", "transitions"]

STATES_PER_CHUNK = 1 << 15  # states whose transitions are found at once
MAX_BITMAP_STATES = 1 << 27  # states of a product space that a table has a place for each of
MIN_TABLE_STATES = 1 << 10  # found by NumPy before tables are made
MIN_RUN_LENGTH = 1 << 15  # numbers in the shortest sorted run
BYTES_PER_EDGE = 40.0
BYTES_PER_ENTRY = 16.0  # of the generator, which a search by tables writes where it belongs


def explore(instance: Instance, max_states: int = MAX_STATES, extra: NDArray[np.int64] | None = None) -> StateSpace:
    """Return the reachable states, and the rates between them.

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
    """A variable left its window: `Instance.escaped` has its index."""


def has_open_variables(instance: Instance) -> bool:
    """Whether a variable has no bounds, and there is a single initial state."""
    return instance.program.start is None and any(r.open for r in instance.ranges)


class _VisitedStates:
    """Numbers of the visited states: a bitmap, or sorted runs of growing length."""

    def __init__(self, size: int) -> None:
        self.table = np.zeros(size, dtype=bool) if size <= MAX_BITMAP_STATES else None
        self.runs: list[NDArray[np.int64]] = []

    def add_new(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add numbers; return the new distinct numbers, ascending."""
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
    """Breadth first, a chunk of states at a time."""

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
        initial = self._initial()
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
        counter.show(states)
        if states > self.max_states:
            raise StateLimitError(self.instance.program.file, self.max_states)
        memory = bytes_per_transition * transitions + 32.0 * states
        check_room(f"{self.instance.program.file}: more than {states} states", memory)

    def _by_tables(self, initial: NDArray[np.int64], first: NDArray[np.int64], counter: Counter) -> StateSpace | None:
        """Return the result of a compiled search; None if the transitions cannot be tabulated."""
        tables = tabulate(self.moves, self.instance, self.actions)
        if tables is None:
            return None
        search = TableSearch(tables, np.unique(first), len(self.actions))
        failed = search.run(lambda n, m: self._check_size(counter, n, m, BYTES_PER_ENTRY))
        if failed >= 0:
            search_of_one = _Search(self.instance, self.max_states)
            search_of_one._expand(np.array([failed]))  # raises, except for faults that do not count
            return None
        result = search.assemble()
        return StateSpace(
            self.instance,
            self._columns(result.numbers),
            result.Q,
            result.loops,
            np.searchsorted(result.numbers, np.unique(initial)),
            dict(zip(self.actions, result.rewarded_rates, strict=True)),
            np.zeros((0, len(result.numbers))),
        )

    def _initial(self) -> NDArray[np.int64]:
        instance = self.instance
        if instance.program.start is None:
            return instance.numbers(np.array([[r.start] for r in instance.ranges]).reshape(-1, 1))
        location = instance.location(instance.program.start.line)
        if any(r.open for r in instance.ranges):
            raise FileError(location, "init with variables without bounds: give them a range")
        if instance.span > MAX_BITMAP_STATES or any(r.is_window for r in instance.ranges):
            raise FileError(location, f"init over {instance.size:.3g} combinations: too many to look at")
        condition = boolean(instance.scope.value(instance.program.start), location, "init")
        chunks = []
        for low in range(0, instance.span, STATES_PER_CHUNK):
            numbers = instance.valid(np.arange(low, min(low + STATES_PER_CHUNK, instance.span)))
            holds = np.broadcast_to(condition.run(self._columns(numbers)), len(numbers))
            chunks.append(numbers[holds])
        numbers = np.concatenate(chunks)
        if not len(numbers):
            raise FileError(location, "init: no state is an initial state")
        return numbers

    def _columns(self, numbers: NDArray[np.int64]) -> Columns:
        return Columns(None, numbers, self.instance)

    def _expand(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Store the transitions out of a batch of states; return their targets."""
        c = self._columns(numbers)
        with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
            by_action = self.moves.rows(c)
        chunks = [numbers[:0]]
        for action, rows in by_action.items():
            _check(self.instance, self.moves, rows, c)
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
                self._earn(
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

    def _earn(
        self,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        rates: NDArray[np.float64],
        assigned: NDArray[np.float64] | None,
    ) -> None:
        """Add the rewards of transitions to the rewards of their sources."""
        rewards = self.steps.rewards(assigned, lambda values: Columns(None, targets, self.instance, values))
        if not np.isfinite(rewards).all():
            raise FileError((self.instance.program.file, None), "a reward of a transition that is no finite number")
        for k, amounts in enumerate(rewards):
            if amounts.any():
                self.rewarded_rates.append((k, sources, rates * amounts))

    def _assemble(self, initial: NDArray[np.int64]) -> StateSpace:
        numbers = np.concatenate(self.numbers)
        n = len(numbers)
        check_room(f"{self.instance.program.file}: {n} states", 60.0 * self.transitions)
        order = np.argsort(numbers)
        ascending = numbers[order]
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
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
            self._columns(ascending),
            from_edges(sources, targets, rates, n),
            loops,
            np.searchsorted(ascending, np.unique(initial)),
            action_rates,
            gains,
        )


def transitions(
    instance: Instance, moves: Moves, c: Columns
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the transitions out of a batch of states: indices of sources, numbers of targets, and rates.

    Loops and transitions with rate 0 are omitted.

    Raises
    ------
    FileError
        For an invalid rate, or a transition out of the ranges.
    OutsideError
        If a variable leaves its window.
    """
    with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
        by_action = moves.rows(c)
    for rows in by_action.values():
        _check(instance, moves, rows, c)
    if not by_action:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows = merge_rows(list(by_action.values()))
    rows = rows.take(np.flatnonzero((rows.rate > 0.0) & (rows.change != 0)))
    assert c.states is not None
    return rows.source, c.states[rows.source] + rows.change, rows.rate


def _check(instance: Instance, moves: Moves, rows: Rows, c: Columns) -> None:
    """Refuse transitions with an invalid rate or out of the ranges."""
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
        raise instance.program.fault(line, message, NEGATIVE if rows.rate[k] < 0.0 else "")
    if kind == NO_VALUE:
        raise instance.program.fault(line, f"a transient variable in a transition from state {state}: {NO_ONE_VALUE}")
    instance.escaped.clear()
    moves.rows(c.take(rows.source[[k]]))  # notes the variables that leave their windows
    if any(instance.ranges[k].is_window for k in instance.escaped):
        raise OutsideError
    raise instance.program.fault(line, f"a variable leaves its range from state {state}", TOO_FEW_MOLECULES)


def format_state(instance: Instance, codes: NDArray[np.int64]) -> str:
    """Return a state as text: ``(s=1, up=true)``."""
    shown = (
        f"{r.name}={str(bool(code)).lower() if r.kind == 'bool' else int(code)}"
        for r, code in zip(instance.ranges, codes, strict=True)
    )
    return f"({', '.join(shown)})"
