"""Linear equations of a chain by multigrid on frozen levels: Q g = -f, and d Q = -r.

A level corrects the next finer one by one amount per aggregate. For Q g = -f it is added to all states of the
aggregate; for d Q = -r it is distributed in proportion to their probabilities. The flows between aggregates are
taken from `markov.multigrid.hierarchy`, at a fixed distribution.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import make_kernel
from markov.computing.compilation import bound_kernel
from markov.computing.matrices import row_numbers
from markov.computing.resources import Counter
from markov.elimination.bands import mean_times
from markov.multigrid.cycle import Schedule, StoppingRule, w_cycle
from markov.multigrid.kernels import linear_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

    Vector = NDArray[np.float64]
    Rows = tuple[NDArray[Any], NDArray[Any], Vector]

__all__ = ["CoarseLevels", "LinearMultigrid"]

MAX_STAGNANT_CYCLES = 12  # consecutive cycles that do not halve the residual
MAX_CYCLES = 200
MAX_SWEEPS = 16  # per level and cycle
GOOD_FACTOR = 0.5  # of the squared residual, per cycle: a step that gains as much is not changed
N_FORMER_STEPS = 2  # steps to combine with
MIN_LENGTH, MAX_LENGTH = 0.5, 5.0  # multiples of a cycle's step; others would only reduce the norm


class CoarseLevels(NamedTuple):
    """Flows between the aggregates of all levels except the first, by source or by target.

    The arrays are those of `Hierarchy`. ``inverse`` solves the last level, with zero in the aggregate of
    the likeliest states.
    """

    first: NDArray[np.int64]
    repeats: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: Vector
    parent: NDArray[np.uint32]
    scale: Vector
    inverse: NDArray[np.float64]

    @classmethod
    def by_target(cls, hierarchy: Hierarchy, flow: Vector, ground: int | None = None) -> CoarseLevels:
        """Return the levels for a flow out of the states, stored by target state, for d Q = -r.

        The arrays are shared with ``hierarchy``, whose values become those of this flow. The last level
        has zero in the aggregate of the state ``ground``; None: the state with the largest flow.
        """
        hierarchy.freeze(flow)
        ground = int(np.argmax(flow)) if ground is None else ground
        for level in range(len(hierarchy.first) - 2):
            ground = int(hierarchy.parent[hierarchy.first[level] + ground] - hierarchy.first[level + 1])
        inverse = np.ascontiguousarray(_mean_times(hierarchy, ground).T)
        parts = (
            hierarchy.first,
            hierarchy.repeats,
            hierarchy.indptr,
            hierarchy.indices,
            hierarchy.values,
        )
        return cls(*parts, hierarchy.parent, hierarchy.scale, inverse)

    def by_source(self, reference: int, leak: float) -> CoarseLevels:
        """Return the same levels stored by source state, for Q g = -f, with a leak in the state ``reference``.

        ``leak`` is the flow out of the reference that leaves the chain.
        """
        first, n, total = self.first, self.first[1], self.first[-1]
        begin, end = self.indptr[n], self.indptr[total]
        rows = np.zeros(total + 1, dtype=np.int64)
        columns = np.empty(end - begin, dtype=np.uint32)
        entries = np.empty(end - begin)
        for low, high in pairwise(first[1:].tolist()):
            source = self.indptr, self.indices, self.values
            bound_kernel(kernels.transpose, low, high, source, (rows, columns, entries))()
        scale, state = self.scale.copy(), reference
        for _ in first[1:-1]:
            state = int(self.parent[state])
            scale[state] = 1.0 / (1.0 / scale[state] + leak)
        inverse = np.ascontiguousarray(self.inverse.T) + 1.0 / leak
        return self._replace(indptr=rows, indices=columns, values=entries, scale=scale, inverse=inverse)

    @property
    def jumps(self) -> Rows:
        """The transposed jump chain of the finest level as (row pointers, columns, entries), not copied."""
        n = int(self.first[1])
        end = int(self.indptr[n])
        return self.indptr[: n + 1], self.indices[:end], self.values[:end]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the levels."""
        return sum(array.nbytes for array in self)


def _mean_times(hierarchy: Hierarchy, ground: int) -> NDArray[np.float64]:
    """Return the mean time in each state of the last level from each start state, until the ground state is entered.

    The inverse of its equations, shape (m, m), by elimination without subtractions.
    """
    low, high = hierarchy.first[-2:]
    m = high - low
    rates, bounds = np.zeros((m, m)), hierarchy.indptr[low : high + 1]
    target = row_numbers(bounds)
    part = slice(bounds[0], bounds[-1])
    rates[hierarchy.indices[part].astype(np.int64) - low, target] = hierarchy.values[part]
    order = np.arange(m)
    order[[0, ground]] = order[[ground, 0]]
    rates = np.ascontiguousarray(rates[np.ix_(order, order)])
    with np.errstate(all="ignore"):  # solutions show values that are not finite
        times = mean_times(rates)
    inverse = np.empty((m, m))
    inverse[np.ix_(order, order)] = times
    return inverse


class LinearMultigrid:
    """Multigrid for ``A x = -right``: A is the generator, or the transposed jump chain minus the identity.

    Parameters
    ----------
    rows
        Of A, in CSR: indptr, columns and entries.
    diagonal_offset
        Number on the diagonal of A besides ``rows``.
    diagonal
        The diagonal of A, shape (n,), or its constant value.
    restriction, prolongation
        Weights of a state's equation and of its unknown in its aggregate, shape (n,) each: the
        probabilities and one for the generator, one and the flow for the jump chain.
    levels
        By source for the generator, by target for the jump chain.
    """

    def __init__(
        self,
        rows: Rows,
        diagonal_offset: float,
        diagonal: Vector | float,
        restriction: Vector,
        prolongation: Vector,
        levels: CoarseLevels,
    ) -> None:
        self.levels, self.n = levels, len(restriction)
        rows = _as_unsigned(rows[0]), _as_unsigned(rows[1]), rows[2]
        middle, ordered = _upper_entries(0, self.n, *rows[:2])
        bounds = _as_unsigned(levels.indptr)
        middles, also = _upper_entries(self.n, levels.first[-1], bounds, levels.indices)
        weights = np.full(self.n, -1.0 / diagonal), restriction, prolongation
        self._finest = kernels.Finest(*rows, diagonal_offset, middle, *weights)
        self._x, self._right = np.zeros(levels.first[-1]), np.zeros(levels.first[-1])
        entries = bounds, middles, levels.indices, levels.values
        factors = levels.parent, levels.scale, levels.inverse, ordered and also
        self._coarser = kernels.Coarser(*entries, *factors, self._x, self._right)
        self._remaining = np.empty_like(levels.first)
        matrix = *rows, diagonal_offset
        self._multiply = partial(make_kernel(kernels.multiply), *matrix)
        self._set_sweeps(1)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays except the matrix."""
        vectors = *self._finest[4:], self._x, self._right, self._coarser.middles
        return self.levels.nbytes + sum(vector.nbytes for vector in vectors)

    def start(self, right: Vector) -> None:
        """Set x to zero and store another right-hand side, shape (n,)."""
        self._right[: len(right)] = right
        self._x[: len(right)] = 0.0
        self._remaining[0] = self.levels.repeats[0]

    def cycle(self) -> Vector:
        """Return x after one more cycle, shape (n,): a view of the array that the next cycle changes."""
        self._run()
        return self._x[: self.n]

    def product(self, x: Vector) -> Vector:
        """Return A x for a vector x, shape (n,)."""
        product = np.empty(self.n)
        self._multiply(x, product)
        return product

    def _set_sweeps(self, sweeps: int) -> None:
        """Set the number of sweeps on each level before and after a correction."""
        self._sweeps = sweeps
        schedule = Schedule(self.levels.first, self._remaining, self.levels.repeats, sweeps)
        levels = self._finest, self._coarser
        self._run = bound_kernel(w_cycle, schedule, levels, helpers=kernels.HELPERS)

    def solve(
        self, right: Vector, is_accurate: Callable[[Vector], bool], weights: Vector, uncombined_cycles: int = 0
    ) -> Vector:
        """Return x, shape (n,), when ``is_accurate`` accepts the residual A x + right, or at stagnation.

        1. ``uncombined_cycles`` cycles are run without combination: they smooth most where ``weights`` are largest.
           If they do not converge, they restart with twice as many sweeps on each level.
        2. Then the steps of cycles are combined to the minimum of residual / weights in the Euclidean norm.
        """
        self.start(right)
        x, residual, count, size = np.zeros_like(right), right.copy(), 0, np.inf
        while count < uncombined_cycles:
            x = self.cycle()
            residual = right + self.product(x)
            if is_accurate(residual):
                return x.copy()
            before, size = size, float(np.abs(residual / weights).max())
            count += 1
            if not size < before and self._sweeps < MAX_SWEEPS:
                self._set_sweeps(2 * self._sweeps)
                self.start(right)
                count, size = 0, np.inf
            elif not np.isfinite(size):
                return x.copy()
        steps = _Steps(x.copy(), residual, weights**-2.0)
        rule = StoppingRule(-np.inf, MAX_CYCLES, max_stagnant=MAX_STAGNANT_CYCLES - 1)
        with Counter("cycles") as counter:
            while rule.may_continue:
                self.start(steps.residual)
                cycles = 2 if steps.full_step else 1  # cheaper than two steps, and gains as much
                for _ in range(cycles):
                    step = self.cycle()
                step = step.copy()
                size = steps.add_step(step, self.product(step), cycles)
                counter.show(steps.count)
                if rule.record(size) or is_accurate(steps.residual):
                    break
        return steps.x


def _as_unsigned(index: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers viewed as unsigned, so that kernels omit the test for negative indices."""
    return index.view(f"u{index.itemsize}")


def _upper_entries(low: int, high: int, indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return the first entry above the diagonal in rows low .. high - 1, and whether all rows ascend."""
    upper = np.empty(high, dtype=indptr.dtype)
    ordered = bound_kernel(kernels.find_upper_entries, int(low), int(high), indptr, indices, upper)()
    return upper, bool(ordered)


class _Steps:
    """The solution and residual of an iteration, with its last two steps, to combine steps with."""

    def __init__(self, x: Vector, residual: Vector, weights: Vector) -> None:
        self.x, self.residual, self.weights = x, residual, weights
        self.count, self.full_step = 0, False
        self._steps, self._changes = np.zeros((2, N_FORMER_STEPS, len(x)))
        self._sizes = np.full(N_FORMER_STEPS, np.inf)  # no former steps

    def add_step(self, step: Vector, change: Vector, cycles: int) -> float:
        """Add a step of ``cycles`` cycles to the solution, in full or at its best length; return the residual's norm.

        In full if it reduces the residual enough.

        ``change`` is A times the step. Both are stored and modified. Returns the norm of the residual.
        """
        products = np.empty(3 + N_FORMER_STEPS)
        pairs = self.residual, change, self._changes, self.weights, products
        bound_kernel(kernels.step_products, *pairs)()
        size, along, length, *shares = products
        new_size = size + 2.0 * along + length
        parts = np.array(shares) / self._sizes
        shorter = length - parts @ shares
        far = -along / shorter
        self.full_step = bool(new_size <= GOOD_FACTOR ** (2 * cycles) * size)
        if self.full_step or not MIN_LENGTH <= far <= MAX_LENGTH:
            far, parts = 1.0, np.zeros(N_FORMER_STEPS)
            self._sizes[:] = np.inf
        else:
            new_size, length = size - along**2 / shorter, shorter
        former = self._steps, self._changes
        solution, moved = (self.x, self.residual), (step, change)
        bound_kernel(kernels.advance, solution, moved, former, parts, float(far))()
        if far != 1.0:
            index = self.count % N_FORMER_STEPS
            self._steps[index], self._changes[index], self._sizes[index] = step, change, length
        self.count += 1
        return float(np.sqrt(max(new_size, 0.0))) if np.isfinite(new_size) else float("inf")
