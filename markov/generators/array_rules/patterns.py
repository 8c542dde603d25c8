"""Where the rates of listed transitions go in their generator, for all chains with the same transitions."""

from __future__ import annotations

from collections import OrderedDict
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import led_to
from markov.computing.matrices import MAX_INT32, with_diagonal
from markov.models.state_tables import sample_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from markov.generators.edges import Edges
    from markov.models.spaces import Space

__all__ = ["EdgePattern", "pattern_of"]

MAX_REMEMBERED = 32
MAX_TRANSITIONS = 50_000
"""Of a chain whose pattern is kept for the next one."""
FEWEST, STATES_PER_SAMPLE = 16, 128
"""Random states that are compared with plain Python: this many, and one for this many states."""


class EdgePattern:
    """The generator of some transitions between numbered states, without their rates.

    Parameters
    ----------
    edges
        Those of each source in the order in which rules yield them.
    space
        The states.
    numbers
        Those that count, ascending; None: all of the space, or those that ``first`` leads to.
    first
        The start, or None.

    Attributes
    ----------
    codes
        The states that count, ascending, shape (components, states).
    enters_deferred
        Whether a state counts whose transitions are not among the edges: then there is no pattern.
    first_deferred
        The number of the first of these, or None.
    """

    def __init__(self, edges: Edges, space: Space, numbers: NDArray[np.int64] | None, first: int | None) -> None:
        self.sources, self.targets, self.deferred = edges[0], edges[1], edges.deferred
        self._space = space
        self._sample: list[int] | None = None
        late = edges.deferred if first is None else edges.deferred[:0]
        moves = edges.sources != edges.targets
        if numbers is None and first is not None:
            shape = (space.size, space.size)
            graph = sp.csr_matrix(
                (np.ones(len(edges.rates), dtype=np.int8), (edges.sources, edges.targets)),
                shape=shape,
            )
            entered = led_to(graph, first)
            late = edges.deferred[entered[edges.deferred]]
            numbers = np.flatnonzero(entered)
            moves &= entered[edges.sources]
        self.enters_deferred = len(late) > 0
        self.first_deferred = int(late[0]) if len(late) else None
        if self.enters_deferred:
            return
        self.numbers = np.arange(space.size) if numbers is None else numbers
        self.codes = space.unnumbered(self.numbers)
        self.n = n = len(self.numbers)
        self._kept = None if moves.all() else np.flatnonzero(moves)
        ends = [part if self._kept is None else part[self._kept] for part in (edges.sources, edges.targets)]
        rank = self._rank(space.size)
        sources, targets = rank(ends[0]), rank(ends[1])
        kind: Any = np.int32 if max(len(sources) + n, n) < MAX_INT32 else np.int64
        key = sources * n + targets
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        self._order, self._starts = order, None if len(starts) == len(order) else starts
        first_of = order[starts]
        indptr = np.searchsorted(sources[first_of], np.arange(n + 1)).astype(kind)
        parts: Any = (np.ones(len(first_of)), targets[first_of].astype(kind), indptr)
        rates = sp.csr_matrix(parts, shape=(n, n))
        rates.has_canonical_format = True
        self._matrix = with_diagonal(rates)
        self._rows = np.repeat(np.arange(n), np.diff(indptr))
        diagonal = np.repeat(np.arange(n), np.diff(self._matrix.indptr)) == self._matrix.indices
        self._off, self._own = np.flatnonzero(~diagonal), np.flatnonzero(diagonal)
        self._leaves = self._matrix.indices[self._own]

    def _rank(self, size: int) -> Any:
        """Return a function from the numbers of states that count to their places."""
        if self.n == size:
            return lambda numbers: numbers
        if size <= 4 * self.n:
            place = np.zeros(size, dtype=np.int64)
            place[self.numbers] = np.arange(self.n)
            return lambda numbers: place[numbers]
        return lambda numbers: np.searchsorted(self.numbers, numbers)

    def fits(self, edges: Edges) -> bool:
        """Whether other transitions join the same states in the same order."""
        pairs = zip(
            (self.sources, self.targets, self.deferred),
            (edges[0], edges[1], edges.deferred),
            strict=True,
        )
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def generator(self, rates: NDArray[np.float64]) -> sp.csr_matrix:
        """Return the generator with these rates, shape (states, states)."""
        kept = rates if self._kept is None else rates[self._kept]
        off = kept[self._order]
        if self._starts is not None:
            with np.errstate(over="ignore"):  # rates that are not finite are looked for
                off = np.add.reduceat(off, self._starts)
        matrix = copy(self._matrix)  # shallow: chains with the same transitions share the pattern
        data = np.empty(len(matrix.indices))
        data[self._off] = off
        data[self._own] = -np.bincount(self._rows, off, self.n)[self._leaves]
        matrix.data = data
        return matrix

    @property
    def sample(self) -> list[int]:
        """The states to compare with plain Python: a function of the states alone."""
        if self._sample is None:
            self._sample = sample_of(self._space, self.codes, FEWEST + self.n // STATES_PER_SAMPLE)
        return self._sample


_remembered: OrderedDict[Hashable, EdgePattern] = OrderedDict()


def pattern_of(
    key: Hashable,
    edges: Edges,
    space: Space,
    numbers: NDArray[np.int64] | None,
    first: int | None,
) -> EdgePattern:
    """Return the pattern of some transitions, that of the last chain with this key where it fits.

    That it is kept saves time and changes nothing: a pattern is a function of the other arguments.
    """
    known = _remembered.get(key)
    if known is not None and known.fits(edges):
        return known
    pattern = EdgePattern(edges, space, numbers, first)
    if len(pattern.sources) <= MAX_TRANSITIONS and not pattern.enters_deferred:
        _remembered[key] = pattern
        _remembered.move_to_end(key)
        while len(_remembered) > MAX_REMEMBERED:
            _remembered.popitem(last=False)
    return pattern
