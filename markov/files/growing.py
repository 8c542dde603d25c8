"""Rows of a file's chain for states that are requested one after the other, by tables.

Variables without bounds have windows, which grow when a requested state has a transition out of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing.resources import check_room
from markov.files import kernels
from markov.files.language import Batch
from markov.files.search import GATHER, OutsideError, batch_transitions
from markov.files.tables import TransitionTables, table_arrays, tabulate
from markov.files.transitions import moves_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.program import Instance

__all__ = ["GrowingRows", "growing_rows"]

INITIAL_CAPACITY = 1 << 12  # states
MIN_WINDOW = 4  # minimum width of windows on either side of the initial value
TARGET, FAILED, FIRST_STATE = 0, 1, 2
UNKNOWN = -1
BYTES_PER_STATE = 200.0  # with its row and its probability

TargetConditions = Callable[[Any], tuple[Any, Any]]
"""Function from an instance to two expressions: the chain has reached its target, and it may continue."""


class _States(NamedTuple):
    """Numbers of the states in the order of their discovery, with the hash table from a number to its index."""

    numbers: NDArray[np.int64]
    slots: NDArray[np.int64]
    mask: int


class _Edges(NamedTuple):
    """Transitions as arrays: index of the source state, number of the target state, rate in 1/s."""

    sources: NDArray[np.int64]
    numbers: NDArray[np.int64]
    rates: NDArray[np.float64]


class RowArrays(NamedTuple):
    """Matrix rows in shared arrays: state s has the ``degrees[s]`` entries from ``starts[s]`` on; -1: not computed."""

    starts: NDArray[np.int64]
    degrees: NDArray[np.int32]
    exits: NDArray[np.float64]
    arrivals: NDArray[np.int32]
    targets: NDArray[np.int32]
    rates: NDArray[np.float64]


def growing_rows(instance: Instance, truths: TargetConditions) -> GrowingRows | None:
    """Return the initially empty rows of a program's chain; None if its commands cannot be tabulated.

    Windows are narrowed until their tables fit.
    """
    width = None
    while True:
        if instance.shifts is not None and (tables := tabulate(moves_of(instance), instance, ())):
            return GrowingRows(instance, tables, truths)
        windows = [r for r in instance.ranges if r.is_window]
        widest = max((r.high - r.low for r in windows), default=0)
        width = widest // 4 if width is None else width // 2
        if width < MIN_WINDOW:
            return None
        instance = instance.narrow(width)


class GrowingRows:
    """Matrix rows computed on request, for states numbered by discovery from 2; 0 is the target, 1 failure.

    Parameters
    ----------
    instance
        The program.
    tables
        Tables of its transitions.
    truths
        Conditions for target and failure.
    """

    def __init__(self, instance: Instance, tables: TransitionTables, truths: TargetConditions) -> None:
        self.conditions = truths
        self._bind(instance, tables)
        first = instance.numbers(np.array([[r.start] for r in instance.ranges]).reshape(-1, 1))
        self.numbers = np.zeros(INITIAL_CAPACITY, dtype=np.int64)
        self._clear(first)

    def _bind(self, instance: Instance, tables: TransitionTables) -> None:
        """Use an instance and its tables of transitions, with the conditions for target and failure."""
        self.instance, self.tables = instance, table_arrays(tables)
        self._is_target, self._may_continue = self.conditions(instance)
        self._expand: Any = None

    def _clear(self, numbers: NDArray[np.int64]) -> None:
        """Start again with the states of these numbers alone, and without rows."""
        self.count = FIRST_STATE + len(numbers)
        size = max(INITIAL_CAPACITY, 2 * self.count + self.tables.max_transitions)
        self.numbers = np.zeros(size, dtype=np.int64)
        self.numbers[FIRST_STATE : self.count] = numbers
        self.kinds = np.full(size, UNKNOWN, dtype=np.int8)
        self.rows = RowArrays(
            np.full(size, UNKNOWN, dtype=np.int64),
            np.zeros(size, dtype=np.int32),
            np.zeros(size),
            np.zeros(size, dtype=np.int32),
            np.zeros(8 * size + self.tables.max_transitions, dtype=np.int32),
            np.zeros(8 * size + self.tables.max_transitions),
        )
        self.entries = 0
        self._hash(4 * size)

    def _hash(self, min_slots: int) -> None:
        """Build the hash table of all states with at least this number of slots."""
        self.mask = (1 << (min_slots - 1).bit_length()) - 1
        self.slots = np.zeros(2 * (self.mask + 1), dtype=np.int64)
        arguments = self.numbers, FIRST_STATE, self.count, self.slots, self.mask
        make_kernel(kernels.rehash, helpers=(kernels.locate_state,))(*arguments)

    @property
    def capacity(self) -> int:
        """Number of states for which the arrays have room."""
        return len(self.numbers)

    @property
    def largest_sum(self) -> int:
        """Maximum number of rates in a row or in a column so far, which bounds rounding errors."""
        rows = self.rows
        return int(max(rows.degrees.max(initial=1), rows.arrivals[FIRST_STATE:].max(initial=1)))

    def keep(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keep these states alone, without rows; return ``order``: state 2 + i is the former ``states[order[i]]``."""
        numbers = self.numbers[states]
        order = np.argsort(numbers)
        self._clear(numbers[order])
        return order

    def batch(self, states: NDArray[Any]) -> Batch:
        """Return the states of these indices as a `Batch`, over which expressions are evaluated."""
        numbers = self.numbers[states]
        return Batch(None, numbers, self.instance)

    def expand(self, states: NDArray[Any]) -> None:
        """Compute the rows of the states of these indices; their targets become states.

        Raises
        ------
        FileError
            For an invalid rate, or a transition out of the ranges.
        TooLargeError
            If the rows do not fit into memory.
        """
        chosen = np.asarray(states, dtype=np.int64)
        progress = np.array([0, self.count, self.entries, 0])
        while progress[0] < len(chosen):
            self._make_room()
            first_new, begin = self.count, self.entries
            progress[3] = 0
            states_table = _States(self.numbers, self.slots, self.mask)
            arguments = progress, chosen, self.tables, states_table, self.rows
            if self._expand is None:
                helpers = (*GATHER, kernels.locate_state, kernels.store_target, kernels.append_rate)
                self._expand = make_kernel(kernels.expand_chosen, helpers=helpers)
            self._expand(*arguments)
            self.count, self.entries = int(progress[1]), int(progress[2])
            self._classify(first_new, begin)
            if progress[3]:
                self._expand_at_edge(int(chosen[progress[0]]))
                progress[0], progress[1], progress[2] = progress[0] + 1, self.count, self.entries

    def _make_room(self) -> None:
        """Double the arrays that the next row might exceed."""
        max_transitions = self.tables.max_transitions
        rows = self.rows
        if self.count + max_transitions > self.capacity:
            size = 2 * self.capacity + max_transitions
            check_room(f"{self.instance.program.file}: {size} states", BYTES_PER_STATE * size)
            self.numbers = _enlarge(self.numbers, size, 0)
            self.kinds = _enlarge(self.kinds, size, UNKNOWN)
            starts, degrees = _enlarge(rows.starts, size, UNKNOWN), _enlarge(rows.degrees, size, 0)
            exits, arrivals = _enlarge(rows.exits, size, 0), _enlarge(rows.arrivals, size, 0)
            rows = self.rows = RowArrays(starts, degrees, exits, arrivals, *rows[4:])
        if self.entries + max_transitions > len(rows.targets):
            size = 2 * len(rows.targets) + max_transitions
            self.rows = rows._replace(targets=_enlarge(rows.targets, size, 0), rates=_enlarge(rows.rates, size, 0))
        if 2 * (self.count + max_transitions) > self.mask + 1:
            self._hash(2 * (self.mask + 1))

    def _classify(self, first_new: int, begin: int) -> None:
        """Replace targets in new entries by 0 or 1 where the chain reaches its target or fails."""
        if first_new < self.count:
            new_states = self.batch(np.arange(first_new, self.count))
            kinds = np.where(np.asarray(self._may_continue.run(new_states)), FIRST_STATE, FAILED)
            self.kinds[first_new : self.count] = np.where(np.asarray(self._is_target.run(new_states)), TARGET, kinds)
        entries = self.rows.targets[begin : self.entries]
        kinds = self.kinds[entries]
        ended = (kinds == TARGET) | (kinds == FAILED)
        entries[ended] = kinds[ended]

    def _expand_at_edge(self, state: int) -> None:
        """Compute the row of one state from which a variable may leave its window; widen windows if needed."""
        try:
            sources, targets, rates = batch_transitions(
                self.instance, moves_of(self.instance), self.batch(np.array([state]))
            )
        except OutsideError:
            if self._widen():
                self.expand(np.array([state]))
            else:  # probability that reaches this state is dropped
                self.rows.starts[state], self.rows.exits[state] = self.entries, np.inf
            return
        progress = np.array([0, self.count, self.entries, 0])
        states_table = _States(self.numbers, self.slots, self.mask)
        arguments = progress, np.array([state]), _Edges(sources, targets, rates), states_table, self.rows
        helpers = kernels.locate_state, kernels.store_target, kernels.append_rate
        make_kernel(kernels.write_listed_rows, helpers=helpers)(*arguments)
        first_new, begin = self.count, self.entries
        self.count, self.entries = int(progress[1]), int(progress[2])
        self._classify(first_new, begin)

    def _widen(self) -> bool:
        """Widen the windows of escaped variables; return False if the states would need too many bits."""
        codes = self.instance.codes(self.numbers[FIRST_STATE : self.count])
        wider = self.instance.widen_around(
            list(zip(codes.min(axis=1).tolist(), codes.max(axis=1).tolist(), strict=True))
        )
        tables = None
        if wider is not None and wider.shifts is not None:
            tables = tabulate(moves_of(wider), wider, ())
        if tables is None:
            return False
        assert wider is not None
        self._bind(wider, tables)
        self.numbers[FIRST_STATE : self.count] = wider.numbers(codes)
        self._hash(self.mask + 1)
        return True


def _enlarge(array: NDArray[Any], size: int, value: int) -> NDArray[Any]:
    """Return a copy of an array with ``size`` entries, the new ones filled with ``value``."""
    enlarged = np.full(size, value, dtype=array.dtype)
    enlarged[: len(array)] = array
    return enlarged
