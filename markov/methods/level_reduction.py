"""Block-tridiagonal chains: level reduction, and cyclic reduction of identical levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import flag, instance
from markov.computing.matrices import row_numbers
from markov.computing.memory import check_room
from markov.elimination.patterns import BLOCK
from markov.methods.block_reduction import MAX_DIRECT_LEVELS, Reduction, Rows, Segment
from markov.methods.gth import entry_error, level_counts
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Levels", "Partition", "partition"]


class Partition(NamedTuple):
    """States in levels such that no transition skips one.

    Attributes
    ----------
    level
        Level of each state, 0 .. levels - 1, shape (n,).
    sizes
        Number of states of each level.
    origin
        Where the levels were found.
    """

    level: NDArray[np.int64]
    sizes: NDArray[np.int64]
    origin: str

    @property
    def work(self) -> float:
        """Multiplications of a level reduction."""
        sizes = self.sizes.astype(float)
        below = np.concatenate([[0.0], sizes[:-1]])
        return float((sizes * (sizes + below) ** 2).sum())

    @property
    def memory(self) -> float:
        """Bytes that a level reduction keeps."""
        sizes = self.sizes.astype(float)
        below = np.concatenate([[0.0], sizes[:-1]])
        return float(8.0 * (sizes * (sizes + below)).sum())


def partition(
    Q: sp.csr_matrix,
    components: Mapping[str, NDArray[np.int64]] | None = None,
    component: str | None = None,
    max_work: float = math.inf,
) -> Partition:
    """Return the cheapest partition into levels of an irreducible chain.

    Candidates are the values of each component of the model, several values to a level when
    transitions change it by more than one, and the distances in the graph from a state at its rim.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    components
        The values of each component by state.
    component
        Only this one.
    max_work
        Work above which the choice of partition does not matter.
    """
    edges = Q.tocoo()
    candidates = []
    for name, values in (components or {}).items():
        if component in (None, name):
            jump = int(np.abs(values[edges.row] - values[edges.col]).max(initial=1))
            candidates.append(_partition_of((values - values.min()) // max(jump, 1), f"component {name}"))
    if component is None:
        from scipy.sparse.csgraph import dijkstra

        pattern = sp.csr_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
        start = 0
        for _ in range(2):
            distance = dijkstra(pattern, directed=False, indices=[start], unweighted=True)[0]
            start = int(np.argmax(distance))
            if float(Q.shape[0]) ** 3 > max_work * (2.0 * distance[start] + 1.0) ** 2:
                break  # so few levels as there may be are too large
        candidates.append(_partition_of(distance.astype(np.int64), "the graph"))
    if not candidates:
        names = ", ".join(components or {}) or "none: the chain is not a model's"
        raise ValueError(f"component = {component!r}: must be one of the model's ({names})")
    return min(candidates, key=lambda candidate: candidate.work)


def _partition_of(level: NDArray[np.int64], origin: str) -> Partition:
    return Partition(level, np.bincount(level), origin)


@dataclass(frozen=True)
class Levels:
    """Level reduction of a block-tridiagonal chain without subtractions.

    Levels are eliminated from the last to the first, each censored on the level below by the
    elimination of Grassmann, Taksar and Heyman: entrywise accurate, O(L m^3) time and O(L m^2) memory
    for L levels of m states. In a run of identical inner levels, every second level is
    eliminated at a time (cyclic reduction): O(m^3 log L) time for the run, and no more memory than
    its part of pi. Use it whenever a numbering keeps the levels small.

    Parameters
    ----------
    component
        The component of the model's state that counts the levels; None takes the cheapest among
        the components and the distances in the graph.
    cyclic
        False reduces level by level, identical levels too.

    Notes
    -----
    D. P. Gaver, P. A. Jacobs, G. Latouche, Finite birth-and-death models in randomly changing
    environments, Adv. Appl. Prob. 16, 1984; cyclic reduction: D. A. Bini, G. Latouche, B. Meini,
    Numerical Methods for Structured Markov Chains, 2005, ch. 7.

    Examples
    --------
    >>> from markov import MM1K, Levels, stationary
    >>> answer = stationary(MM1K(), Levels())
    >>> str(answer.status), answer.entry_error < 1e-12
    ('converged', True)
    """

    component: str | None = None
    cyclic: bool = True

    def __post_init__(self) -> None:
        if self.component is not None:
            instance("component", self.component, str, "the name of a component, or None")
        object.__setattr__(self, "cyclic", flag("cyclic", self.cyclic))

    def solve(self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None) -> Solution:
        """Return pi of an irreducible generator.

        Raises
        ------
        TooLargeError
            When the blocks, filled in, would not fit into memory, before one is made.
        """
        levels = partition(Q, components, self.component)
        order = np.argsort(levels.level, kind="stable")
        blocks = _Blocks(Q[order][:, order].tocsr(), levels.sizes)
        runs = blocks.runs() if self.cyclic else blocks.single()
        reduction = blocks.reduce(runs)
        if not reduction.finite:  # beyond float64 across a run
            runs = blocks.single()
            reduction = blocks.reduce(runs)
        pi = np.empty(Q.shape[0])
        for segment, (first, count) in enumerate(runs):
            states = order[blocks.start[first] : blocks.start[first + count]]
            pi[states] = reduction.values(segment, np.arange(count)).ravel()
        pi /= pi.sum()
        error = math.inf
        if reduction.finite and reduction.extremes.keep_edges(Q, pi):
            error = entry_error(blocks.counts(runs), len(pi))
        return Solution(pi, memory=reduction.memory, entry_error=error)


class _Blocks:
    """The blocks of a generator whose states are sorted by level."""

    def __init__(self, Q: sp.csr_matrix, sizes: NDArray[np.int64]) -> None:
        Q.sort_indices()
        self.Q = Q
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.last = len(sizes) - 1

    def reduce(self, runs: list[tuple[int, int]]) -> Reduction:
        """Reduce the chain by runs of levels, once it is known that there is room."""
        first, count = np.array(runs).T
        m = np.diff(self.start)[first].astype(float)
        below = np.concatenate([[0.0], m[:-1]])
        stages = np.ceil(np.log2(count)) + 1.0  # of cyclic reduction, each of which may leave a level
        retained = np.where(count <= MAX_DIRECT_LEVELS, count, 2.0 * stages)
        predicted = 8.0 * float((retained * m * (m + below)).sum() + ((m + below) ** 2).max())
        check_room(f"Levels() of up to {int(m.max())} states", predicted)
        return Reduction([Segment(self.rows(level), n) for level, n in runs])

    def counts(self, runs: list[tuple[int, int]]) -> float:
        """Return the roundings that an entry of pi may have, for a reduction by such runs."""
        sizes = np.diff(self.start)
        below, above = np.append(0, sizes[:-1]), np.append(sizes[1:], 0)
        beside = np.maximum(below, above)
        for first, count in runs:
            if count > MAX_DIRECT_LEVELS:  # between two levels that stay
                beside[first : first + count] = (below + above)[first : first + count]
        return level_counts(sizes, beside, BLOCK)

    def rows(self, level: int) -> Callable[[], Rows]:
        """Return a function that makes the rates out of a level as dense blocks."""
        return lambda: self._dense(level)

    def _dense(self, level: int) -> Rows:
        first, last = self.start[level : level + 2]
        low, high = self.start[max(level - 1, 0)], self.start[min(level + 2, self.last + 1)]
        pointers = self.Q.indptr[first : last + 1]
        entries = slice(pointers[0], pointers[-1])
        row = row_numbers(pointers)
        dense = np.zeros((last - first, high - low))
        dense[row, self.Q.indices[entries] - low] = self.Q.data[entries]
        down, local, up = np.hsplit(dense, [first - low, last - low])
        np.fill_diagonal(local, 0.0)
        return Rows(down, local, up)

    def single(self) -> list[tuple[int, int]]:
        """Return every level by itself, as (level, 1)."""
        return [(level, 1) for level in range(self.last + 1)]

    def runs(self) -> list[tuple[int, int]]:
        """Return the runs of levels with equal rows, as (first level, how many)."""
        pairs: list[tuple[int, int]] = []
        for level in range(self.last + 1):
            if pairs and self._alike(level):
                pairs[-1] = pairs[-1][0], pairs[-1][1] + 1
            else:
                pairs.append((level, 1))
        return pairs

    def _alike(self, level: int) -> bool:
        """Return whether a level has the rows of the previous level, between levels of its size."""
        if not 1 < level < self.last or len(set(np.diff(self.start[level - 2 : level + 3]))) > 1:
            return False
        (x, y, z), indptr = self.start[level - 1 : level + 2], self.Q.indptr
        rows = indptr[y : z + 1], indptr[x : y + 1]
        if not np.array_equal(rows[0] - rows[0][0], rows[1] - rows[1][0]):
            return False
        a, b = slice(rows[0][0], rows[0][-1]), slice(rows[1][0], rows[1][-1])
        return np.array_equal(self.Q.indices[a] - (y - x), self.Q.indices[b]) and np.array_equal(
            self.Q.data[a], self.Q.data[b]
        )
