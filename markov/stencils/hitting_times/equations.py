"""Mean costs on the way to the likeliest state of a chain on a grid, by multigrid.

The aggregates of `markov.stencils.coarsening` with the transitions by source, and with flows between them that
stay as they are: what is solved for on a coarse level is what is to be added to each aggregate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from markov.stencils.coarsening import Aggregation, coarsened, factors_along
from markov.stencils.cycles import SMALL, cycle
from markov.stencils.hitting_times import coarse_kernels, finest_kernels
from markov.stencils.hitting_times.weights import Weights, weights_of
from markov.stencils.kernel_calls import ONE, bound_kernel, unsigned
from markov.stencils.levels import LARGE, Level
from markov.stencils.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.stencils.grids import Grid
    from markov.stencils.layouts import Layout, Rates

    Vector = NDArray[np.float64]

__all__ = ["HittingTimes"]


class HittingTimes:
    """Mean costs on the way to the likeliest state, by multigrid.

    Parameters
    ----------
    layout
        The chain.
    pi
        Probabilities, by which equations are weighed: nowhere may much more flow in than out.
    kind
        Of the numbers for hitting times.
    wide
        Whether three cells become one along each of two axes, or two.
    """

    def __init__(
        self, layout: Layout, pi: Vector, kind: type[np.floating[Any]], *, wide: bool = True
    ) -> None:
        grid, rates = layout.out
        self.reference = int(np.argmax(pi))
        self.h = np.zeros(grid.size, dtype=kind)
        weights = weights_of(pi)
        self.finest = Finest(grid, rates, self.reference, weights, self.h)
        self.levels: list[Coarse] = []
        level: Finest | Coarse = self.finest
        leak = float(pi[self.reference]) * self.finest.leak
        while level.grid.size > SMALL:
            factors = factors_along(level.strong_axes(), wide=wide)
            coarse, aggregation = coarsened(level.grid, factors)
            level = Coarse(coarse, aggregation, level, leak)
            self.levels.append(level)
        self.rest = _Direct(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays."""
        levels = sum(level.nbytes for level in self.levels)
        return self.h.nbytes + self.finest.weights.levels.nbytes + levels

    def cycle(self, sweeps: int) -> None:
        """Improve h by one cycle, with so many sweeps on each level before a correction and after it."""
        everywhere = [sweeps] * (len(self.levels) + 1)
        cycle(self.finest, self.levels, self.rest.solve, everywhere)


class Finest(Level):
    """The equations Q h = -w, with a leak in the reference."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        reference: int,
        weights: Weights,
        h: Vector,
    ) -> None:
        super().__init__(grid, h, fast=grid.size >= LARGE)
        self.rates, self.reference = rates, reference
        cell, slot = divmod(reference, grid.width)
        kind = grid.rows[grid.row_kind[cell // grid.shape[-1]], cell % grid.shape[-1]]
        self.leak = float(rates.exit_rate[kind * grid.width + slot])
        with np.errstate(divide="ignore"):
            scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
        self.jumps = rates.rate * np.repeat(scale, np.diff(grid.begin))
        table = *self.lines, self.cells, self.width, *self.entries, rates.rate
        here = scale, np.uint64(reference), 0.5 / self.leak, ONE
        own = weights.costs, weights.levels, h
        self.forward = bound_kernel(finest_kernels.relax_rates, *table, *here, False, *own)
        self.backward = bound_kernel(finest_kernels.relax_rates, *table, *here, True, *own)
        self.weights, self._table = weights, table

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes most of the next steps lead, all states counting alike."""
        grid = self.grid
        counts = np.repeat(grid.shares, grid.counts)
        return self.strong(counts * self.jumps)

    def restriction(
        self, aggregation: Aggregation, coarse: Level, values: Vector
    ) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts, weights = Parts(self.grid, aggregation, by_source=True), self.weights
        begins, part_begin, _ = parts.table
        child = unsigned(np.maximum(aggregation.child_rows, 0))
        place = child, self.width, np.uint64(aggregation.last), self.cells
        own = map(unsigned, (parts.line, parts.place, parts.slot))
        table = *coarse.lines, begins, part_begin, *own, self.rates.rate[parts.entry]
        run = *place, *table, weights.least, ONE, weights.pi, values
        return bound_kernel(finest_kernels.weigh_rates, *run)

    def entering(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        parent = _parents(aggregation, self.grid.shape[-1])
        pi, least, costs, levels = self.weights
        place = *parent, coarse.cells, np.uint64(self.reference), self.leak
        vectors = least, ONE, pi, costs, levels, self.x, coarse.out, coarse.right
        return bound_kernel(finest_kernels.leave_rates, *self._table, *place, *vectors)


class Coarse(Level):
    """The equations of the aggregates, for what is to be added to each, divided by the flow out of it.

    Numbers that are not flows are in float32.
    """

    def __init__(
        self, grid: Grid, aggregation: Aggregation, fine: Finest | Coarse, leak: float
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
        bound_kernel(coarse_kernels.row_sums, *place)()
        self._enter = fine.entering(aggregation, self)
        rows = np.uint64(len(fine.grid.row_kind))
        place = (
            rows,
            fine.cells,
            self.width,
            *_parents(aggregation, fine.grid.shape[-1]),
            self.cells,
            ONE,
        )
        self.prolong = bound_kernel(coarse_kernels.add, *place, self.x, fine.x)
        table = *self.lines, self.cells, self.width, *self.entries, self.value_begin, self.values
        own = np.uint64(self.reference), leak, self.out, ONE
        vectors = self.right, self.x
        self.forward = bound_kernel(coarse_kernels.relax, *table, *own, False, *vectors)
        self.backward = bound_kernel(coarse_kernels.relax, *table, *own, True, *vectors)

    def restrict(self) -> None:
        """Sum what is left of the equations of the finer level, and begin with nothing to be added."""
        self._enter()
        self.x[:] = 0.0

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes most of the next steps lead, all states counting alike."""
        self.x[:] = 1.0
        carried = self.carried(True, self.values)
        self.x[:] = 0.0
        return self.strong(carried)

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

    def entering(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        table = *self.lines, self.width, *self.entries, self.values
        table = *table, *_parents(aggregation, self.grid.shape[-1])
        here = coarse.cells, np.uint64(self.reference), self.leak, self.out, ONE
        vectors = self.right, self.x, coarse.out, coarse.right
        return bound_kernel(coarse_kernels.leave, *table, *here, *vectors)


class _Direct:
    """The last level, by sparse LU."""

    def __init__(self, level: Finest | Coarse) -> None:
        self.level, grid = level, level.grid
        indptr, indices = level.pattern()
        if isinstance(level, Coarse):
            values, self.scale = level.values.astype(np.float64), np.ones(grid.size)
        else:
            values, self.scale = level.spelt_out(level.rates.rate, level.rates.exit_rate)
            self.scale[level.reference] = 0.5 / level.leak
        jumps = sp.csr_matrix((values, indices, indptr), shape=(grid.size, grid.size))
        own = np.ones(grid.size)
        if isinstance(level, Coarse):  # shares in float32 need not sum to one
            some = level.out > 0.0
            own[some] = np.asarray(jumps.sum(axis=1)).ravel()[some]
            own[level.reference] += level.leak / level.out[level.reference]
        matrix = sp.diags_array(own) - sp.diags_array(self.scale) @ jumps
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
        if isinstance(level, Coarse):
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
