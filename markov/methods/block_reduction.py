"""Elimination of a block-tridiagonal chain: level by level, and cyclic reduction of equal levels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import strong_components
from markov.computing.progress import Counter
from markov.elimination.patterns import eliminate_down_to
from markov.methods.gth import Extremes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_DIRECT_LEVELS", "Reduction", "Rows", "Segment"]

MAX_DIRECT_LEVELS = 4  # of a run; longer runs are reduced by cyclic reduction
_RESCALING_LIMIT = 1e20
_UNDERFLOW_LIMIT = 1e-305


class Rows(NamedTuple):
    """Rates in 1/s out of the m states of a level.

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
    """Levels with the same rows, one above the other.

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
    """A block-tridiagonal chain, reduced and solved; `values` computes pi of any level.

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
        """Return the sums of pi and of offset * pi over a segment's levels, shape (m,) each."""
        both = self._sums[segment]
        return both[: len(both) // 2], both[len(both) // 2 :]

    def rate_matrix(self) -> NDArray[np.float64]:
        """Return R of an infinite highest segment, shape (m, m): pi(k + 1) = pi(k) R."""
        (down, local, up), censored = (rows() for rows in self._highest)
        m = len(local)
        window = np.block([[np.zeros((m, m)), up], [down, censored.local]])
        eliminate_down_to(window, m)
        return _substitute(window[:m, m:], window[m:, m:])

    def values(self, segment: int, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return pi on levels of a segment, counted from its lowest, shape (len(offsets), m)."""
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
    """Return the levels of a segment that remain after cyclic reduction, and its steps.

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
    return functools.partial(_identity, rows)  # a lambda could not be pickled


def _identity(rows: Rows) -> Rows:
    return rows


def _flush_underflow(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(rates < _UNDERFLOW_LIMIT, 0.0, rates)


def _eliminate_levels(
    nodes: list[_Node], extremes: Extremes, progress: Counter
) -> tuple[list[NDArray[np.float64]], int]:
    """Return pi on the remaining levels, up to a factor, and the bytes of the factors."""
    pivot = _likeliest(nodes)
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


def _likeliest(nodes: list[_Node]) -> int:
    """Return the level that is likeliest when all states of a level are equally likely."""
    ratio, best, highest = 0.0, 0, 0.0
    flows = [(float(rows.down.sum()), float(rows.up.sum())) for rows in (n.rows() for n in nodes)]
    for k, ((_, up), (down, _)) in enumerate(pairwise(flows)):
        ratio += float(np.log(max(up, _UNDERFLOW_LIMIT)) - np.log(max(down, _UNDERFLOW_LIMIT)))
        if ratio > highest:
            best, highest = k + 1, ratio
    return best


def _pivot_pi(local: NDArray[np.float64], extremes: Extremes) -> NDArray[np.float64]:
    """Return the stationary distribution of a dense chain, its largest entry of order 1."""
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
    """Solve x = into + x U, U the strict upper triangle of ``within``; shape (count, m).

    The substitution only adds products of non-negative numbers.
    """
    from scipy.linalg import solve_triangular

    matrix = -np.triu(within, 1)
    solution: NDArray[np.float64] = solve_triangular(matrix, into.T, trans="T", unit_diagonal=True, check_finite=False)
    return solution.T
