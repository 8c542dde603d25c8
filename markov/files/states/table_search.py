"""A compiled breadth-first search by tables of transitions, which writes the generator's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing.compilation import bound_kernel
from markov.computing.matrices import MAX_INT32, with_diagonal
from markov.files.states import search_kernels as kernels
from markov.files.states.table_arrays import table_arrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.states.tables import TransitionTables

__all__ = ["Reached", "SearchResult", "TableSearch", "WrittenRows"]

MAX_BITMAP_STATES = 1 << 28  # states of a product space that has a bit for each; beyond, words of bits are hashed
INITIAL_CAPACITY = 1 << 16  # states that there is room for at first
STATES_PER_CALL = 1 << 16  # states expanded between two checks of the size
MAX_INSERTION_ROW = 256  # transitions of a state whose row is sorted by insertion
BITS_PER_WORD = 64  # in a word

GATHER = kernels.look_up, kernels.gather, kernels.read


class SearchResult(NamedTuple):
    """Result of a search by tables.

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


class Reached(NamedTuple):
    """A set of states, and the rank of each in the order of their numbers (`search_kernels`)."""

    bits: NDArray[np.int64]
    keys: NDArray[np.int64]
    ranks: NDArray[np.int64]
    mask: int

    @classmethod
    def bitmap(cls, span: int) -> Reached:
        """Return an empty set with a bit for each number below ``span``."""
        size = -(-span // BITS_PER_WORD)
        return cls(np.zeros(size, np.int64), np.zeros(0, np.int64), np.zeros(size, np.int64), -1)

    @classmethod
    def table(cls, size: int) -> Reached:
        """Return an empty set with room for half of ``size`` words, a power of two."""
        bits, keys, ranks = np.zeros((3, size), np.int64)
        return cls(bits, keys, ranks, size - 1)

    def enter(self, words: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
        """Enter bits of words."""
        if self.mask < 0:
            np.bitwise_or.at(self.bits, words, bits)
            return
        arguments = words, bits, self
        make_kernel(kernels.enter, helpers=(kernels.locate,))(*arguments)

    def enlarge(self) -> Reached:
        """Return the set with room for twice as many words."""
        larger, used = self.table(2 * len(self.bits)), self.bits != 0
        larger.enter(self.keys[used], self.bits[used])
        return larger

    def rank(self) -> NDArray[np.int64]:
        """Compute the ranks of the states; return the slots of the words in ascending order."""
        slots = np.flatnonzero(self.bits)
        if self.mask >= 0:
            slots = slots[np.argsort(self.keys[slots])]
        counts = np.bitwise_count(self.bits[slots].view(np.uint64))
        self.ranks[slots] = np.cumsum(counts, dtype=np.int64) - counts
        return slots


class WrittenRows(NamedTuple):
    """Rows of a generator, and numbers of their states, from the words of bits in ``slots``."""

    slots: NDArray[np.int64]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]
    loops: NDArray[np.float64]
    rewarded_rates: NDArray[np.float64]
    ordered: bool


class TableSearch:
    """Breadth-first search, one state after the other, then the rows of all states in ascending order.

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
            self.reached = Reached.bitmap(transitions.layout.span)
        else:
            self.reached = Reached.table(1 << (2 * (len(initial) + transitions.max_transitions)).bit_length())
        self.reached.enter(words, bits)
        self.progress = np.array([0, len(initial), 0, len(words), 0, 0, 0])

    @property
    def count(self) -> int:
        """Number of states so far."""
        return int(self.progress[1])

    @property
    def transitions(self) -> int:
        """Number of transitions out of the expanded states."""
        return int(self.progress[2])

    @property
    def longest_row(self) -> int:
        """Maximum number of transitions out of an expanded state."""
        return int(self.progress[6])

    def run(self, watch: Callable[[int, int], None]) -> int:
        """Search all states; return -1, or the number of a state with a faulty transition.

        Parameters
        ----------
        watch
            Called regularly with the numbers of states and transitions; may raise.
        """
        helpers = (*GATHER, kernels.locate)
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
        """Double the arrays that the next state might exceed."""
        max_transitions, words = self.tables.max_transitions, int(self.progress[3])
        if self.count + max_transitions >= len(self.numbers):
            growth = len(self.numbers) + max_transitions
            self.numbers = np.append(self.numbers, np.zeros(growth, dtype=np.int64))
        while self.reached.mask >= 0 and 2 * (words + max_transitions) > self.reached.mask + 1:
            self.reached = self.reached.enlarge()

    def assemble(self) -> SearchResult:
        """Return the result of the completed search."""
        n, max_entries = self.count, self.transitions + self.count
        kind: Any = np.int32 if max_entries < MAX_INT32 else np.int64
        rows = WrittenRows(
            self.reached.rank(),
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
            kernels.locate,
            kernels.ones,
            kernels.index_of,
            kernels.insert,
        )
        write = bound_kernel(kernels.write_rows, *arguments, helpers=helpers)
        for last in range(STATES_PER_CALL, len(rows.slots) + STATES_PER_CALL, STATES_PER_CALL):
            progress[3] = min(last, len(rows.slots))
            write()
        return SearchResult(self.numbers[:n], _generator(rows, int(progress[2])), rows.loops, rows.rewarded_rates)


def _generator(rows: WrittenRows, entries: int) -> sp.csr_matrix:
    n = len(rows.loops)
    csr: Any = rows.values[:entries], rows.indices[:entries], rows.indptr
    matrix = sp.csr_matrix(csr, shape=(n, n))
    if not rows.ordered:
        matrix.sum_duplicates()
        return with_diagonal(matrix)
    matrix.has_canonical_format = True
    return matrix
