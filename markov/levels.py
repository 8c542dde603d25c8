"""Block-tridiagonal chains: level reduction, and cyclic reduction where the levels are all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.sparse.csgraph import dijkstra

from markov.methods import Solution, eliminate_down_to

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Levels", "Partition", "partition"]

WORTH_IT = 4
_LARGE = 1e20


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
    """
    edges = Q.tocoo()
    found = []
    for name, values in (components or {}).items():
        if component in (None, name):
            jump = int(np.abs(values[edges.row] - values[edges.col]).max(initial=1))
            found.append(_counted((values - values.min()) // max(jump, 1), f"component {name}"))
    if component is None:
        pattern = sp.csr_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
        start = 0
        for _ in range(2):
            distance = dijkstra(pattern, directed=False, indices=[start], unweighted=True)[0]
            start = int(np.argmax(distance))
        found.append(_counted(distance.astype(np.int64), "the graph"))
    if not found:
        known = ", ".join(components or {}) or "none: the chain is not a model's"
        raise ValueError(f"component = {component!r}: must be one of the model's ({known})")
    return min(found, key=lambda candidate: candidate.work)


def _counted(level: NDArray[np.int64], origin: str) -> Partition:
    return Partition(level, np.bincount(level), origin)


class _Factors(NamedTuple):
    """What gives pi on ``levels`` from pi on the levels beside them, each shape (count,)."""

    levels: NDArray[np.int64]
    beside: tuple[NDArray[np.int64], ...]
    inward: NDArray[np.float64]
    within: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        return int(self.inward.nbytes + self.within.nbytes)


@dataclass(frozen=True)
class Levels:
    """Level reduction of a block-tridiagonal chain without subtractions.

    Levels are eliminated from the last to the first, each censored on the one below by the
    elimination of Grassmann, Taksar and Heyman: entrywise accurate, O(L m^3) time and O(L m^2) memory
    for L levels of m states. Among the inner levels of a run that are all alike, every second one is
    eliminated at a time (cyclic reduction): O(m^3 log L) time for the run, and no more memory than
    its part of pi. Use it whenever some numbering keeps the levels small.

    Parameters
    ----------
    component
        The component of the model's state that counts the levels; None looks for the cheapest, in
        the components and in the graph.
    cyclic
        False reduces level by level, also where levels are alike.

    Notes
    -----
    D. P. Gaver, P. A. Jacobs, G. Latouche, Finite birth-and-death models in randomly changing
    environments, Adv. Appl. Prob. 16, 1984; cyclic reduction: D. A. Bini, G. Latouche, B. Meini,
    Numerical Methods for Structured Markov Chains, 2005, ch. 7.
    """

    component: str | None = None
    cyclic: bool = True

    def solve(
        self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None
    ) -> Solution:
        """Return pi of an irreducible generator."""
        levels = partition(Q, components, self.component)
        order = np.argsort(levels.level, kind="stable")
        reduction = _Reduction(Q[order][:, order].tocsr(), levels.sizes)
        run = reduction.longest_run() if self.cyclic else (0, 0)
        with np.errstate(all="ignore"):  # rates beyond float64 show in pi, which is looked at
            sorted_pi = reduction.solve(*run)
            if run[1] > run[0] and not np.all(np.isfinite(sorted_pi)):
                sorted_pi = reduction.solve(0, 0)  # beyond float64 across the run
        pi = np.empty_like(sorted_pi)
        pi[order] = sorted_pi
        return Solution(pi, memory=reduction.memory)


class _Reduction:
    """The elimination of levels, numbered one after the other."""

    def __init__(self, Q: sp.csr_matrix, sizes: NDArray[np.int64]) -> None:
        Q.sort_indices()
        self.Q = Q
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.last = len(sizes) - 1
        self.memory = 0

    def block(self, row: int, column: int) -> NDArray[np.float64]:
        """Return the rates from one level to another, the diagonal zero."""
        s = self.start
        dense: NDArray[np.float64] = self.Q[
            s[row] : s[row + 1], s[column] : s[column + 1]
        ].toarray()
        if row == column:
            np.fill_diagonal(dense, 0.0)
        return dense

    def longest_run(self) -> tuple[int, int]:
        """Return the first and last level of the longest run with equal rows, or (0, 0)."""
        best, first = (0, 0), 0
        for level in range(1, self.last + 2):
            if level > self.last or not self._alike(level):
                if level - 1 - first > best[1] - best[0]:
                    best = first, level - 1
                first = level
        return best if best[1] - best[0] > WORTH_IT else (0, 0)

    def _alike(self, level: int) -> bool:
        """Whether a level has the rows of the one before it."""
        (x, y, z), indptr = self.start[level - 1 : level + 2], self.Q.indptr
        if y - x != z - y:
            return False
        rows = indptr[y : z + 1], indptr[x : y + 1]
        if not np.array_equal(rows[0] - rows[0][0], rows[1] - rows[1][0]):
            return False
        a, b = slice(rows[0][0], rows[0][-1]), slice(rows[1][0], rows[1][-1])
        return np.array_equal(self.Q.indices[a] - (y - x), self.Q.indices[b]) and np.array_equal(
            self.Q.data[a], self.Q.data[b]
        )

    def solve(self, first: int, last: int) -> NDArray[np.float64]:
        """Return pi; the levels first .. last have equal rows."""
        factors: list[_Factors] = []
        local = self.block(self.last, self.last)
        level = self.last
        while level > 0:
            if level == last and first < last:
                local = self._reduce_run(local, first, last, factors)
                level = first
                continue
            local = self._reduce(
                self.block(level - 1, level - 1),
                self.block(level - 1, level),
                self.block(level, level - 1),
                local,
                (level, level - 1),
                factors,
            )
            level -= 1
        self.memory = sum(part.nbytes for part in factors)
        return self._pi(local, factors)

    def _reduce(
        self,
        below: NDArray[np.float64],
        up: NDArray[np.float64],
        down: NDArray[np.float64],
        local: NDArray[np.float64],
        levels: tuple[int, int],
        factors: list[_Factors],
    ) -> NDArray[np.float64]:
        """Eliminate a level with one neighbour; return the neighbour's local rates."""
        m = len(below)
        window = np.block([[below, up], [down, local]])
        eliminate_down_to(window, m)
        level, beside = (np.array([number]) for number in levels)
        factors.append(_Factors(level, (beside,), window[:m, m:].copy(), window[m:, m:].copy()))
        return window[:m, :m].copy()

    def _reduce_run(
        self, top: NDArray[np.float64], first: int, last: int, factors: list[_Factors]
    ) -> NDArray[np.float64]:
        """Eliminate first + 1 .. last by cyclic reduction; return the local rates of ``first``.

        ``top`` has the local rates of ``last``. All coupling blocks are those of the first's
        neighbour above.
        """
        bottom = local = self.block(first, first)
        up, down = self.block(first, first + 1), self.block(first + 1, first)
        m, zero = len(local), np.zeros_like(local)
        kept = np.arange(first, last + 1)
        while len(kept) > 2:
            if len(kept) % 2 == 0:  # the last one goes, so that the number inside is odd
                top = self._reduce(local, up, down, top, (kept[-1], kept[-2]), factors)
                kept = kept[:-1]
            window = np.block([[zero, zero, up], [zero, zero, down], [down, up, local]])
            eliminate_down_to(window, 2 * m)
            inward, within = window[: 2 * m, 2 * m :].copy(), window[2 * m :, 2 * m :].copy()
            factors.append(_Factors(kept[1::2], (kept[:-1:2], kept[2::2]), inward, within))
            returned_up, returned_down = window[:m, :m], window[m : 2 * m, m : 2 * m]
            bottom, top = bottom + returned_up, top + returned_down
            local = local + returned_up + returned_down
            up, down = window[:m, m : 2 * m].copy(), window[m : 2 * m, :m].copy()
            kept = kept[::2]
        return self._reduce(bottom, up, down, top, (kept[1], kept[0]), factors)

    def _pi(self, local: NDArray[np.float64], factors: list[_Factors]) -> NDArray[np.float64]:
        """Return pi from the local rates of level 0 and the factors, the last one first."""
        pi = np.zeros(int(self.start[-1]))
        m = len(local)
        eliminate_down_to(local, 1)
        pi[0] = 1.0
        if m > 1:
            pi[1:m] = _substitute(local[:1, 1:].copy(), local[1:, 1:])
        for levels, beside, inward, within in reversed(factors):
            states = self.start[levels][:, None] + np.arange(len(within))
            around = [
                pi[self.start[b][:, None] + np.arange(self.start[b[0] + 1] - self.start[b[0]])]
                for b in beside
            ]
            part = _substitute(np.hstack(around) @ inward, within)
            pi[states] = part
            largest = float(part.max())
            if largest > _LARGE:
                pi = np.ldexp(pi, -int(np.frexp(largest)[1]))  # exact
        total: NDArray[np.float64] = pi / pi.sum()
        return total


def _substitute(into: NDArray[np.float64], within: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve x = into + x U, U the strict upper triangle of ``within``; shape (count, m).

    The substitution only adds products of non-negative numbers.
    """
    matrix = -np.triu(within, 1)
    solution: NDArray[np.float64] = solve_triangular(
        matrix, into.T, trans="T", unit_diagonal=True, check_finite=False
    )
    return solution.T
