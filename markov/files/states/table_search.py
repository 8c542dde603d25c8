"""A compiled breadth-first search by tables of transitions, which writes the generator's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import shape_of
from markov.computing.compilation import compiled
from markov.computing.matrices import MAX_INT32, from_edges, rank_of
from markov.files.states import search_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.binding import Bound
    from markov.files.states.tables import Tables

__all__ = ["Codes", "Edges", "FilledRows", "Found", "Room", "States", "TableSearch"]

DIRECT = 1 << 26  # states of a product space that has a place for each; beyond, they are hashed
EDGES = 1 << 19  # transitions recorded between two checks of the size
FIRST = 1 << 16  # states that there is room for at first
LONGEST_ROW = 256  # transitions of a state whose row is sorted by insertion


class Found(NamedTuple):
    """States that a search found.

    Attributes
    ----------
    numbers
        In the product space, ascending.
    Q
        Generator, shape (n, n).
    loops
        Total rate from each state to itself, shape (n,).
    earned
        Total rate of the transitions with each rewarded action, shape (actions, n).
    """

    numbers: NDArray[np.int64]
    Q: sp.csr_matrix
    loops: NDArray[np.float64]
    earned: NDArray[np.float64]


class Codes(NamedTuple):
    """Where the value of each variable is in the number of a state, and room for the values of one state."""

    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]
    digits: NDArray[np.int64]

    @classmethod
    def of(cls, bound: Bound) -> Codes:
        """Return those of a program whose variables have bits of their own."""
        shifts = np.array(bound.shifts, dtype=np.int64)
        widths = [(r.count - 1).bit_length() for r in bound.ranges]
        masks = np.array([(1 << width) - 1 for width in widths], dtype=np.int64)
        return cls(shifts, masks, np.zeros_like(shifts))


class States(NamedTuple):
    """States in the order of their discovery, and the table that finds them (`search_kernels`)."""

    numbers: NDArray[np.int64]
    degrees: NDArray[np.int32]
    earned: NDArray[np.float64]
    slots: NDArray[Any]
    mask: int


class Edges(NamedTuple):
    """Transitions in the order of their sources."""

    targets: NDArray[np.int32]
    rates: NDArray[np.float64]


class FilledRows(NamedTuple):
    """Rows of a generator, each with more room than it may need, and the rates from states to themselves."""

    start: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    loops: NDArray[np.float64]


class Room(NamedTuple):
    """Where the kernel writes the transitions of a group and those of one participant."""

    rates: NDArray[np.float64]
    changes: NDArray[np.int64]
    new_rates: NDArray[np.float64]
    new_changes: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Tables) -> Room:
        """Return room for the transitions of a state."""
        n = tables.most
        return cls(np.empty(n), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64))


class TableSearch:
    """Breadth first, one state after the other.

    Parameters
    ----------
    tables
        The transitions.
    bound
        The program, with the ranges of its variables.
    initial
        Numbers of the states to begin with, each once.
    actions
        How many actions are rewarded.
    """

    def __init__(
        self, tables: Tables, bound: Bound, initial: NDArray[np.int64], actions: int
    ) -> None:
        self.tables = tables
        self.codes, self.room, most = Codes.of(bound), Room.of(tables), tables.most
        self.progress = np.array([0, len(initial), 0, 0])
        self.numbers = np.zeros(max(FIRST, 2 * len(initial) + most), dtype=np.int64)
        self.numbers[: len(initial)] = initial
        self.degrees = np.zeros(len(self.numbers), dtype=np.int32)
        self.earned = np.zeros((actions, len(self.numbers)))
        self.mask = -1
        self.slots: NDArray[Any] = np.zeros(0, dtype=np.int64)
        if bound.span <= DIRECT:
            self.slots = np.zeros(bound.span, dtype=np.int32)
            self.slots[initial] = np.arange(1, len(initial) + 1)
        else:
            self._enlarge_hash()
        self.edges: list[tuple[int, Edges]] = []
        self.transitions = 0

    @property
    def count(self) -> int:
        """States found so far."""
        return int(self.progress[1])

    def run(self, watch: Callable[[int, int], None]) -> int:
        """Find all states; return -1, or the number of one with a transition that has a fault.

        Parameters
        ----------
        watch
            Called with the states and the transitions so far, now and then; may raise.
        """
        size = max(EDGES, 4 * self.tables.most)
        expand = None
        while self.progress[0] < self.progress[1]:
            self._make_room()
            edges = Edges(np.empty(size, np.int32), np.empty(size))
            states = States(self.numbers, self.degrees, self.earned, self.slots, self.mask)
            arguments = self.progress, self.codes, self.tables, states, edges, self.room
            if expand is None:
                expand = compiled(
                    kernels.expand,
                    shape_of(arguments),
                    helpers=(kernels.look_up, kernels.gather, kernels.locate, kernels.emit),
                )
            first, self.progress[2] = int(self.progress[0]), 0
            expand(*arguments)
            if self.progress[3]:
                return int(self.numbers[self.progress[0]])
            recorded = int(self.progress[2])
            if 2 * recorded < size:
                edges = Edges(edges.targets[:recorded].copy(), edges.rates[:recorded].copy())
            self.edges.append((first, edges))
            self.transitions += recorded
            watch(self.count, self.transitions)
        return -1

    def _make_room(self) -> None:
        """Double what the next state might not fit into."""
        most = self.tables.most
        if self.count + most > len(self.numbers):
            more = len(self.numbers) + most
            self.numbers = np.append(self.numbers, np.zeros(more, dtype=np.int64))
            self.degrees = np.append(self.degrees, np.zeros(more, dtype=np.int32))
            self.earned = np.append(self.earned, np.zeros((len(self.earned), more)), axis=1)
        while self.mask >= 0 and 2 * (self.count + most) > self.mask + 1:
            self._enlarge_hash()

    def _enlarge_hash(self) -> None:
        self.mask = max(4 * FIRST, 2 * (self.mask + 1)) - 1
        self.slots = np.zeros(2 * (self.mask + 1), dtype=np.int64)
        rest = self.numbers, 0, self.count, self.slots, self.mask
        compiled(kernels.rehash, shape_of(rest), helpers=(kernels.locate,))(*rest)

    def assembled(self) -> Found:
        """Return what was found; the search is over."""
        n = self.count
        numbers, degrees = self.numbers[:n], self.degrees[:n]
        self.slots = np.zeros(0, dtype=np.int64)  # no longer needed: room for the rest
        order = np.argsort(numbers)
        loops = np.zeros(n)
        longest = int(degrees.max(initial=0))
        make = self._generator if longest <= LONGEST_ROW else self._sorted_generator
        Q = make(order, loops)
        return Found(numbers[order], Q, loops, self.earned[:, :n][:, order])

    def _generator(self, order: NDArray[np.int64], loops: NDArray[np.float64]) -> sp.csr_matrix:
        """Return the generator, whose rows are written where they belong one by one."""
        n = len(order)
        rank = rank_of(order).astype(np.int32)
        start = np.append(0, np.cumsum(self.degrees[order] + np.int64(1)))
        kind: Any = np.int32 if start[-1] < MAX_INT32 else np.int64
        indices, values = np.empty(start[-1], dtype=kind), np.empty(start[-1])
        counts = np.zeros(n, dtype=np.int64)
        ends = [*(first for first, _ in self.edges[1:]), n]
        made = FilledRows(start, indices, values, counts, loops)
        for end in ends:
            first, edges = self.edges.pop(0)
            rest = first, end, self.degrees, edges, rank, made
            compiled(kernels.fill, shape_of(rest), helpers=(kernels.insert,))(*rest)
        indptr = np.append(0, np.cumsum(counts))
        if indptr[-1] < start[-1]:
            rows = start, indptr, indices, values
            compiled(kernels.compress, shape_of(rows))(*rows)
            indices, values = indices[: indptr[-1]], values[: indptr[-1]]
        found: Any = values, indices, indptr.astype(kind)
        matrix = sp.csr_matrix(found, shape=(n, n))
        matrix.has_canonical_format = True
        return matrix

    def _sorted_generator(
        self, order: NDArray[np.int64], loops: NDArray[np.float64]
    ) -> sp.csr_matrix:
        """Return the generator of transitions that are sorted all together."""
        rank = rank_of(order)
        targets = rank[np.concatenate([edges.targets for _, edges in self.edges])]
        rates = np.concatenate([edges.rates for _, edges in self.edges])
        self.edges.clear()
        sources = np.repeat(rank, self.degrees[: len(order)])
        own = sources == targets
        loops += np.bincount(sources[own], rates[own], minlength=len(order))
        return from_edges(sources, targets, rates, len(order))
