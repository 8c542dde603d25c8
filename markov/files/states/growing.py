"""The rows of a file's chain in states that are chosen one after the other, by tables.

Variables without bounds have windows, which grow when a chosen state has a transition out of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing.memory import check_room
from markov.files.columns import Columns
from markov.files.states import growing_kernels as kernels
from markov.files.states.moves import moves_of
from markov.files.states.state_space import OutsideError, transitions
from markov.files.states.table_arrays import arrays_of
from markov.files.states.table_search import GATHER
from markov.files.states.tables import Tabulated, tabulated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.binding import Bound

__all__ = ["GrowingRows", "growing_rows"]

FIRST = 1 << 12  # states that there is room for at first
NARROWEST = 4  # of windows, on either side of the initial value
TARGET, MISSED, STATES = 0, 1, 2
UNKNOWN = -1
BYTES = 200.0  # per state, with its row and its mass

Truths = Callable[[Any], tuple[Any, Any]]
"""Of a program: the expressions of the states where the chain has reached its target, and where it goes on."""


class _States(NamedTuple):
    """States in the order of their discovery, and the table that finds them (`growing_kernels`)."""

    numbers: NDArray[np.int64]
    slots: NDArray[np.int64]
    mask: int


class _Edges(NamedTuple):
    """Transitions between states, by the places of their sources and the numbers of their targets."""

    sources: NDArray[np.int64]
    numbers: NDArray[np.int64]
    rates: NDArray[np.float64]


class RowArrays(NamedTuple):
    """Rows of states: entries ``starts`` .. ``starts + degrees - 1``; ``starts`` is -1 where it is not known yet."""

    starts: NDArray[np.int64]
    degrees: NDArray[np.int32]
    exits: NDArray[np.float64]
    arrivals: NDArray[np.int32]
    targets: NDArray[np.int32]
    rates: NDArray[np.float64]


def growing_rows(bound: Bound, truths: Truths) -> GrowingRows | None:
    """Return the rows of a program, none known yet; None where its commands are not tabulated.

    Windows are narrowed until tables over them have room.
    """
    width = None
    while True:
        if bound.shifts is not None and (tables := tabulated(moves_of(bound), bound, ())):
            return GrowingRows(bound, tables, truths)
        windows = [r for r in bound.ranges if r.is_window]
        widest = max((r.high - r.low for r in windows), default=0)
        width = widest // 4 if width is None else width // 2
        if width < NARROWEST:
            return None
        bound = bound.narrowed(width)


class GrowingRows:
    """Rows of states that are numbered in the order of their discovery, from 2 on; 0 and 1 stand for the chain's ends.

    Parameters
    ----------
    bound
        The program.
    tables
        Its transitions.
    truths
        Where the chain ends.
    """

    def __init__(self, bound: Bound, tables: Tabulated, truths: Truths) -> None:
        self.truths = truths
        self._bind(bound, tables)
        first = bound.numbers(np.array([[r.start] for r in bound.ranges]).reshape(-1, 1))
        self.numbers = np.zeros(FIRST, dtype=np.int64)
        self._clear(first)

    def _bind(self, bound: Bound, tables: Tabulated) -> None:
        self.bound, self.tables = bound, arrays_of(tables)
        self._right, self._left = self.truths(bound)
        self._expand: Any = None

    def _clear(self, numbers: NDArray[np.int64]) -> None:
        """Know these states alone, and none of their rows."""
        self.count = STATES + len(numbers)
        size = max(FIRST, 2 * self.count + self.tables.most)
        self.numbers = np.zeros(size, dtype=np.int64)
        self.numbers[STATES : self.count] = numbers
        self.kinds = np.full(size, UNKNOWN, dtype=np.int8)
        self.rows = RowArrays(
            np.full(size, UNKNOWN, dtype=np.int64),
            np.zeros(size, dtype=np.int32),
            np.zeros(size),
            np.zeros(size, dtype=np.int32),
            np.zeros(8 * size + self.tables.most, dtype=np.int32),
            np.zeros(8 * size + self.tables.most),
        )
        self.entries = 0
        self._hash(4 * size)

    def _hash(self, least: int) -> None:
        self.mask = (1 << (least - 1).bit_length()) - 1
        self.slots = np.zeros(2 * (self.mask + 1), dtype=np.int64)
        rest = self.numbers, STATES, self.count, self.slots, self.mask
        make_kernel(kernels.rehash, helpers=(kernels.locate,))(*rest)

    @property
    def capacity(self) -> int:
        """Number of states that there is room for."""
        return len(self.numbers)

    @property
    def largest_sum(self) -> int:
        """The largest number of rates in a row or a column so far."""
        rows = self.rows
        return int(max(rows.degrees.max(initial=1), rows.arrivals[STATES:].max(initial=1)))

    def keep(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Forget all other states and all rows; return the order in which the states are numbered from now on."""
        numbers = self.numbers[states]
        order = np.argsort(numbers)
        self._clear(numbers[order])
        return order

    def columns(self, states: NDArray[Any]) -> Columns:
        """Return the values of the variables in states."""
        numbers = self.numbers[states]
        return Columns(None, numbers, self.bound)

    def expand(self, states: NDArray[Any]) -> None:
        """Find the rows of states.

        Raises
        ------
        FileError
            Where a state has a rate that is none, or a transition out of the ranges.
        TooLargeError
            Where the rows do not fit into memory.
        """
        chosen = np.asarray(states, dtype=np.int64)
        progress = np.array([0, self.count, self.entries, 0])
        while progress[0] < len(chosen):
            self._make_room()
            found, begin = self.count, self.entries
            progress[3] = 0
            known = _States(self.numbers, self.slots, self.mask)
            arguments = progress, chosen, self.tables, known, self.rows
            if self._expand is None:
                helpers = (*GATHER, kernels.locate, kernels.emit, kernels.append)
                self._expand = make_kernel(kernels.expand_chosen, helpers=helpers)
            self._expand(*arguments)
            self.count, self.entries = int(progress[1]), int(progress[2])
            self._classify(found, begin)
            if progress[3]:
                self._expand_at_edge(int(chosen[progress[0]]))
                progress[0], progress[1], progress[2] = progress[0] + 1, self.count, self.entries

    def _make_room(self) -> None:
        """Double what the next row might not fit into."""
        most = self.tables.most
        rows = self.rows
        if self.count + most > self.capacity:
            size = 2 * self.capacity + most
            check_room(f"{self.bound.program.file}: {size} states", BYTES * size)
            self.numbers = _grown(self.numbers, size, 0)
            self.kinds = _grown(self.kinds, size, UNKNOWN)
            starts, degrees = _grown(rows.starts, size, UNKNOWN), _grown(rows.degrees, size, 0)
            exits, arrivals = _grown(rows.exits, size, 0), _grown(rows.arrivals, size, 0)
            rows = self.rows = RowArrays(starts, degrees, exits, arrivals, *rows[4:])
        if self.entries + most > len(rows.targets):
            size = 2 * len(rows.targets) + most
            self.rows = rows._replace(targets=_grown(rows.targets, size, 0), rates=_grown(rows.rates, size, 0))
        if 2 * (self.count + most) > self.mask + 1:
            self._hash(2 * (self.mask + 1))

    def _classify(self, found: int, begin: int) -> None:
        """Lead entries to states where the chain ends to its ends."""
        if found < self.count:
            fresh = self.columns(np.arange(found, self.count))
            kinds = np.where(np.asarray(self._left.run(fresh)), STATES, MISSED)
            self.kinds[found : self.count] = np.where(np.asarray(self._right.run(fresh)), TARGET, kinds)
        entries = self.rows.targets[begin : self.entries]
        kinds = self.kinds[entries]
        ended = (kinds == TARGET) | (kinds == MISSED)
        entries[ended] = kinds[ended]

    def _expand_at_edge(self, state: int) -> None:
        """Find the row of a state from which a variable may leave its window."""
        try:
            sources, ends, rates = transitions(self.bound, moves_of(self.bound), self.columns(np.array([state])))
        except OutsideError:
            if self._widen():
                self.expand(np.array([state]))
            else:  # the mass that comes here is dropped
                self.rows.starts[state], self.rows.exits[state] = self.entries, np.inf
            return
        progress = np.array([0, self.count, self.entries, 0])
        known = _States(self.numbers, self.slots, self.mask)
        rest = progress, np.array([state]), _Edges(sources, ends, rates), known, self.rows
        helpers = kernels.locate, kernels.emit, kernels.append
        make_kernel(kernels.enter_rows, helpers=helpers)(*rest)
        found, begin = self.count, self.entries
        self.count, self.entries = int(progress[1]), int(progress[2])
        self._classify(found, begin)

    def _widen(self) -> bool:
        """Move the windows that variables have left to the values of known states; return whether there is room for that."""
        codes = self.bound.codes(self.numbers[STATES : self.count])
        wider = self.bound.around(list(zip(codes.min(axis=1).tolist(), codes.max(axis=1).tolist(), strict=True)))
        tables = None
        if wider is not None and wider.shifts is not None:
            tables = tabulated(moves_of(wider), wider, ())
        if tables is None:
            return False
        assert wider is not None
        self._bind(wider, tables)
        self.numbers[STATES : self.count] = wider.numbers(codes)
        self._hash(self.mask + 1)
        return True


def _grown(array: NDArray[Any], size: int, value: int) -> NDArray[Any]:
    found = np.full(size, value, dtype=array.dtype)
    found[: len(array)] = array
    return found
