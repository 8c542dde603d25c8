"""An upper bound on the error of a distribution on a grid, by hitting times from frozen levels.

The argument is that of `markov.proofs.certificates.Certificate`: h with (Q h)(x) <= -c < 0 in all states
but one bounds c times the mean hitting times of that one, and TV(x, pi) <= sum_s |(x Q)(s)| h(s) / c.
Here h comes from a few cycles of multigrid on the aggregates of the solution, with the transitions by
source, and both sides are evaluated in float64 with every rounding error bounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from markov.computing.memory import available
from markov.stencils import proof_kernels
from markov.stencils.coarsening import Aggregation, coarsened, factors_along
from markov.stencils.continuation import continued
from markov.stencils.levels import LARGE, ONE, Level, Parts, bound_kernel, unsigned
from markov.stencils.places import RECURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.stencils.grids import Grid
    from markov.stencils.layouts import Layout, Rates
    from markov.stencils.places import Places

    Vector = NDArray[np.float64]

__all__ = ["GridBound", "bound_on_grid"]

TAIL = -0.1  # costs grow as this power of the probability
LEAST = 1e-250  # of the largest probability: what weighs less in equations is not told apart
SHARP = 0.5  # of c: an h that proves more is not looked for
FIRST_CHECK = 3  # cycles before c is looked at
SWEEPS = (1,) * 6 + (2, 2, 4, 4) + (8,) * 4 + (16,) * 8  # before and after a correction, by cycle
TWICE = 2.5  # times as many states: two visits per cycle pay
U = 2.0**-53


class GridBound(NamedTuple):
    """Result of `bound_on_grid`: the bound (inf: none was verified), c, cycles, and bytes held."""

    distance: float
    c: float
    cycles: int
    memory: int


def bound_on_grid(
    layout: Layout, places: Places, factors: Sequence[Sequence[int]], x: Vector
) -> GridBound:
    """Return an upper bound on the total-variation distance of a distribution to the stationary one.

    Parameters
    ----------
    layout, places
        The chain; the bound is over its recurrent states.
    factors
        How many cells become one along each axis, from level to level.
    x
        Probabilities of the states of the grid, zero in those that are not recurrent.
    """
    wide = [factors_along([n > 1 for n in along], wide=True) for along in factors]
    bound = GridBound(math.inf, 0.0, 0, 0)
    for kind in (np.float32, np.float64):
        if kind is np.float64 and available() < 8.0 * x.size:
            break
        bound = _bound(layout, places, _HittingTimes(layout, wide, x, kind), x)
        if math.isfinite(bound.distance):
            break
    return bound


def _bound(layout: Layout, places: Places, hitting: _HittingTimes, x: Vector) -> GridBound:
    """Return the bound by hitting times that are yet to be found."""
    c, cycles = 0.0, 0
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        for sweeps in SWEEPS:
            hitting.cycle(sweeps)
            cycles += 1
            if cycles >= FIRST_CHECK:
                c = -hitting.drift(places.marks)
            if c > SHARP or math.isnan(c):  # an h that is not a number stays so
                break
        if not (c > 0.0 and math.isfinite(c)):
            return GridBound(math.inf, c, cycles, hitting.nbytes)
        off, mass, low = hitting.misfit(layout, places.marks, x)
    rounded_up = 1.0 + 8.0 * (x.size + 8) * U
    distance = off / c * rounded_up + abs((mass - 1.0) + low) + 4.0 * U
    distance = min(distance, 1.0) if math.isfinite(distance) else math.inf
    return GridBound(distance, c, cycles, hitting.nbytes)


class _Weights(NamedTuple):
    """Weights of states in the equations of their aggregates, and costs per second.

    Attributes
    ----------
    row_of, cell_of
        Where the weight of each row, and of each cell of a row, is to be found in pi.
    least
        Probabilities that are less, and not zero, have this weight.
    costs, levels
        The cost of each level, and the level of each state.
    """

    pi: Vector
    row_of: NDArray[np.uint64]
    cell_of: NDArray[np.uint64]
    least: float
    costs: Vector
    levels: NDArray[np.uint8]


def _weights(layout: Layout, pi: Vector) -> _Weights:
    grid, largest = layout.into[0], float(pi.max())
    numbers = continued(layout, pi)
    rows = np.zeros(1, dtype=np.int64)
    for count, along in zip(grid.shape[:-1], numbers[:-1], strict=True):
        rows = np.add.outer(rows * count, along).ravel()
    row_of, cell_of = unsigned(rows), unsigned(numbers[-1])
    levels = np.empty(grid.size, dtype=np.uint8)
    place = row_of, cell_of, np.uint64(grid.shape[-1]), np.uint64(grid.width)
    run = *place, LEAST * largest, largest, ONE, pi, levels
    bound_kernel(proof_kernels.cost_levels, *run)()
    costs = 256.0 ** (-TAIL * np.arange(256.0))
    return _Weights(pi, row_of, cell_of, LEAST * largest, costs, levels)


class _HittingTimes:
    """Mean costs on the way to the likeliest state, by multigrid."""

    def __init__(
        self,
        layout: Layout,
        factors: Sequence[Sequence[int]],
        pi: Vector,
        kind: type[np.floating[Any]],
    ) -> None:
        grid, rates = layout.out
        self.reference = int(np.argmax(pi))
        self.h = np.zeros(grid.size, dtype=kind)
        weights = _weights(layout, pi)
        self.fine = _Fine(grid, rates, self.reference, weights, self.h)
        self.levels: list[_Coarse] = []
        level: _Fine | _Coarse = self.fine
        leak = float(pi[self.reference]) * self.fine.leak
        for along in factors:
            coarse, aggregation = coarsened(level.grid, along)
            level = _Coarse(coarse, aggregation, level, leak)
            self.levels.append(level)
        self.rest = _Direct(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays."""
        levels = sum(level.nbytes for level in self.levels)
        return self.h.nbytes + self.fine.weights.levels.nbytes + levels

    def cycle(self, sweeps: int, depth: int = 0) -> None:
        """Improve h by one cycle, with so many sweeps on each level before and after."""
        level = self.levels[depth - 1] if depth else self.fine
        if depth == len(self.levels):
            self.rest.solve()
            return
        below = self.levels[depth]
        for _ in range(sweeps):
            level.forward()
        below.enter()
        below.x[:] = 0.0
        for _ in range(2 if level.grid.size > TWICE * below.grid.size else 1):
            self.cycle(sweeps, depth + 1)
        below.add()
        for _ in range(sweeps):
            level.backward()

    def drift(self, marks: NDArray[np.uint8]) -> float:
        """Return the largest (Q h)(s) of a recurrent state but the reference, rounded up."""
        level = self.fine
        table = *level.lines, level.width, *level.entries, level.rates.rate
        here = np.uint64(self.reference), ONE, RECURRENT, marks, self.h
        return float(bound_kernel(proof_kernels.drift, *table, *here)())

    def misfit(
        self, layout: Layout, marks: NDArray[np.uint8], x: Vector
    ) -> tuple[float, float, float]:
        """Return sum |(x Q)(s)| h(s) over recurrent states, and the sum of x in two parts."""
        level, rates = Level(layout.into[0], x, fast=False), layout.into[1]
        table = *level.lines, level.width, *level.entries, rates.rate, rates.exit_rate
        least = float(self.h[self.reference])
        arguments = *table, least, ONE, RECURRENT, marks, self.h, x
        off, mass, low = bound_kernel(proof_kernels.misfit, *arguments)()
        return float(off), float(mass), float(low)


class _Fine(Level):
    """The equations Q h = -w, with a leak in the reference."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        reference: int,
        weights: _Weights,
        h: Vector,
    ) -> None:
        super().__init__(grid, h, fast=grid.size >= LARGE)
        self.rates, self.reference = rates, reference
        cell, slot = divmod(reference, grid.width)
        kind = grid.rows[grid.row_kind[cell // grid.shape[-1]], cell % grid.shape[-1]]
        self.leak = float(rates.exit_rate[kind * grid.width + slot])
        with np.errstate(divide="ignore"):
            scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
        table = *self.lines, self.cells, self.width, *self.entries, rates.rate
        here = scale, np.uint64(reference), 0.5 / self.leak, ONE
        own = weights.costs, weights.levels, h
        self.forward = bound_kernel(proof_kernels.relax_rates, *table, *here, False, *own)
        self.backward = bound_kernel(proof_kernels.relax_rates, *table, *here, True, *own)
        self.weights, self._table = weights, table

    def restriction(
        self, aggregation: Aggregation, coarse: Level, values: Vector
    ) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts, weights = Parts(self.grid, aggregation, by_source=True), self.weights
        begins, part_begin, _ = parts.table
        place = unsigned(np.maximum(aggregation.child_rows, 0)), weights.row_of, weights.cell_of
        size = self.width, np.uint64(aggregation.last), self.cells
        own = map(unsigned, (parts.line, parts.place, parts.slot))
        table = *coarse.lines, begins, part_begin, *own, self.rates.rate[parts.entry]
        run = *place, *size, *table, weights.least, ONE, weights.pi, values
        return bound_kernel(proof_kernels.weigh_rates, *run)

    def entering(self, aggregation: Aggregation, coarse: _Coarse) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        parent = _parents(aggregation, self.grid.shape[-1])
        pi, row_of, cell_of, least, costs, levels = self.weights
        place = *parent, coarse.cells, np.uint64(self.reference), self.leak, row_of, cell_of
        vectors = least, ONE, pi, costs, levels, self.x, coarse.out, coarse.right
        return bound_kernel(proof_kernels.leave_rates, *self._table, *place, *vectors)


class _Coarse(Level):
    """The equations of the aggregates, for what is to be added to each, divided by the flow out of it.

    Numbers that are not flows are in float32.
    """

    def __init__(
        self, grid: Grid, aggregation: Aggregation, fine: _Fine | _Coarse, leak: float
    ) -> None:
        super().__init__(grid, np.zeros(grid.size, dtype=np.float32), fast=fine.fast)
        self.reference: int = _cell_of(fine.reference, fine.grid, aggregation, grid)
        self.leak = leak
        self.values = np.empty(int(grid.value_begin[-1]), dtype=np.float32)
        self.right, self.out = np.zeros(grid.size, dtype=np.float32), np.empty(grid.size)
        self.value_begin = unsigned(grid.value_begin)
        flows = np.empty(len(self.values))  # their range is beyond that of float32
        fine.restriction(aggregation, self, flows)()
        here = np.uint64(self.reference), leak, ONE
        place = *self.lines, self.width, self.entries[0], *here, flows, self.values, self.out
        bound_kernel(proof_kernels.row_sums, *place)()
        self.enter = fine.entering(aggregation, self)
        rows = np.uint64(len(fine.grid.row_kind))
        place = (
            rows,
            fine.cells,
            self.width,
            *_parents(aggregation, fine.grid.shape[-1]),
            self.cells,
            ONE,
        )
        self.add = bound_kernel(proof_kernels.add, *place, self.x, fine.x)
        table = *self.lines, self.cells, self.width, *self.entries, self.value_begin, self.values
        own = np.uint64(self.reference), leak, self.out, ONE
        vectors = self.right, self.x
        self.forward = bound_kernel(proof_kernels.relax, *table, *own, False, *vectors)
        self.backward = bound_kernel(proof_kernels.relax, *table, *own, True, *vectors)

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.out.nbytes + self.x.nbytes + self.right.nbytes

    def restriction(
        self, aggregation: Aggregation, coarse: Level, values: Vector
    ) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation, by_source=True)
        own = self.value_begin, self.values, self.out
        return self.sum_flows(aggregation, coarse, values, parts, *own)

    def entering(self, aggregation: Aggregation, coarse: _Coarse) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        table = *self.lines, self.width, *self.entries, self.values
        table = *table, *_parents(aggregation, self.grid.shape[-1])
        here = coarse.cells, np.uint64(self.reference), self.leak, self.out, ONE
        vectors = self.right, self.x, coarse.out, coarse.right
        return bound_kernel(proof_kernels.leave, *table, *here, *vectors)


class _Direct:
    """The last level, by sparse LU."""

    def __init__(self, level: _Fine | _Coarse) -> None:
        self.level, grid = level, level.grid
        if isinstance(level, _Coarse):
            values, self.scale = level.values.astype(np.float64), np.ones(grid.size)
        else:
            values, self.scale = level.spelt_out(level.rates.rate, level.rates.exit_rate)
            self.scale[level.reference] = 0.5 / level.leak
        indptr, indices = level.pattern()
        jumps = sp.csr_matrix((values, indices, indptr), shape=(grid.size, grid.size))
        matrix = sp.eye_array(grid.size) - sp.diags_array(self.scale) @ jumps
        # pivots on the diagonal: small entries of the solution are not lost beside large ones
        self.factors = splu(
            sp.csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def solve(self) -> None:
        """Solve the level's equations."""
        level = self.level
        if isinstance(level, _Coarse):
            right = level.right.astype(np.float64)
        else:
            right = level.weights.costs[level.weights.levels]
        level.x[:] = self.factors.solve(self.scale * right)


def _parents(aggregation: Aggregation, cells: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the coarse row of each row, and the coarse cell of each cell of a row."""
    rows = aggregation.child_rows
    parent = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    for column in rows.T:
        inside = column >= 0
        parent[column[inside]] = np.flatnonzero(inside)
    return unsigned(parent), unsigned(np.arange(cells) // aggregation.last)


def _cell_of(state: int, fine: Grid, aggregation: Aggregation, coarse: Grid) -> int:
    """Return the coarse state that a state is a part of."""
    cell, slot = divmod(state, fine.width)
    row, last = divmod(cell, fine.shape[-1])
    parent = int(np.flatnonzero((aggregation.child_rows == row).any(axis=1))[0])
    return (parent * coarse.shape[-1] + last // aggregation.last) * coarse.width + slot
