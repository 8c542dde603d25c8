"""The states that a program's initial states lead to, found for many states at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.matrices import from_edges
from markov.computing.memory import StateLimitError, check_room
from markov.computing.progress import Counter
from markov.files.binding import Bound
from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.states.commands import NEGATIVE, NO_ONE_VALUE, NO_VALUE, TOO_FEW, WRONG_RATE, Rows, together
from markov.files.states.explored import Explored
from markov.files.states.moves import Moves, moves_of
from markov.files.states.rule_search import explored_by_rules, with_reached_windows
from markov.files.states.steps import StepRewards
from markov.files.states.table_search import TableSearch
from markov.files.states.tables import tabulated
from markov.files.values import boolean
from markov.generators.ways import MAX_STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Explored", "OutsideError", "explored", "transitions"]

CHUNK = 1 << 15  # states whose transitions are found at once
TABLE = 1 << 27  # states of a product space that a table has a place for each of
FEW_STATES = 1 << 10  # found by NumPy before tables are made
RUNS = 1 << 15  # numbers in the shortest sorted run
BYTES_PER_EDGE = 40.0
BYTES_PER_ENTRY = 16.0  # of the generator, which a search by tables writes where it belongs


def explored(bound: Bound, most: int = MAX_STATES, more: NDArray[np.int64] | None = None) -> Explored:
    """Return the states that the initial states lead to, and the rates between them.

    Parameters
    ----------
    bound
        The program.
    most
        Give up beyond so many states.
    more
        Numbers of other states to begin with.

    Raises
    ------
    FileError
        When a reachable state has a rate that is none, or a transition out of the ranges.
    TooLargeError
        When there are more than ``most`` states, or more would not fit into memory.
    """
    if program_is_open(bound) and more is None:
        bound = with_reached_windows(bound, most)
    if not bound.is_numbered and bound.program.start is None:
        return explored_by_rules(bound, most)
    while True:
        try:
            return _Search(bound, most).run(more)
        except OutsideError:
            wider = bound.widened()
        if wider is None:
            assert more is None  # there are no windows with events at given times
            return explored_by_rules(bound, most)
        bound = wider


class OutsideError(Exception):
    """A variable left its window: the program has noted which one."""


def program_is_open(bound: Bound) -> bool:
    """Whether a variable has no bounds, and there is one initial state."""
    return bound.program.start is None and any(r.open for r in bound.ranges)


class _Known:
    """The numbers of states that were found: a table, or sorted runs of growing length."""

    def __init__(self, size: int) -> None:
        self.table = np.zeros(size, dtype=bool) if size <= TABLE else None
        self.runs: list[NDArray[np.int64]] = []

    def add_new(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those that were not found before, ascending and once each; they are now."""
        if self.table is not None:
            fresh: NDArray[np.int64] = np.unique(numbers[~self.table[numbers]])
            self.table[fresh] = True
            return fresh
        fresh = np.unique(numbers)
        for run in self.runs:
            places = np.minimum(np.searchsorted(run, fresh), len(run) - 1)
            fresh = fresh[run[places] != fresh]
            if not len(fresh):
                return fresh
        self.runs.append(fresh)
        while len(self.runs) > 1 and len(self.runs[-2]) < 2 * len(self.runs[-1]) + RUNS:
            merged = np.concatenate([self.runs.pop(), self.runs.pop()])
            merged.sort(kind="stable")
            self.runs.append(merged)
        return fresh


class _Search:
    """Breadth first, a chunk of states at a time."""

    def __init__(self, bound: Bound, most: int) -> None:
        self.bound, self.most = bound, most
        self.moves: Moves = moves_of(bound)
        items = (i for rewards in bound.program.rewards.values() for i in rewards)
        self.steps = StepRewards(bound)
        self.actions = sorted({item.action for item in items if item.action is not None})
        self.numbers: list[NDArray[np.int64]] = []  # of states, in the order of their discovery
        self.edges: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self.earned: list[tuple[str | int, NDArray[np.int64], NDArray[np.float64]]] = []
        self.count = self.transitions = 0

    def run(self, more: NDArray[np.int64] | None) -> Explored:
        initial = self._initial()
        first = initial if more is None else np.union1d(initial, more)
        known = _Known(self.bound.span)
        frontier = known.add_new(first)
        few = True
        with Counter(f"states of {self.bound.program.file}") as bar:
            while len(frontier):
                found = []
                for low in range(0, len(frontier), CHUNK):
                    targets = self._expand(frontier[low : low + CHUNK])
                    found.append(known.add_new(targets))
                    self._check_size(bar, self.count, self.transitions)
                frontier = np.concatenate(found)
                if few and self.count > FEW_STATES:
                    few = False
                    if (compiled := self._by_tables(initial, first, bar)) is not None:
                        return compiled
        return self._assembled(initial)

    def _check_size(self, bar: Counter, states: int, transitions: int, each: float = BYTES_PER_EDGE) -> None:
        bar.show(states)
        if states > self.most:
            raise StateLimitError(self.bound.program.file, self.most)
        room = each * transitions + 32.0 * states
        check_room(f"{self.bound.program.file}: more than {states} states", room)

    def _by_tables(self, initial: NDArray[np.int64], first: NDArray[np.int64], bar: Counter) -> Explored | None:
        """Return what a compiled search finds; None where the transitions are not tabulated."""
        tables = tabulated(self.moves, self.bound, self.actions)
        if tables is None:
            return None
        search = TableSearch(tables, np.unique(first), len(self.actions))
        failed = search.run(lambda n, m: self._check_size(bar, n, m, BYTES_PER_ENTRY))
        if failed >= 0:
            alone = _Search(self.bound, self.most)
            alone._expand(np.array([failed]))  # raises, except for faults that do not count
            return None
        found = search.assembled()
        return Explored(
            self.bound,
            self._columns(found.numbers),
            found.Q,
            found.loops,
            np.searchsorted(found.numbers, np.unique(initial)),
            dict(zip(self.actions, found.earned, strict=True)),
            np.zeros((0, len(found.numbers))),
        )

    def _initial(self) -> NDArray[np.int64]:
        bound = self.bound
        if bound.program.start is None:
            return bound.numbers(np.array([[r.start] for r in bound.ranges]).reshape(-1, 1))
        place = bound.place(bound.program.start.line)
        if any(r.open for r in bound.ranges):
            raise FileError(place, "init with variables without bounds: give them a range")
        if bound.span > TABLE or any(r.is_window for r in bound.ranges):
            raise FileError(place, f"init over {bound.size:.3g} combinations: too many to look at")
        condition = boolean(bound.scope.value(bound.program.start), place, "init")
        found = []
        for low in range(0, bound.span, CHUNK):
            numbers = bound.valid(np.arange(low, min(low + CHUNK, bound.span)))
            holds = np.broadcast_to(condition.run(self._columns(numbers)), len(numbers))
            found.append(numbers[holds])
        numbers = np.concatenate(found)
        if not len(numbers):
            raise FileError(place, "init: no state is an initial state")
        return numbers

    def _columns(self, numbers: NDArray[np.int64]) -> Columns:
        return Columns(None, numbers, self.bound)

    def _expand(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Note the transitions out of some states; return where they lead."""
        c = self._columns(numbers)
        with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
            by_action = self.moves.rows(c)
        targets = [numbers[:0]]
        for action, rows in by_action.items():
            _check(self.bound, self.moves, rows, c)
            sources = rows.source + self.count
            if action in self.actions:
                self.earned.append((action, sources, rows.rate))
            ends = numbers[rows.source] + rows.change
            live = rows.rate > 0.0
            if not live.all():
                sources, ends, rates = sources[live], ends[live], rows.rate[live]
            else:
                rates = rows.rate
            if len(self.steps) and len(ends):
                self._earn(
                    sources, ends, rates, rows.transient if live.all() else rows.taken(np.flatnonzero(live)).transient
                )
            self.edges.append((sources, ends, rates))
            self.transitions += len(ends)
            targets.append(ends)
        self.numbers.append(numbers)
        self.count += len(numbers)
        return np.concatenate(targets)

    def _earn(
        self,
        sources: NDArray[np.int64],
        ends: NDArray[np.int64],
        rates: NDArray[np.float64],
        assigned: NDArray[np.float64] | None,
    ) -> None:
        """Add the rewards of some transitions to those of their sources."""
        earned = self.steps.earned(assigned, lambda values: Columns(None, ends, self.bound, values))
        if not np.isfinite(earned).all():
            raise FileError((self.bound.program.file, None), "a reward of a transition that is no finite number")
        for k, amounts in enumerate(earned):
            if amounts.any():
                self.earned.append((k, sources, rates * amounts))

    def _assembled(self, initial: NDArray[np.int64]) -> Explored:
        numbers = np.concatenate(self.numbers)
        n = len(numbers)
        check_room(f"{self.bound.program.file}: {n} states", 60.0 * self.transitions)
        order = np.argsort(numbers)
        ascending = numbers[order]
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        none: Any = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        sources, ends, rates = map(np.concatenate, zip(none, *self.edges, strict=True))
        self.edges.clear()
        sources = rank[sources]
        targets = np.searchsorted(ascending, ends)
        own = sources == targets
        loops = np.bincount(sources[own], rates[own], minlength=n).astype(np.float64)
        action_rates: dict[str, NDArray[np.float64]] = {a: np.zeros(n) for a in self.actions}
        gains = np.zeros((len(self.steps), n))
        for key, where, amounts in self.earned:
            row = gains[key] if isinstance(key, int) else action_rates[key]
            row += np.bincount(rank[where], amounts, minlength=n)
        return Explored(
            self.bound,
            self._columns(ascending),
            from_edges(sources, targets, rates, n),
            loops,
            np.searchsorted(ascending, np.unique(initial)),
            action_rates,
            gains,
        )


def transitions(
    bound: Bound, moves: Moves, c: Columns
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the transitions out of some states, by their sources' places: these, the targets' numbers, and the rates.

    Those from a state to itself, and those with rate 0, are left out.

    Raises
    ------
    FileError
        When a state has a rate that is none, or a transition out of the ranges.
    OutsideError
        When a variable leaves its window.
    """
    with np.errstate(all="ignore"):  # what is infinite or none shows in the rates
        by_action = moves.rows(c)
    for rows in by_action.values():
        _check(bound, moves, rows, c)
    if not by_action:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows = together(list(by_action.values()))
    rows = rows.taken(np.flatnonzero((rows.rate > 0.0) & (rows.change != 0)))
    assert c.states is not None
    return rows.source, c.states[rows.source] + rows.change, rows.rate


def _check(bound: Bound, moves: Moves, rows: Rows, c: Columns) -> None:
    """Refuse transitions with a rate that is none, or out of the ranges."""
    finite = np.isfinite(rows.rate) & (rows.rate >= 0.0)
    if rows.fault is None and finite.all():
        return
    fault = np.where(finite, 0, WRONG_RATE) if rows.fault is None else rows.fault
    bad = np.flatnonzero((fault != 0) & ~((fault % 4 != WRONG_RATE) & (rows.rate == 0.0)))
    if not len(bad):
        return
    k = int(bad[0])
    line, what = divmod(int(fault[k]), 4)
    state = shown_state(bound, c.codes[:, rows.source[k]])
    if what == WRONG_RATE:
        said = f"rate {rows.rate[k]:g} in state {state}: must be finite, >= 0"
        raise bound.program.fault(line, said, NEGATIVE if rows.rate[k] < 0.0 else "")
    if what == NO_VALUE:
        raise bound.program.fault(line, f"a transient variable in a transition from state {state}: {NO_ONE_VALUE}")
    bound.left.clear()
    moves.rows(c.take(rows.source[[k]]))  # notes the variables that leave their windows
    if any(bound.ranges[k].is_window for k in bound.left):
        raise OutsideError
    raise bound.program.fault(line, f"a variable leaves its range from state {state}", TOO_FEW)


def shown_state(bound: Bound, codes: NDArray[np.int64]) -> str:
    """Return a state as text: ``(s=1, up=true)``."""
    shown = (
        f"{r.name}={str(bool(code)).lower() if r.kind == 'bool' else int(code)}"
        for r, code in zip(bound.ranges, codes, strict=True)
    )
    return f"({', '.join(shown)})"
