"""Block-tridiagonal chains: level reduction, and cyclic reduction of identical levels.

`Levels` partitions the states into levels such that no transition skips one (`partition`), and finds the runs of
identical levels (`_Blocks`). `Reduction` eliminates and solves them; it serves quasi-birth-death processes with
infinitely many levels as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.parameters import param, validate_parameters
from markov.computing.matrices import row_numbers, strong_components
from markov.computing.resources import Counter, check_room
from markov.elimination.bands import BLOCK, eliminate_down_to
from markov.methods.gth import Extremes, entry_error, level_counts
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Levels", "Partition", "Reduction", "Rows", "Segment", "partition"]

MAX_DIRECT_LEVELS = 4  # of a run; longer runs are reduced by cyclic reduction
_RESCALING_LIMIT = 1e20
_UNDERFLOW_LIMIT = 1e-305


class Rows(NamedTuple):
    """Rates in 1/s out of the m states of a level: to the level below, within the level, and to the level above.

    Attributes
    ----------
    down, up
        To the level below and the level above, shape (m, their states); not read at the lowest and highest level.
    local
        To the level's own states, shape (m, m), the diagonal zero.
    """

    down: NDArray[np.float64]
    local: NDArray[np.float64]
    up: NDArray[np.float64]


class Segment(NamedTuple):
    """A run of consecutive levels with the same rates.

    Attributes
    ----------
    rows
        Returns their rates.
    length
        Number of levels; None for infinitely many, in the last segment only.
    """

    rows: Callable[[], Rows]
    length: int | None


class _Node(NamedTuple):
    """A level that remains after cyclic reduction of the inner levels of every run.

    ``sums``, shape (m, 2 m), are weights: pi @ sums are the sums of pi and of offset * pi by state, over this level and
    over the levels eliminated into it. None: the level alone.
    """

    segment: int
    offset: int
    rows: Callable[[], Rows]
    sums: NDArray[np.float64] | None = None


class Reduction:
    """A block-tridiagonal chain, reduced and solved; `values` returns pi on any of its levels.

    1. Cyclic reduction eliminates every second inner level of a segment at a time.
    2. The remaining levels, a few per segment, are eliminated from both ends towards the likeliest level: entries stay
       in the range of float64.
    3. Substitution gives pi of these levels.

    Every entry is a sum, product or quotient of positive numbers. Probabilities below 1e-305 of the largest are zero.

    Parameters
    ----------
    segments
        From the lowest level to the highest.

    Attributes
    ----------
    finite
        Whether no rate or probability left the range of float64.
    memory
        Bytes of the stored factors.
    extremes
        Smallest and largest rate of the reduction, which show underflow.

    Raises
    ------
    ValueError
        When the chain has several closed classes.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        nodes: list[_Node] = []
        self.extremes = Extremes()
        self._steps: list[list[NDArray[np.float64]]] = []
        with np.errstate(all="ignore"):  # overflow shows in ``finite``
            for number, segment in enumerate(segments):
                levels, steps = _reduce_segment(number, segment, self.extremes)
                nodes += levels
                self._steps.append(steps)
            with Counter("levels eliminated", total=len(nodes) - 1) as progress:
                pi, nbytes = _eliminate_levels(nodes, self.extremes, progress)
        self.memory = nbytes + sum(step.nbytes for steps in self._steps for step in steps)
        self._counts = [segment.length for segment in segments]
        self._highest = segments[-1].rows, nodes[-1].rows
        self._pi: list[dict[int, NDArray[np.float64]]] = [{} for _ in segments]
        sums: list[NDArray[np.float64]] = [np.zeros(0)] * len(segments)
        for node, part in zip(nodes, pi, strict=True):
            alone = np.append(part, node.offset * part)
            contribution = alone if node.sums is None else part @ node.sums
            before = sums[node.segment]
            sums[node.segment] = before + contribution if len(before) else contribution
            self._pi[node.segment][node.offset] = part
        total = sum(float(part[: len(part) // 2].sum()) for part in sums)
        self.finite = bool(np.isfinite(total))
        for parts in self._pi:
            for offset in parts:
                parts[offset] = parts[offset] / total
        self._sums = [part / total for part in sums]

    def sums(self, segment: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums of pi(k) and of k pi(k) over a segment's levels k = 0, 1, ... by state, shape (m,) each."""
        both = self._sums[segment]
        return both[: len(both) // 2], both[len(both) // 2 :]

    def rate_matrix(self) -> NDArray[np.float64]:
        """Return the matrix R with pi(k + 1) = pi(k) R of an infinite highest segment, shape (m, m)."""
        (down, local, up), censored = (rows() for rows in self._highest)
        m = len(local)
        window = np.block([[np.zeros((m, m)), up], [down, censored.local]])
        eliminate_down_to(window, m)
        return _substitute(window[:m, m:], window[m:, m:])

    def values(self, segment: int, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return pi on levels of a segment, counted from its lowest level as 0, shape (len(offsets), m).

        In an infinite segment it is 0 from level 2^k on, k the steps of the reduction: rates that lead so far up are
        below 1e-305.
        """
        nodes, steps = self._pi[segment], self._steps[segment]
        m = len(nodes[0])
        if not steps and self._counts[segment] is not None:
            return np.array([nodes[int(offset)] for offset in offsets]).reshape(len(offsets), m)
        end = 1 << len(steps) if self._counts[segment] is None else None
        inside = offsets if end is None else offsets[offsets < end]
        need, solved = np.unique(inside), np.array(sorted(nodes))
        plan = []
        for stage in range(len(steps)):
            h = 1 << stage
            interior = need[(need & (2 * h - 1)) == h]
            interior = interior[~np.isin(interior, solved)]
            plan.append(interior)
            if len(need) != self._counts[segment]:
                need = np.unique(np.concatenate([need, interior - h, interior + h]))
        pi = np.zeros((len(need), m))
        for offset in need[np.isin(need, solved)]:
            pi[np.searchsorted(need, offset)] = nodes[int(offset)]
        for stage in reversed(range(len(steps))):
            interior, h = plan[stage], 1 << stage
            left, right = (pi[np.searchsorted(need, interior + side)] for side in (-h, h))
            pi[np.searchsorted(need, interior)] = np.hstack([left, right]) @ steps[stage]
        if end is None:
            return pi[np.searchsorted(need, offsets)]
        values = np.zeros((len(offsets), m))
        values[offsets < end] = pi[np.searchsorted(need, inside)]
        return values


def _reduce_segment(number: int, segment: Segment, extremes: Extremes) -> tuple[list[_Node], list[NDArray[np.float64]]]:
    """Return the levels of a segment that remain after cyclic reduction, and a matrix of weights per step.

    Step s, shape (2 m, m), gives pi of the levels eliminated in stage s from pi of the levels 2^s
    below and above them. In an infinite segment the reduction stops when no rate leads up.
    """
    count = segment.length
    if count is not None and count <= MAX_DIRECT_LEVELS:
        return [_Node(number, offset, segment.rows) for offset in range(count)], []
    rows = segment.rows()
    down, local, up = rows
    m, zero = len(local), np.zeros_like(local)
    sums = np.hstack([np.eye(m), zero])  # the weights of a level at offset k are sums + k slope
    slope = np.hstack([zero, np.eye(m)])
    bottom, bottom_sums = local, sums
    top, top_up = local, rows.up
    top_sums = sums if count is None else sums + (count - 1) * slope
    nodes: list[_Node] = []
    steps: list[NDArray[np.float64]] = []
    h = 1
    while np.any(up) if count is None else count > 2:
        if count is not None and count % 2 == 0:  # the last one stays, the number inside gets odd
            count -= 1
            last_rows = Rows(down, top, top_up)
            nodes.insert(0, _Node(number, count * h, _constant(last_rows), top_sums))
            top, top_up, top_sums = local, up, sums + (count - 1) * h * slope
        window = np.block([[zero, zero, up], [zero, zero, down], [down, up, local]])
        eliminate_down_to(window, 2 * m)
        extremes.update(window.ravel())
        step = _substitute(window[: 2 * m, 2 * m :], window[2 * m :, 2 * m :])
        steps.append(step)
        below, above = step[:m], step[m:]
        bottom_sums = bottom_sums + below @ (sums + h * slope)
        if count is not None:
            top_sums = top_sums + above @ (sums + (count - 2) * h * slope)
        sums = sums + below @ (sums + h * slope) + above @ (sums - h * slope)
        slope = slope + (below + above) @ slope
        returned_up, returned_down = window[:m, :m], window[m : 2 * m, m : 2 * m]
        bottom, top = bottom + returned_up, top + returned_down
        local = local + returned_up + returned_down
        up, down = _flush_underflow(window[:m, m : 2 * m]), _flush_underflow(window[m : 2 * m, :m])
        h *= 2
        if count is not None:
            count = (count + 1) // 2
    lowest = Rows(rows.down, bottom, up)
    nodes.insert(0, _Node(number, 0, _constant(lowest), bottom_sums))
    if count is not None:
        highest = Rows(down, top, top_up)
        nodes.insert(1, _Node(number, h, _constant(highest), top_sums))
    return nodes, steps


def _constant(rows: Rows) -> Callable[[], Rows]:
    """Return a function without arguments that returns these rates and that can be pickled."""
    return functools.partial(_identity, rows)  # a lambda could not be pickled


def _identity(rows: Rows) -> Rows:
    """Return the rates unchanged."""
    return rows


def _flush_underflow(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rates with zero in place of rates below 1e-305."""
    return np.where(rates < _UNDERFLOW_LIMIT, 0.0, rates)


def _eliminate_levels(
    nodes: list[_Node], extremes: Extremes, progress: Counter
) -> tuple[list[NDArray[np.float64]], int]:
    """Return pi on the remaining levels up to a common factor, a list of arrays, and the bytes of the factors."""
    pivot = _likeliest_level(nodes)
    last, nbytes = len(nodes) - 1, 0
    steps: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    into = np.zeros_like(nodes[pivot].rows().local)
    for side, far_end in ((1, last), (-1, 0)):  # the levels above the pivot, then those below
        from_far = nodes[far_end].rows()
        local = from_far.local
        for far in range(far_end, pivot, -side):
            near = far - side
            from_near = nodes[near].rows()
            out = from_near.up if side == 1 else from_near.down
            back = from_far.down if side == 1 else from_far.up
            m = len(out)
            window = np.block([[np.zeros((m, m)), out], [back, local]])
            eliminate_down_to(window, m)
            extremes.update(window.ravel())
            steps[far] = window[:m, m:].copy(), window[m:, m:].copy()
            nbytes += sum(part.nbytes for part in steps[far])
            progress.show(len(steps))
            returned = window[:m, :m].copy()
            if near == pivot:
                into += returned
            from_far, local = from_near, from_near.local + returned
    pi = [np.zeros(0)] * len(nodes)
    pi[pivot] = _pivot_pi(nodes[pivot].rows().local + into, extremes)
    for side, far_end in ((1, last), (-1, 0)):
        for far in range(pivot + side, far_end + side, side):
            inward, within = steps.pop(far)
            pi[far] = _substitute(pi[far - side][None] @ inward, within)[0]
            largest = float(pi[far].max())
            if largest > _RESCALING_LIMIT:
                by = -int(np.frexp(largest)[1])
                pi = [np.ldexp(part, by) for part in pi]  # exact
    return pi, nbytes


def _likeliest_level(nodes: list[_Node]) -> int:
    """Return the index of the likeliest level, estimated as if all states of a level were equally likely."""
    ratio, best, highest = 0.0, 0, 0.0
    flows = [(float(rows.down.sum()), float(rows.up.sum())) for rows in (n.rows() for n in nodes)]
    for k, ((_, up), (down, _)) in enumerate(pairwise(flows)):
        ratio += float(np.log(max(up, _UNDERFLOW_LIMIT)) - np.log(max(down, _UNDERFLOW_LIMIT)))
        if ratio > highest:
            best, highest = k + 1, ratio
    return best


def _pivot_pi(local: NDArray[np.float64], extremes: Extremes) -> NDArray[np.float64]:
    """Return the stationary distribution of a dense matrix of rates, scaled to the largest entry one."""
    if not np.all(np.isfinite(local)):
        return np.full(len(local), np.nan)
    np.fill_diagonal(local, 0.0)
    count, label = strong_components(sp.csr_matrix(local))
    rows, columns = np.nonzero(local)
    closed = np.setdiff1d(np.arange(count), label[rows][label[rows] != label[columns]])
    if len(closed) > 1:
        raise ValueError(f"the stationary distribution is not unique: {len(closed)} closed classes")
    states = np.flatnonzero(label == closed[0])
    pi: NDArray[np.float64] = np.zeros(len(local))
    rates = local[np.ix_(states, states)]
    eliminate_down_to(rates, 1)
    extremes.update(rates.ravel())
    inner = _substitute(rates[:1, 1:], rates[1:, 1:])[0] if len(states) > 1 else np.zeros(0)
    pi[states] = np.append(1.0, inner)
    pi /= pi.max()
    return pi


def _substitute(into: NDArray[np.float64], within: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x with x = into + x U, U the strict upper triangle of ``within``; shape (count, m).

    The substitution only adds products of non-negative numbers.
    """
    from scipy.linalg import solve_triangular

    matrix = -np.triu(within, 1)
    solution: NDArray[np.float64] = solve_triangular(matrix, into.T, trans="T", unit_diagonal=True, check_finite=False)
    return solution.T


class Partition(NamedTuple):
    """An assignment of states to levels such that no transition skips a level.

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
        """Multiplications of a level reduction with this partition."""
        sizes = self.sizes.astype(float)
        below = np.concatenate([[0.0], sizes[:-1]])
        return float((sizes * (sizes + below) ** 2).sum())

    @property
    def memory(self) -> float:
        """Bytes that a level reduction with this partition stores."""
        sizes = self.sizes.astype(float)
        below = np.concatenate([[0.0], sizes[:-1]])
        return float(8.0 * (sizes * (sizes + below)).sum())


def partition(
    Q: sp.csr_matrix,
    components: Mapping[str, NDArray[np.int64]] | None = None,
    component: str | None = None,
    max_work: float = math.inf,
) -> Partition:
    """Return the cheapest assignment of a chain's states to levels such that no transition skips a level.

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
    """Return the `Partition` by the level of each state, shape (n,); ``origin`` says where the levels come from."""
    return Partition(level, np.bincount(level), origin)


@validate_parameters
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

    component: str | None = param(None, hint="the name of a component, or None")
    cyclic: bool = param(True)

    def solve(self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None) -> Solution:
        """Return pi of an irreducible generator by elimination of levels, with a bound on the error of each entry.

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
        if reduction.finite and reduction.extremes.exclude_underflow(Q, pi):
            error = entry_error(blocks.max_roundings(runs), len(pi))
        return Solution(pi, memory=reduction.memory, entry_error=error)


class _Blocks:
    """The dense blocks of a generator whose states are sorted by level."""

    def __init__(self, Q: sp.csr_matrix, sizes: NDArray[np.int64]) -> None:
        Q.sort_indices()
        self.Q = Q
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.last = len(sizes) - 1

    def reduce(self, runs: list[tuple[int, int]]) -> Reduction:
        """Return the reduction of the chain for runs of equal levels; TooLargeError unless it fits into memory."""
        first, count = np.array(runs).T
        m = np.diff(self.start)[first].astype(float)
        below = np.concatenate([[0.0], m[:-1]])
        stages = np.ceil(np.log2(count)) + 1.0  # of cyclic reduction, each of which may leave a level
        retained = np.where(count <= MAX_DIRECT_LEVELS, count, 2.0 * stages)
        predicted = 8.0 * float((retained * m * (m + below)).sum() + ((m + below) ** 2).max())
        check_room(f"Levels() of up to {int(m.max())} states", predicted)
        return Reduction([Segment(self.rows(level), n) for level, n in runs])

    def max_roundings(self, runs: list[tuple[int, int]]) -> float:
        """Return the largest number of roundings in an entry of pi, for a reduction by runs of levels."""
        sizes = np.diff(self.start)
        below, above = np.append(0, sizes[:-1]), np.append(sizes[1:], 0)
        beside = np.maximum(below, above)
        for first, count in runs:
            if count > MAX_DIRECT_LEVELS:  # between two levels that stay
                beside[first : first + count] = (below + above)[first : first + count]
        return level_counts(sizes, beside, BLOCK)

    def rows(self, level: int) -> Callable[[], Rows]:
        """Return a function without arguments that computes the rates out of a level as dense blocks."""
        return lambda: self._dense(level)

    def _dense(self, level: int) -> Rows:
        """Return the rates out of a level as dense blocks."""
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
        """Return every level as a run of its own: a list of (level, 1)."""
        return [(level, 1) for level in range(self.last + 1)]

    def runs(self) -> list[tuple[int, int]]:
        """Return the runs of consecutive levels with equal rates: a list of (first level, number of levels)."""
        pairs: list[tuple[int, int]] = []
        for level in range(self.last + 1):
            if pairs and self._repeats_previous(level):
                pairs[-1] = pairs[-1][0], pairs[-1][1] + 1
            else:
                pairs.append((level, 1))
        return pairs

    def _repeats_previous(self, level: int) -> bool:
        """Return whether a level has the rates of the previous level, between levels of its size."""
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
