"""A compiled breadth-first search by tables of transitions, which writes the generator's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing.compilation import bound_kernel
from markov.computing.matrices import MAX_INT32, with_diagonal
from markov.files.states import search_kernels as kernels
from markov.files.states.table_arrays import arrays_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.states.tables import Tabulated

__all__ = ["Found", "Reached", "TableSearch", "WrittenRows"]

DIRECT = 1 << 28  # states of a product space that has a bit for each; beyond, words of bits are hashed
FIRST = 1 << 16  # states that there is room for at first
BURST = 1 << 16  # states expanded between two checks of the size
LONGEST_ROW = 256  # transitions of a state whose row is sorted by insertion
BITS = 64  # in a word

GATHER = kernels.look_up, kernels.gather, kernels.read


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


class Reached(NamedTuple):
    """A set of states, and the place of each among them in the order of their numbers (`search_kernels`)."""

    bits: NDArray[np.int64]
    keys: NDArray[np.int64]
    ranks: NDArray[np.int64]
    mask: int

    @classmethod
    def direct(cls, span: int) -> Reached:
        """Return an empty set with a bit for each number below ``span``."""
        size = -(-span // BITS)
        return cls(np.zeros(size, np.int64), np.zeros(0, np.int64), np.zeros(size, np.int64), -1)

    @classmethod
    def hashed(cls, size: int) -> Reached:
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

    def enlarged(self) -> Reached:
        """Return the set with room for twice as many words."""
        larger, used = self.hashed(2 * len(self.bits)), self.bits != 0
        larger.enter(self.keys[used], self.bits[used])
        return larger

    def ranked(self) -> NDArray[np.int64]:
        """Give the states their places among all; return where the words are, ascending."""
        places = np.flatnonzero(self.bits)
        if self.mask >= 0:
            places = places[np.argsort(self.keys[places])]
        counts = np.bitwise_count(self.bits[places].view(np.uint64))
        self.ranks[places] = np.cumsum(counts, dtype=np.int64) - counts
        return places


class WrittenRows(NamedTuple):
    """Rows of a generator, and numbers of their states, from the words of bits at some places."""

    places: NDArray[np.int64]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]
    loops: NDArray[np.float64]
    earned: NDArray[np.float64]
    ordered: bool


class TableSearch:
    """Breadth first, one state after the other; then the rows of all, which are ascending.

    Parameters
    ----------
    made
        The transitions.
    initial
        Numbers of the states to begin with, each once.
    actions
        How many actions are rewarded.
    """

    def __init__(self, made: Tabulated, initial: NDArray[np.int64], actions: int) -> None:
        self.tables, self.actions = arrays_of(made), actions
        self.numbers = np.zeros(max(FIRST, 2 * len(initial)) + made.most, dtype=np.int64)
        self.numbers[: len(initial)] = initial
        words, bits = initial // BITS, np.left_shift(1, initial % BITS)
        if made.layout.span <= DIRECT:
            self.reached = Reached.direct(made.layout.span)
        else:
            self.reached = Reached.hashed(1 << (2 * (len(initial) + made.most)).bit_length())
        self.reached.enter(words, bits)
        self.progress = np.array([0, len(initial), 0, len(words), 0, 0, 0])

    @property
    def count(self) -> int:
        """States found so far."""
        return int(self.progress[1])

    @property
    def transitions(self) -> int:
        """Transitions out of those that were expanded."""
        return int(self.progress[2])

    @property
    def longest(self) -> int:
        """Most transitions out of one of them."""
        return int(self.progress[6])

    def run(self, watch: Callable[[int, int], None]) -> int:
        """Find all states; return -1, or the number of one with a transition that has a fault.

        Parameters
        ----------
        watch
            Called with the states and the transitions so far, now and then; may raise.
        """
        helpers = (*GATHER, kernels.locate)
        while self.progress[0] < self.progress[1]:
            self._make_room()
            self.progress[4] = self.progress[0] + BURST
            arguments = self.progress, self.tables, self.reached, self.numbers
            bound_kernel(kernels.reach, *arguments, helpers=helpers)()
            if self.progress[5]:
                return int(self.numbers[self.progress[0]])
            watch(self.count, self.transitions)
        return -1

    def _make_room(self) -> None:
        """Double what the next state might not fit into."""
        most, words = self.tables.most, int(self.progress[3])
        if self.count + most >= len(self.numbers):
            more = len(self.numbers) + most
            self.numbers = np.append(self.numbers, np.zeros(more, dtype=np.int64))
        while self.reached.mask >= 0 and 2 * (words + most) > self.reached.mask + 1:
            self.reached = self.reached.enlarged()

    def assembled(self) -> Found:
        """Return what was found; the search is over."""
        n, most = self.count, self.transitions + self.count
        kind: Any = np.int32 if most < MAX_INT32 else np.int64
        rows = WrittenRows(
            self.reached.ranked(),
            np.zeros(n + 1, dtype=kind),
            np.empty(most, dtype=kind),
            np.empty(most),
            self.numbers,
            np.zeros(n),
            np.zeros((self.actions, n)),
            self.longest <= LONGEST_ROW,
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
        for last in range(BURST, len(rows.places) + BURST, BURST):
            progress[3] = min(last, len(rows.places))
            write()
        return Found(self.numbers[:n], _generator(rows, int(progress[2])), rows.loops, rows.earned)


def _generator(rows: WrittenRows, entries: int) -> sp.csr_matrix:
    n = len(rows.loops)
    found: Any = rows.values[:entries], rows.indices[:entries], rows.indptr
    matrix = sp.csr_matrix(found, shape=(n, n))
    if not rows.ordered:
        matrix.sum_duplicates()
        return with_diagonal(matrix)
    matrix.has_canonical_format = True
    return matrix
